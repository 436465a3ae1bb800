/**
 * Riak's HTTP interface: the table of routes, and what every one of them shares: the path's names, the bucket type's
 * check, counting, and turning errors into Riak's answers.
 */
import type { LockstepError } from '../../base/errors.ts';
import { asLockstepError } from '../../base/errors.ts';
import type { ByteString } from '../../base/ids.ts';
import { textOf } from '../../base/ids.ts';
import { version } from '../../base/version.ts';
import { defaultType } from '../../base/object-key.ts';
import type { Dispatcher } from '../../dispatch/requests.ts';
import type { HttpMethod, HttpRequest, HttpResponse, HttpRoute, HttpService } from '../../io/http.ts';
import type { ClientObserver, Purpose } from '../client-observer.ts';
import { observeError } from '../client-observer.ts';
import { guardService } from '../http-guard.ts';
import { answerOf, errorAnswer } from './answers.ts';
import { bucketRoutes } from './bucket-routes.ts';
import type { HttpOptions, HttpParts } from './http-parts.ts';
import { createObject, deleteObject, getObject, putObject } from './object-handlers.ts';
import { listingRoutes } from './listing-routes.ts';
import type { PathForm, Place } from './place.ts';
import { openApiPath, openApiRoute } from './openapi.ts';
import { keyOf, placeOf } from './place.ts';
import { problemAnswer } from './problems.ts';
import { resourceList } from './resource-list.ts';
import { isRiaks, routeAccess } from './route-access.ts';

type ObjectHandler = (
  parts: HttpParts,
  request: HttpRequest,
  place: Place,
  key: ByteString,
) => Promise<HttpResponse>;

/** The paths of each form: one key, and the bucket that keys are made in. */
const forms: readonly { readonly form: PathForm; readonly key: string; readonly bucket: string }[] = [
  { form: 'buckets', key: '/buckets/:bucket/keys/:key', bucket: '/buckets/:bucket/keys' },
  {
    form: 'types',
    key: '/types/:type/buckets/:bucket/keys/:key',
    bucket: '/types/:type/buckets/:bucket/keys',
  },
  { form: 'riak', key: '/riak/:bucket/:key', bucket: '/riak/:bucket' },
];

/** The service to hand to `io.http`. */
export function httpService(
  dispatcher: Dispatcher,
  observer: ClientObserver,
  options: HttpOptions,
): HttpService {
  const parts: HttpParts = { ...options, dispatcher, observer };
  const routes = [
    ...objectRoutes(parts),
    ...bucketRoutes(parts),
    ...listingRoutes(parts),
    ...(options.ownRoutes ?? []),
    ping,
  ];
  routes.push(resourceList([...routes.map(({ path }) => path), openApiPath]));
  routes.push(openApiRoute([...routes], version));
  const service: HttpService = {
    routes,
    observer,
    bodyBytesMax: options.limits.valueBytesMax,
    bodyBudget: options.requests,
    connectionCountMax: options.connectionCountMax,
    requestTimeoutMs: options.requestTimeoutMs,
    answerTimeoutMs: options.answerTimeoutMs,
    notFound: (request) => unknownPath(request, routes),
    methodNotAllowed,
    refused: (status, reason) => refused(observer, status, reason, options.limits.valueBytesMax),
  };
  return guardService(service, {
    gate: options.gate,
    listener: 'http',
    hosts: options.hosts,
    clock: options.io.clock,
    access: routeAccess,
    answer: (error, asked) => turnedAway(observer, error, asked),
  });
}

function turnedAway(
  observer: ClientObserver,
  error: LockstepError,
  asked: HttpRoute | undefined,
): HttpResponse {
  observeError(observer, error.code);
  return asked === undefined || isRiaks(asked.path)
    ? errorAnswer(error.code, error.message)
    : problemAnswer(error);
}

const ping: HttpRoute = {
  method: 'GET',
  path: '/ping',
  handle: () => ({ status: 200, headers: { 'Content-Type': 'text/html' }, body: 'OK' }),
};

function objectRoutes(parts: HttpParts): readonly HttpRoute[] {
  return forms.flatMap(({ form, key, bucket }) => [
    route(parts, 'GET', key, form, 'read', getObject),
    route(parts, 'PUT', key, form, 'write', putObject),
    route(parts, 'POST', key, form, 'write', putObject),
    route(parts, 'DELETE', key, form, 'write', deleteObject),
    route(parts, 'POST', bucket, form, 'write', createObject),
  ]);
}

function route(
  parts: HttpParts,
  method: HttpMethod,
  path: string,
  form: PathForm,
  purpose: Purpose,
  handler: ObjectHandler,
): HttpRoute {
  return { method, path, handle: (request) => serve(parts, request, form, purpose, handler) };
}

async function serve(
  parts: HttpParts,
  request: HttpRequest,
  form: PathForm,
  purpose: Purpose,
  handler: ObjectHandler,
): Promise<HttpResponse> {
  const startUs = parts.io.clock.nowUs();
  parts.observer.received(purpose);
  try {
    const place = placeOf(request, form);
    if (!isKnown(parts, place.type)) return unknownType(parts, place.type);
    return await handler(parts, request, place, keyOf(request));
  } catch (caught) {
    const error = asLockstepError(caught);
    if (error.code === 'Internal') parts.io.log.event('error', 'api.http.failed', { detail: error.message });
    observeError(parts.observer, error.code);
    return answerOf(error, purpose);
  } finally {
    parts.observer.answered(parts.io.clock.nowUs() - startUs);
  }
}

function isKnown(parts: HttpParts, type: ByteString): boolean {
  return type === defaultType || parts.knowsType(type);
}

function unknownType(parts: HttpParts, type: ByteString): HttpResponse {
  parts.observer.failed();
  return errorAnswer('NotFound', `Unknown bucket type: ${textOf(type)}`);
}

function unknownPath(request: HttpRequest, routes: readonly HttpRoute[]): HttpResponse {
  const paths = [...new Set(routes.map((one) => one.path))].map((path) => `  ${path}`);
  return errorAnswer('NotFound', [`no such path: ${request.path}`, 'This node serves:', ...paths].join('\n'));
}

function methodNotAllowed(request: HttpRequest, allow: readonly string[]): HttpResponse {
  const methods = allow.join(', ');
  const text = `${request.path} does not offer ${request.method}; it offers ${methods}`;
  return errorAnswer('MethodNotAllowed', text, { Allow: methods });
}

/** A request that never reached a handler: too large, malformed, too slow, or no room for it now. */
function refused(
  observer: ClientObserver,
  status: number,
  reason: string,
  valueBytesMax: number,
): HttpResponse {
  observer.failed();
  if (status === 413) {
    return errorAnswer('TooLarge', `the value is too large; at most ${valueBytesMax} bytes are allowed`);
  }
  const code = status === 408 ? 'Timeout' : status === 503 ? 'Overloaded' : 'BadRequest';
  return errorAnswer(code, reason, {}, status);
}
