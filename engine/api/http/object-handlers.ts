/**
 * Handles Riak's HTTP requests for single objects over the dispatcher: GET (HEAD), PUT and POST, DELETE.
 *
 * A conditional write reads first. It then writes on condition that the coordinating replica still has the context that
 * was read, in one step: no other write of that replica comes between (in Riak, one may). Replicas do not consult each
 * other, so two writes that different replicas coordinate at once may both pass. A change that must happen exactly once
 * needs a transaction with a precondition. A coordinating replica that lacks what was read refuses the write (412),
 * although the client's ETag was right; the write then has no effect.
 */
import { LockstepError } from '../../base/errors.ts';
import type { ByteString } from '../../base/ids.ts';
import type { ObjectKey } from '../../base/object-key.ts';
import { objectKey } from '../../base/object-key.ts';
import { forDeletion } from '../../replication/needs.ts';
import type { RequestTimes } from '../../base/request-times.ts';
import type { PutRequest } from '../../replication/requests.ts';
import type { HttpRequest, HttpResponse } from '../../io/http.ts';
import type { Content } from '../../replica/object/content.ts';
import type { VersionVector } from '../../replica/object/dots.ts';
import type { StoredObject } from '../../replica/object/object.ts';
import type { ClientObserver } from '../client-observer.ts';
import { checkContent } from '../content-limits.ts';
import { Patience, isDeleted, parseContext, readObject, writeTombstone } from '../objects.ts';
import { makeKey } from '../tags.ts';
import { emptyAnswer, errorAnswer, plainText } from './answers.ts';
import { forbidsAny, hasWriteConditions, judge, namesVersion } from './conditions.ts';
import { base64Header, contentOf } from './content-headers.ts';
import type { HttpDependencies } from './http-dependencies.ts';
import type { View } from './object-answers.ts';
import { notFoundAnswer, notModifiedAnswer, objectAnswer, viewOf } from './object-answers.ts';
import { keyPath } from './place.ts';
import type { Place } from './place.ts';
import type { ObjectQuery } from './quorum-query.ts';
import { parseObjectQuery } from './quorum-query.ts';

/** One request for an object, with everything that its handler needs. */
interface Task {
  readonly parts: HttpDependencies;
  readonly request: HttpRequest;
  readonly place: Place;
  readonly key: ObjectKey;
  readonly query: ObjectQuery;
  readonly patience: Patience;
}

/** GET and HEAD: 200 with the value, 300 with siblings, 304, 404 or 412. Rejects with the dispatcher's errors. */
export async function getObject(
  parts: HttpDependencies,
  request: HttpRequest,
  place: Place,
  key: ByteString,
  times: RequestTimes | undefined,
): Promise<HttpResponse> {
  const task = taskOf(parts, request, place, key, times);
  const object = await read(task);
  if (object === undefined || isDeleted(object)) return notFoundAnswer(object);
  const view = viewOf(object, task.query.vtag, request.headers['accept']);
  if (view === undefined) return notFoundAnswer(undefined);
  const nowMs = parts.io.clock.wallMs();
  const verdict = judge(request, view.current, nowMs);
  if (verdict.kind === 'failed') return errorAnswer('PreconditionFailed', verdict.detail);
  if (verdict.kind === 'notModified') return notModifiedAnswer(view, nowMs);
  if (request.method !== 'HEAD') tellPayload(parts.observer, view);
  return objectAnswer(view, place, parts.io);
}

/** PUT, and POST to a key: 204, or the object with `returnbody=true`. */
export async function putObject(
  parts: HttpDependencies,
  request: HttpRequest,
  place: Place,
  key: ByteString,
  times: RequestTimes | undefined,
): Promise<HttpResponse> {
  const task = taskOf(parts, request, place, key, times);
  const object = await write(task, contentOf(request));
  return task.query.returnBody
    ? bodyAnswer(task, object, 200)
    : emptyAnswer(204, { 'Content-Type': typeSent(request) });
}

/** POST to a bucket: 201 with the path of a key that the server makes. */
export async function createObject(
  parts: HttpDependencies,
  request: HttpRequest,
  place: Place,
  _key: ByteString,
  times: RequestTimes | undefined,
): Promise<HttpResponse> {
  const key = makeKey(parts.io.random);
  const task = taskOf(parts, request, place, key, times);
  const object = await write(task, contentOf(request));
  const location = { Location: keyPath(place, key) };
  if (!task.query.returnBody) return emptyAnswer(201, { 'Content-Type': typeSent(request), ...location });
  const answer = bodyAnswer(task, object, 201);
  return { ...answer, headers: { ...answer.headers, ...location } };
}

