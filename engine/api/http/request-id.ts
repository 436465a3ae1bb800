/**
 * The id by which a client finds its request in the logs: `X-Request-Id`. An id that a client or a proxy sent comes back
 * with the answer and stands in the log lines about the request. An id of another form is ignored, so that no client
 * writes what it likes into the log.
 */
import type { LockstepError } from '../../base/errors.ts';
import type { HttpRequest, HttpResponse } from '../../io/http.ts';
import type { Log } from '../../io/log.ts';

/** Letters, digits and the marks of UUIDs, ULIDs, trace ids and base64; at most 128 characters. */
const idForm = /^[A-Za-z0-9._:/+=@-]{1,128}$/;

/** The id that the request names; undefined if it names none of the allowed form. */
export function requestIdOf({ headers }: Pick<HttpRequest, 'headers'>): string | undefined {
  const id = headers['x-request-id'];
  return id !== undefined && idForm.test(id) ? id : undefined;
}

/** The answer with the request's id, if the request names one. */
export function withRequestId(answer: HttpResponse, request: Pick<HttpRequest, 'headers'>): HttpResponse {
  const id = requestIdOf(request);
  return id === undefined ? answer : { ...answer, headers: { ...answer.headers, 'X-Request-Id': id } };
}

/** Logs that a handler failed although no client's error was to blame. */
export function reportFailure(log: Log, { message: detail }: LockstepError, request: HttpRequest): void {
  const requestId = requestIdOf(request);
  const fields = { method: request.method, detail };
  log.event('error', 'api.http.failed', requestId === undefined ? fields : { ...fields, requestId });
}
