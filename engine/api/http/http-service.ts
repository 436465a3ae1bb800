/**
 * Composes Riak's HTTP interface: the table of routes, and what all routes share. That is decoding the path's names,
 * checking the bucket type, counting, and turning errors into Riak's answers.
 */
import { asLockstepError, LockstepError } from '../../base/errors.ts';
import type { ByteString } from '../../base/ids.ts';
import { textOf } from '../../base/ids.ts';
import { serverName, version } from '../../base/version.ts';
import { defaultType } from '../../base/object-key.ts';
import type { RequestTimes } from '../../base/request-times.ts';
import type { Dispatcher } from '../../replication/requests.ts';
import type {
  HttpMethod,
  HttpRequest,
  HttpResponse,
  HttpRoute,
  HttpService,
  HttpStream,
} from '../../io/http.ts';
import type { ClientObserver, Operation } from '../client-observer.ts';
import { observeError } from '../client-observer.ts';
import type { GuardedRoute, GuardedService } from '../http-guard.ts';
import { guardService } from '../http-guard.ts';
import { answerOf, errorAnswer } from './answers.ts';
import { bucketRoutes } from './bucket-routes.ts';
import { consoleObjectRoutes } from './console-objects.ts';
import type { HttpOptions, HttpDependencies } from './http-dependencies.ts';
import { createObject, deleteObject, getObject, putObject } from './object-handlers.ts';
import { listingRoutes } from './listing-routes.ts';
import type { PathForm, Place } from './place.ts';
import { openApiPath, openApiRoute } from './openapi.ts';
import { keyOf, placeOf } from './place.ts';
import { reportFailure, requestIdOf, withRequestId } from './request-id.ts';
import { problemAnswer } from './problems.ts';
import { resourceList } from './resource-list.ts';
import { isRiaks, routeAccess } from './route-access.ts';

type ObjectHandler = (
  parts: HttpDependencies,
  request: HttpRequest,
  place: Place,
  key: ByteString,
  times: RequestTimes | undefined,
) => Promise<HttpResponse>;

/** The paths of each form: that of one key, and that of the bucket, where a POST creates a key. */
const forms: readonly { readonly form: PathForm; readonly key: string; readonly bucket: string }[] = [
  { form: 'buckets', key: '/buckets/:bucket/keys/:key', bucket: '/buckets/:bucket/keys' },
  {
    form: 'types',
    key: '/types/:type/buckets/:bucket/keys/:key',
    bucket: '/types/:type/buckets/:bucket/keys',
  },
  { form: 'riak', key: '/riak/:bucket/:key', bucket: '/riak/:bucket' },
];

/** The service to pass to `io.http`: Riak's routes and `options.ownRoutes`, behind the guard, with failures counted. */
export function httpService(
  dispatcher: Dispatcher,
  observer: ClientObserver,
  options: HttpOptions,
): HttpService {
  const parts: HttpDependencies = { ...options, dispatcher, observer };
  const routes: GuardedRoute[] = [
    ...objectRoutes(parts),
    ...bucketRoutes(parts),
    ...listingRoutes(parts),
    ...consoleObjectRoutes(parts),
    ...(options.ownRoutes ?? []),
    ping,
  ];
  routes.push(resourceList([...routes.map(({ path }) => path), openApiPath]));
  routes.push(openApiRoute([...routes], version));
  const { bodyBytesMax = options.limits.valueBytesMax } = options;
  const service: GuardedService = {
    serverName,
    routes,
    observer,
    bodyBytesMax,
    bodyBudget: options.requests,
    connectionCountMax: options.connectionCountMax,
    headerLinesMax: options.headerLinesMax,
    requestTimeoutMs: options.requestTimeoutMs,
    answerTimeoutMs: options.answerTimeoutMs,
    notFound: (request) => unknownPath(request, routes),
    methodNotAllowed,
    refused: (status, reason, path) => refused(status, reason, path, bodyBytesMax),
  };
  const guarded = guardService(service, {
    gate: options.gate,
    listener: 'http',
    hosts: options.hosts,
    clock: options.io.clock,
    access: routeAccess,
    bucketOf: (request) => placeOf(request, 'buckets'),
    answer: (error, { path }) => refusalAt(path, error, error.status),
  });
  return countFailures(guarded, observer);
}

/** Wraps a service so that every answer with a failure is counted exactly once, whichever module made it. */
function countFailures(service: HttpService, observer: ClientObserver): HttpService {
  const counted = (given: HttpResponse, method: string, request?: HttpRequest): HttpResponse => {
    const answer = request === undefined ? given : withRequestId(given, request);
    const { failure } = answer;
    const purpose = method === 'GET' || method === 'HEAD' ? 'read' : 'write';
    if (failure !== undefined) observeError(observer, failure, failure.purpose ?? purpose);
    if (typeof answer.body === 'string' || answer.body instanceof Uint8Array) return answer;
    return { ...answer, body: countLoss(answer.body, observer) };
  };
  return {
    ...service,
    routes: service.routes.map((one): HttpRoute => {
      return {
        ...one,
        handle: (request) => {
          const answer = one.handle(request);
          const count = (given: HttpResponse): HttpResponse => counted(given, one.method, request);
          return answer instanceof Promise ? answer.then(count) : count(answer);
        },
      };
    }),
    notFound: (request) => counted(service.notFound(request), request.method, request),
    methodNotAllowed: (request, allow) =>
      counted(service.methodNotAllowed(request, allow), request.method, request),
    // A timeout here is a slow client: it is no failure of replicas, and the request's purpose is unknown.
    refused: (status, reason, path) => {
      const answer = service.refused(status, reason, path);
      if (answer.failure?.code === 'Timeout') observer.failed();
      else counted(answer, 'PUT');
      return answer;
    },
  };
}

