/**
 * Checks credentials and origin of every HTTP request before its handler runs, so a refused request has no effect.
 *
 * The answer to wrong credentials waits `wrongDelayUs`, so guessing over one connection is slow. A request without
 * credentials is refused at once.
 *
 * A page of another site changes nothing here, with credentials or without (`other-sites.ts`). Where a web page could
 * point its own name at this listener, only requests that name the listener are answered (`answered-hosts.ts`).
 * `auth/gate.ts` decides which identity has which access.
 */
import { assert, present } from '../base/assert.ts';
import { asLockstepError, LockstepError } from '../base/errors.ts';
import type { ClientListener, Gate, Identity } from '../auth/gate.ts';
import type { Access } from '../auth/role.ts';
import type { Clock } from '../io/clock.ts';
import { sleep } from '../io/clock.ts';
import type { HttpRequest, HttpResponse, HttpRoute, HttpService } from '../io/http.ts';
import { readAuthorization } from './authorization.ts';
import type { AnsweredHosts } from './answered-hosts.ts';
import { otherSiteOf } from './other-sites.ts';

/** The access that each route needs, by `METHOD /path` as the route states them. */
export type RouteAccess = ReadonlyMap<string, Access>;

/** What the guard of one HTTP listener works with. */
export interface HttpGuardTerms {
  readonly gate: Gate;
  readonly listener: ClientListener;
  readonly hosts: AnsweredHosts;
  readonly clock: Clock;
  readonly access: RouteAccess;
  /** Builds the answer to a refused request, and counts it as the listener counts its own errors. */
  answer(error: LockstepError, request: HttpRequest): HttpResponse;
}

/** Microseconds that an answer to wrong credentials waits. */
export const wrongDelayUs = 250_000;

/** Wraps a service so that every request passes the guard. Fails if a route has no row in `terms.access`. */
export function guardService(service: HttpService, terms: HttpGuardTerms): HttpService {
  return {
    ...service,
    routes: service.routes.map((route) => guardRoute(route, terms)),
    notFound: (request) => guardMiss(request, terms, () => service.notFound(request)),
    methodNotAllowed: (request, allow) =>
      guardMiss(request, terms, () => service.methodNotAllowed(request, allow)),
  };
}

function guardRoute(route: HttpRoute, terms: HttpGuardTerms): HttpRoute {
  const { gate } = terms;
  const name = `${route.method} ${route.path}`;
  const needed = present(terms.access.get(name), `what ${name} asks for`);
  if (needed === 'open') return route;
  return {
    ...route,
    handle: (request) => {
      const refusal = refusalOfPage(request, route.method, terms);
      if (refusal !== undefined) return terms.answer(refusal, request);
      if (gate.open) return route.handle(request);
      const turned = turnAway(request, terms, needed);
      if (turned === undefined) return route.handle(request);
      const answer = withChallenge(turned, terms.answer(turned.error, request), needed);
      return turned.wrong ? later(terms.clock, answer) : answer;
    },
  };
}

/** The error for a request that a web page may have made a browser send; undefined if there is no sign of that. */
function refusalOfPage(
  { headers }: HttpRequest,
  method: HttpRoute['method'],
  { hosts }: HttpGuardTerms,
): LockstepError | undefined {
  if (!hosts.includes(headers.host)) {
    const text = `this listener does not answer as ${JSON.stringify(headers.host)}; ask it by its address, or add the name to client_hosts`;
    return new LockstepError('Forbidden', text);
  }
  // A page of another site can send simple requests, but cannot read the answers: the browser's rules protect reads.
  const site = method === 'GET' ? undefined : otherSiteOf(headers);
  if (site === undefined) return undefined;
  return new LockstepError('Forbidden', `pages of another site (${site}) change nothing here`);
}

/** Answers an unknown path or method. Only clients with read permission learn whether a path exists. */
function guardMiss(request: HttpRequest, terms: HttpGuardTerms, miss: () => HttpResponse): HttpResponse {
  const refusal = refusalOfPage(request, 'GET', terms);
  if (refusal !== undefined) return terms.answer(refusal, request);
  if (terms.gate.open) return miss();
  const turned = turnAway(request, terms, 'read');
  if (turned === undefined) return miss();
  return withChallenge(turned, terms.answer(turned.error, request), 'read');
}

interface TurnedAway {
  readonly error: LockstepError;
  readonly wrong: boolean;
}

/**
 * Why the gate refuses the request; undefined if it admits it. `wrong`: the client sent credentials that do not hold.
 */
function turnAway(
  request: HttpRequest,
  { gate, listener }: HttpGuardTerms,
  needed: Access,
): TurnedAway | undefined {
  const { authorization } = request.headers;
  let identity: Identity | undefined;
  if (authorization !== undefined) {
    const given = readAuthorization(authorization);
    identity = given === undefined ? undefined : gate.identify(given.token, given.name);
    if (identity === undefined) {
      return { error: gate.refuse(listener, request.remote, 'wrong'), wrong: true };
    }
  }
  try {
    gate.admit(listener, request.remote, identity, needed);
    return undefined;
  } catch (caught) {
    const error = asLockstepError(caught);
    assert(error.code === 'Unauthorized' || error.code === 'Forbidden', 'the gate refuses in its own words');
    return { error, wrong: false };
  }
}

/** Adds the WWW-Authenticate header (RFC 6750, 3.1; RFC 7235, 4.1). */
function withChallenge({ error, wrong }: TurnedAway, answer: HttpResponse, needed: Access): HttpResponse {
  const realm = 'realm="lockstep"';
  const why =
    error.code === 'Forbidden'
      ? `, error="insufficient_scope", scope="${needed}"`
      : wrong
        ? ', error="invalid_token"'
        : '';
  const challenge = `Bearer ${realm}${why}, Basic ${realm}`;
  return { ...answer, headers: { ...answer.headers, 'WWW-Authenticate': challenge } };
}

async function later(clock: Clock, answer: HttpResponse): Promise<HttpResponse> {
  await sleep(clock, wrongDelayUs);
  return answer;
}
