/**
 * Checks credentials and origin of every HTTP request before its handler runs, so a refused request has no effect.
 *
 * The answer to wrong credentials waits `wrongDelayUs`, so guessing over one connection is slow. A request without
 * credentials is refused at once.
 *
 * A page of another site changes nothing here, with credentials or without (`otherSiteOf`). Where a web page could
 * point its own name at this listener, only requests that name the listener are answered (`answered-hosts.ts`).
 * `auth/gate.ts` decides which identity has which access. The guard judges the bucket of a path, and refuses a limited
 * client what needs the admin role and names no bucket; a handler judges the buckets of a body by the permit that it
 * gets. What admins asked for is logged with its outcome.
 */
import { assert, present } from '../base/assert.ts';
import { asLockstepError, LockstepError } from '../base/errors.ts';
import type { ClientListener, Gate, Identity } from '../auth/gate.ts';
import type { BucketName, Permit } from '../auth/permit.ts';
import { fullPermit } from '../auth/permit.ts';
import type { Access } from '../auth/role.ts';
import type { Clock } from '../io/clock.ts';
import { sleep } from '../io/clock.ts';
import type { HttpRequest, HttpResponse, HttpRoute, HttpService } from '../io/http.ts';
import type { AnsweredHosts } from './answered-hosts.ts';

/** The access that each route needs, by `METHOD /path` as the route states them. */
export type RouteAccess = ReadonlyMap<string, Access>;

/** A route whose handler learns what the client may reach. */
export interface GuardedRoute extends Pick<HttpRoute, 'method' | 'path'> {
  handle(request: HttpRequest, permit: Permit): HttpResponse | Promise<HttpResponse>;
}

/** A service whose routes the guard stands before. */
export interface GuardedService extends Omit<HttpService, 'routes'> {
  readonly routes: readonly GuardedRoute[];
}

/** What the guard of one HTTP listener works with. */
export interface HttpGuardTerms {
  readonly gate: Gate;
  readonly listener: ClientListener;
  readonly hosts: AnsweredHosts;
  readonly clock: Clock;
  readonly access: RouteAccess;
  /** The bucket that a request's path names. Throws `BadRequest` on invalid percent-encoding. */
  readonly bucketOf?: (request: HttpRequest) => BucketName;
  /** Builds the answer to a refused request, and counts it as the listener counts its own errors. */
  answer(error: LockstepError, request: HttpRequest): HttpResponse;
}

/** Microseconds that an answer to wrong credentials waits. */
export const wrongDelayUs = 250_000;

/** Wraps a service so that every request passes the guard. Fails if a route has no row in `terms.access`. */
export function guardService(service: GuardedService, terms: HttpGuardTerms): HttpService {
  return {
    ...service,
    routes: service.routes.map((route) => guardRoute(route, terms)),
    notFound: (request) => guardMiss(request, terms, () => service.notFound(request)),
    methodNotAllowed: (request, allow) =>
      guardMiss(request, terms, () => service.methodNotAllowed(request, allow)),
  };
}

function guardRoute(route: GuardedRoute, terms: HttpGuardTerms): HttpRoute {
  const { gate } = terms;
  const { method, path } = route;
  const name = `${method} ${path}`;
  const needed = present(terms.access.get(name), `what ${name} asks for`);
  const serve = (request: HttpRequest, permit: Permit): HttpResponse | Promise<HttpResponse> =>
    route.handle(request, permit);
  if (needed === 'open') return { method, path, handle: (request) => serve(request, fullPermit) };
  const namesBucket = path.includes('/:bucket');
  const isAudited = needed === 'admin' && name !== unaudited;
  const answerTo = (request: HttpRequest, seen: Seen): HttpResponse | Promise<HttpResponse> => {
    const refusal = refusalOfPage(request, method, terms);
    if (refusal !== undefined) return terms.answer(refusal, request);
    if (gate.open) return serve(request, fullPermit);
    const turned = turnAway(request, terms, needed, seen);
    if (turned === undefined) {
      const permit = gate.permitOf(terms.listener, request.remote, seen.identity);
      const beyond = permit.isLimited ? beyondReach(request, permit, terms, needed, namesBucket) : undefined;
      return beyond === undefined ? serve(request, permit) : terms.answer(beyond, request);
    }
    const answer = withChallenge(turned, terms.answer(turned.error, request), needed);
    return turned.wrong ? later(terms.clock, answer) : answer;
  };
  if (!isAudited) return { method, path, handle: (request) => answerTo(request, {}) };
  return { method, path, handle: (request) => audited(request, terms, answerTo) };
}

/** A backup asks for this one segment by segment; its first and its last request are logged. */
const unaudited = 'GET /backup/:id/segments/:number';

/** What the guard learned of a request's client. */
interface Seen {
  identity?: Identity | undefined;
}