const ping: HttpRoute = {
  method: 'GET',
  path: '/ping',
  handle: () => ({ status: 200, headers: { 'Content-Type': 'text/html' }, body: 'OK' }),
};

function objectRoutes(parts: HttpDependencies): readonly HttpRoute[] {
  return forms.flatMap(({ form, key, bucket }) => [
    route(parts, 'GET', key, form, 'get', getObject),
    route(parts, 'PUT', key, form, 'put', putObject),
    route(parts, 'POST', key, form, 'put', putObject),
    route(parts, 'DELETE', key, form, 'delete', deleteObject),
    route(parts, 'POST', bucket, form, 'put', createObject),
  ]);
}

/** Passes the body on and counts a failure that cuts it off. Only reads are answered with a stream. */
async function* countLoss(body: HttpStream, observer: ClientObserver): AsyncGenerator<Uint8Array, void> {
  try {
    for await (const chunk of body) yield chunk;
  } catch (error) {
    if (error instanceof LockstepError) observeError(observer, error, 'read');
    throw error;
  }
}

function route(
  parts: HttpDependencies,
  method: HttpMethod,
  path: string,
  form: PathForm,
  operation: Operation,
  handler: ObjectHandler,
): HttpRoute {
  return { method, path, handle: (request) => serve(parts, request, form, operation, handler) };
}

async function serve(
  parts: HttpDependencies,
  request: HttpRequest,
  form: PathForm,
  operation: Operation,
  handler: ObjectHandler,
): Promise<HttpResponse> {
  const startUs = parts.io.clock.nowUs();
  const times = parts.observer.timesOf(startUs, request.headers);
  const purpose = operation === 'get' ? 'read' : 'write';
  parts.observer.received(purpose);
  try {
    const place = placeOf(request, form);
    if (times !== undefined) times.bucket = place.bucket;
    const answer = isKnown(parts, place.type)
      ? await handler(parts, request, place, keyOf(request), times)
      : unknownType(place.type);
    if (times !== undefined && answer.failure !== undefined) times.failure = answer.failure.code;
    return answer;
  } catch (caught) {
    const error = asLockstepError(caught);
    if (times !== undefined) times.failure = error.code;
    if (error.code === 'Internal') reportFailure(parts.io.log, error, request);
    return answerOf(error, purpose);
  } finally {
    const latencyUs = parts.io.clock.nowUs() - startUs;
    parts.observer.answered(latencyUs, 'http', operation, times, requestIdOf(request));
  }
}

function isKnown(parts: HttpDependencies, type: ByteString): boolean {
  return type === defaultType || parts.knowsType(type);
}

function unknownType(type: ByteString): HttpResponse {
  return errorAnswer('NotFound', `Unknown bucket type: ${textOf(type)}`);
}

function unknownPath(request: HttpRequest, routes: readonly GuardedRoute[]): HttpResponse {
  const paths = [...new Set(routes.map((one) => one.path))].map((path) => `  ${path}`);
  return errorAnswer('NotFound', [`no such path: ${request.path}`, 'This node serves:', ...paths].join('\n'));
}

function methodNotAllowed({ method, path }: HttpRequest, allow: readonly string[]): HttpResponse {
  const methods = allow.join(', ');
  const text = `${path} does not offer ${method}; it offers ${methods}`;
  return refusalAt(path, new LockstepError('MethodNotAllowed', text), 405, { Allow: methods });
}

/** The answer to a request that reached no handler: too large, malformed, too slow, or beyond the budget. */
function refused(
  status: number,
  reason: string,
  path: string | undefined,
  bodyBytesMax: number,
): HttpResponse {
  return refusalAt(path, refusalOf(status, reason, path, bodyBytesMax), status);
}

function refusalOf(
  status: number,
  reason: string,
  path: string | undefined,
  bodyBytesMax: number,
): LockstepError {
  switch (status) {
    case 408:
      return new LockstepError('Timeout', reason, { definite: true });
    case 413: {
      const what = speaksPlainly(path) ? 'value' : 'body';
      return new LockstepError(
        'TooLarge',
        `the ${what} is too large; at most ${bodyBytesMax} bytes are allowed`,
      );
    }
    case 500:
      return new LockstepError('Internal', reason);
    case 503:
      return new LockstepError('Overloaded', reason);
    default:
      return new LockstepError('BadRequest', reason);
  }
}

/** The refusal in the format of the path's endpoint: Riak's plain text, or problem details. */
function refusalAt(
  path: string | undefined,
  error: LockstepError,
  status: number,
  headers: Readonly<Record<string, string>> = {},
): HttpResponse {
  if (speaksPlainly(path)) return errorAnswer(error.code, error.message, headers, status);
  const answer = problemAnswer(error, { status });
  return { ...answer, status, headers: { ...answer.headers, ...headers } };
}

/** Riak's paths get plain text, and so does a request whose path is unknown. */
function speaksPlainly(path: string | undefined): boolean {
  return path === undefined || isRiaks(path);
}