/** DELETE: 204, or Riak's 404 if the object does not exist. */
export async function deleteObject(
  parts: HttpDependencies,
  request: HttpRequest,
  place: Place,
  key: ByteString,
  times: RequestTimes | undefined,
): Promise<HttpResponse> {
  const task = taskOf(parts, request, place, key, times);
  const seen = contextHeader(request, 'X-Riak-Vclock');
  const unchanged = contextHeader(request, 'X-Riak-If-Not-Modified');
  const object = await read(task);
  if (object === undefined || isDeleted(object)) return notFoundAnswer(object);
  const { current } = viewOf(object, undefined, undefined) ?? {};
  const verdict = judge(request, current, parts.io.clock.wallMs());
  if (verdict.kind === 'failed') return errorAnswer('PreconditionFailed', verdict.detail);
  const conditional = unchanged ?? (hasWriteConditions(request) ? object.context : undefined);
  const deletion = writeTombstone(
    parts.dispatcher,
    task.key,
    task.query.writing,
    // The read may show writes that the coordinating replica lacks. Who states a context has not seen them.
    seen ?? unchanged ?? object.context,
    task.patience,
    conditional,
  );
  await (unchanged === undefined ? deletion : orModified(deletion));
  return emptyAnswer(204, { 'Content-Type': 'text/html' });
}

/**
 * An answer without a body has the type of what was stored, as in Riak: some clients read this header of every answer.
 */
function typeSent({ headers }: HttpRequest): string {
  return headers['content-type'] ?? plainText;
}

function taskOf(
  parts: HttpDependencies,
  request: HttpRequest,
  place: Place,
  key: ByteString,
  times: RequestTimes | undefined,
): Task {
  const own = parts.buckets.of(place.type, place.bucket);
  const bucket = request.method === 'DELETE' ? forDeletion(own) : own;
  const query = parseObjectQuery(request.query, parts.terms, bucket);
  const patience = new Patience(parts.io.clock, query.timeoutMs, times);
  return { parts, request, place, key: objectKey(place.type, place.bucket, key), query, patience };
}

function read({ parts, key, query, patience }: Task): Promise<StoredObject | undefined> {
  return readObject(parts.dispatcher, key, query.reading, parts.terms, patience);
}

/** Writes under the request's conditions. Rejects with `PreconditionFailed`, or `Conflict` for Riak's own condition. */
async function write(task: Task, content: Content): Promise<StoredObject> {
  const { parts, request } = task;
  checkContent(content, parts.limits);
  parts.observer.payload(content.value.length);
  const seen = contextHeader(request, 'X-Riak-Vclock');
  const unchanged = contextHeader(request, 'X-Riak-If-Not-Modified');
  const judged = hasWriteConditions(request) ? await readAndJudge(task) : undefined;
  const { need, quorum } = task.query.writing;
  const put: PutRequest = {
    key: task.key,
    need,
    quorum,
    content,
    context: seen ?? judged?.seen ?? [],
    timeoutMs: task.patience.remainingMs(),
    times: task.patience.times,
    ifNoneMatch: forbidsAny(request) || judged?.isAbsent === true,
    ifContext: unchanged ?? judged?.ifContext,
  };
  const written = parts.dispatcher.put(put);
  return (await (unchanged === undefined ? written : orModified(written))).object;
}

interface Judged {
  /** The write applies only while the coordinating replica has this context. */
  readonly ifContext?: VersionVector;
  /** A client that names a version's tag has seen its context. */
  readonly seen?: VersionVector;
  /** The key holds nothing, and the write applies only while that is so. */
  readonly isAbsent?: boolean;
}

async function readAndJudge(task: Task): Promise<Judged> {
  const object = await read(task);
  const held = object === undefined || isDeleted(object) ? undefined : object;
  const current = held === undefined ? undefined : viewOf(held, undefined, undefined)?.current;
  const verdict = judge(task.request, current, task.parts.io.clock.wallMs());
  if (verdict.kind === 'failed') throw new LockstepError('PreconditionFailed', verdict.detail);
  if (held === undefined) return { isAbsent: true };
  return namesVersion(task.request)
    ? { ifContext: held.context, seen: held.context }
    : { ifContext: held.context };
}

/** Maps the failure of `X-Riak-If-Not-Modified` to 409, as Riak does, instead of 412. */
async function orModified<T>(write: Promise<T>): Promise<T> {
  try {
    return await write;
  } catch (error) {
    if (!(error instanceof LockstepError) || error.code !== 'PreconditionFailed') throw error;
    throw new LockstepError('Conflict', 'the object was modified: X-Riak-If-Not-Modified does not hold', {
      cause: error,
    });
  }
}

function bodyAnswer(task: Task, object: StoredObject, status: number): HttpResponse {
  const view = viewOf(object, undefined, task.request.headers['accept']);
  if (view === undefined) return notFoundAnswer(object);
  tellPayload(task.parts.observer, view);
  return objectAnswer(view, task.place, task.parts.io, status);
}

function contextHeader(request: HttpRequest, name: string): VersionVector | undefined {
  const bytes = base64Header(request, name);
  return bytes === undefined ? undefined : parseContext(bytes, name);
}

/** Reports the values that the answer holds: a list of tags holds none. */
function tellPayload(observer: ClientObserver, view: View): void {
  if (view.kind === 'one') observer.payload(view.sibling.value.length);
  else if (view.form === 'parts')
    for (const sibling of view.object.siblings) observer.payload(sibling.value.length);
}