/** Logs an admin's request with its outcome, once it has one. */
async function audited(
  request: HttpRequest,
  { gate, listener }: HttpGuardTerms,
  answerTo: (request: HttpRequest, seen: Seen) => HttpResponse | Promise<HttpResponse>,
): Promise<HttpResponse> {
  const seen: Seen = {};
  const { method, path, remote } = request;
  const note = (outcome: string): void =>
    gate.audit({ listener, remote, identity: seen.identity, what: `${method} ${path}`, outcome });
  try {
    const answer = await answerTo(request, seen);
    note(answer.failure?.code ?? (answer.status < 400 ? 'done' : String(answer.status)));
    return answer;
  } catch (error) {
    note(asLockstepError(error).code);
    throw error;
  }
}

/** The error for a limited client that asks for a bucket beyond its rules, or for what concerns the cluster. */
function beyondReach(
  request: HttpRequest,
  permit: Permit,
  { bucketOf }: HttpGuardTerms,
  needed: Access,
  namesBucket: boolean,
): LockstepError | undefined {
  try {
    if (namesBucket) permit.mustReach([present(bucketOf, 'a reader of paths')(request)]);
    else if (needed === 'admin') permit.mustReachAll();
    return undefined;
  } catch (error) {
    return asLockstepError(error);
  }
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

const refusals: readonly string[] = ['Unauthorized', 'Forbidden', 'RateLimited'];

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
  seen: Seen = {},
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
  seen.identity = identity;
  try {
    gate.admit(listener, request.remote, identity, needed);
    return undefined;
  } catch (caught) {
    const error = asLockstepError(caught);
    assert(refusals.includes(error.code), 'the gate refuses in its own words');
    return { error, wrong: false };
  }
}

/** Adds the WWW-Authenticate header (RFC 6750, 3.1; RFC 7235, 4.1), unless other credentials would not help. */
function withChallenge({ error, wrong }: TurnedAway, answer: HttpResponse, needed: Access): HttpResponse {
  if (error.code === 'RateLimited') return answer;
  const realm = 'realm="lockstep"';
  const why =
    error.code === 'Forbidden'
      ? `, error="insufficient_scope", scope="${needed}"`
      : wrong
        ? ', error="invalid_token"'
        : '';
  // Chromium reads the first challenge of a header alone, and asks people for credentials only if it knows the scheme.
  const challenge = `Basic ${realm}, Bearer ${realm}${why}`;
  return { ...answer, headers: { ...answer.headers, 'WWW-Authenticate': challenge } };
}

async function later(clock: Clock, answer: HttpResponse): Promise<HttpResponse> {
  await sleep(clock, wrongDelayUs);
  return answer;
}

/** The credentials that a client sent, not yet checked. */
export interface GivenCredentials {
  readonly token: string | Uint8Array;
  /** The credential's name; absent with `Bearer`. */
  readonly name?: string;
}

/** Characters. A longer header cannot hold a credential of this product. */
const headerLengthMax = 4096;

/** The credentials in the value of an Authorization header; undefined if it has another form or is too long. */
export function readAuthorization(header: string): GivenCredentials | undefined {
  if (header.length > headerLengthMax) return undefined;
  // A token of an operator's own may have any visible characters, not only those of RFC 6750.
  const [, scheme = '', words = ''] = /^ *([A-Za-z]+) +([!-~]+) *$/.exec(header) ?? [];
  switch (scheme.toLowerCase()) {
    case 'bearer':
      return { token: words };
    case 'basic':
      return namedPair(words);
    default:
      return undefined;
  }
}

/** Parses base64 of `name:token`. The token is everything after the first colon. */
function namedPair(words: string): GivenCredentials | undefined {
  if (!/^[A-Za-z0-9+/_-]+=*$/.test(words)) return undefined;
  const bytes = Buffer.from(words, 'base64');
  const colon = bytes.indexOf(':');
  if (colon < 0) return undefined;
  return { name: bytes.toString('utf8', 0, colon), token: bytes.subarray(colon + 1) };
}

/** The request comes from the listener's own page, or the user typed the address. */
const ownSites: readonly string[] = ['same-origin', 'none'];

/** The other site as the browser names it, for error texts; undefined for programs and for pages of this listener. */
export function otherSiteOf(headers: HttpRequest['headers']): string | undefined {
  const { origin, host } = headers;
  const relation = headers['sec-fetch-site'];
  if (relation !== undefined) return ownSites.includes(relation) ? undefined : (origin ?? relation);
  if (origin === undefined) return undefined;
  return isOf(origin, host) ? undefined : origin;
}

/** Whether the origin is this host. `null` (a sandboxed page) and anything else that is no URL belongs to no host. */
function isOf(origin: string, host: string | undefined): boolean {
  const own = `http://${host ?? ''}`;
  return URL.canParse(origin) && URL.canParse(own) && new URL(origin).host === new URL(own).host;
}
