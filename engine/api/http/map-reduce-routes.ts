/**
 * `POST /mapred`: runs a MapReduce job. The results come as one JSON value, or with `?chunked=true` as a stream of
 * `multipart/mixed` parts `{"phase":n,"data":[...]}`. Each part is sent when the client has taken the previous one. A
 * client that disconnects ends its job. Status codes and texts are Riak's; an error inside a stream is its last part.
 */
import { asLockstepError, LockstepError } from '../../base/errors.ts';
import type { Permit } from '../../auth/permit.ts';
import type { GuardedRoute } from '../http-guard.ts';
import type { AnsweredFailure, HttpRequest, HttpResponse } from '../../io/http.ts';
import type { Io } from '../../io/io.ts';
import type { JobLimits } from '../../mapreduce/job.ts';
import { parseJob } from '../../mapreduce/parse-job.ts';
import type { ClientObserver } from '../client-observer.ts';
import { observeError } from '../client-observer.ts';
import type { MapReduceAdmin } from '../map-reduce-answers.ts';
import { failureJson, gatherResults, withinReach } from '../map-reduce-answers.ts';
import { errorAnswer, textAnswer } from './answers.ts';
import { boolean } from './quorum-query.ts';

/** What the routes of MapReduce work with. */
export interface MapReduceHttpDependencies {
  readonly io: Pick<Io, 'random' | 'log'>;
  readonly mapReduce: MapReduceAdmin;
  readonly limits: JobLimits;
  readonly observer: ClientObserver;
}

type Running = ReturnType<MapReduceAdmin['start']>;

const usage =
  'POST a job as application/json: {"inputs": ..., "query": [{"map": {...}}, {"link": {...}}, {"reduce": {...}}]}\n';

/** The routes of this module. */
export function mapReduceRoutes(parts: MapReduceHttpDependencies): readonly GuardedRoute[] {
  return [
    { method: 'GET', path: '/mapred', handle: () => textAnswer(200, usage) },
    { method: 'POST', path: '/mapred', handle: (request, permit) => serve(parts, request, permit) },
  ];
}

async function serve(
  parts: MapReduceHttpDependencies,
  request: HttpRequest,
  permit: Permit,
): Promise<HttpResponse> {
  const { mapReduce, limits } = parts;
  if (!isJson(request.headers['content-type'])) {
    mapReduce.refused();
    return refusal(parts, new LockstepError('UnsupportedMediaType', 'a job is application/json'));
  }
  let job: ReturnType<typeof parseJob>;
  let inChunks: boolean;
  try {
    inChunks = boolean(request.query, 'chunked') ?? false;
    job = withinReach(parseJob(request.body, limits), permit);
  } catch (caught) {
    mapReduce.refused();
    return refusal(parts, asLockstepError(caught));
  }
  let running: Running;
  try {
    running = mapReduce.start(job);
  } catch (caught) {
    return refusal(parts, asLockstepError(caught));
  }
  request.onGone(() => running.end());
  if (inChunks) return chunked(parts, running);
  try {
    const results = await gatherResults(job, running, mapReduce.bytesMax);
    return jsonAnswer(200, JSON.stringify(results));
  } catch (caught) {
    return failure(parts, asLockstepError(caught));
  }
}

function chunked(parts: MapReduceHttpDependencies, running: Running): HttpResponse {
  const boundary = `lockstep-mr-${parts.io.random.bytes(8).toString('hex')}`;
  const headers = { 'Content-Type': `multipart/mixed; boundary=${boundary}` };
  return { status: 200, headers, body: chunks(parts, running, boundary) };
}

async function* chunks(
  parts: MapReduceHttpDependencies,
  running: Running,
  boundary: string,
): AsyncGenerator<Uint8Array, void, undefined> {
  const part = (body: string): Buffer =>
    Buffer.from(`\r\n--${boundary}\r\nContent-Type: application/json\r\n\r\n${body}`);
  try {
    for await (const { phase, values } of running) yield part(JSON.stringify({ phase, data: values }));
  } catch (caught) {
    const error = asLockstepError(caught);
    tellInternal(parts, error);
    observeError(parts.observer, error, 'read');
    yield part(failureJson(error));
  }
  yield Buffer.from(`\r\n--${boundary}--\r\n`);
}

/** The answer to a request that started no job, as plain text. */
function refusal(parts: MapReduceHttpDependencies, error: LockstepError): HttpResponse {
  tellInternal(parts, error);
  return { ...errorAnswer(error.code, error.message.replace(/\n$/, '')), failure: failureOf(error) };
}

/** The answer to a job that failed, as JSON. */
function failure(parts: MapReduceHttpDependencies, error: LockstepError): HttpResponse {
  tellInternal(parts, error);
  const { status, headers } = errorAnswer(error.code, '');
  const answer = jsonAnswer(status, failureJson(error));
  return { ...answer, headers: { ...headers, ...answer.headers }, failure: failureOf(error) };
}

function tellInternal({ io }: MapReduceHttpDependencies, error: LockstepError): void {
  if (error.code === 'Internal') io.log.event('error', 'api.http.failed', { detail: error.message });
}

/** A job only reads, although its method is POST. */
function failureOf({ code, definite }: LockstepError): AnsweredFailure {
  return { code, definite, purpose: 'read' };
}

function jsonAnswer(status: number, body: string): HttpResponse {
  return { status, headers: { 'Content-Type': 'application/json' }, body };
}

function isJson(contentType: string | undefined): boolean {
  return contentType === undefined || /^application\/json\s*(;|$)/i.test(contentType);
}
