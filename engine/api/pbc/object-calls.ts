/**
 * Runs get, put and delete of the binary protocol over the dispatcher. Each resolves with the frame of its answer and
 * rejects with a `LockstepError`.
 *
 * Options that the product cannot honour are refused, never ignored: `asis`, and an `n_val` other than the number of
 * racks. `sloppy_quorum` has no effect: there are no stand-in replicas.
 */
import type { Gate } from '../../auth/gate.ts';
import { LockstepError } from '../../base/errors.ts';
import type { ObjectKey } from '../../base/object-key.ts';
import type { Dispatcher, PutRequest } from '../../replication/requests.ts';
import type { BodyBudget } from '../../io/http.ts';
import type { Io } from '../../io/io.ts';
import type { StoredObject } from '../../replica/object/object.ts';
import { encodeContext } from '../../replica/object/object.ts';
import type { ClientObserver } from '../client-observer.ts';
import type { ContentLimits } from '../content-limits.ts';
import { checkContent } from '../content-limits.ts';
import type { RequestTimes } from '../../base/request-times.ts';
import type { ReplicaTerms, WriteQuorum } from '../../replication/needs.ts';
import { bucketReadNeed, bucketWriteNeed, forDeletion } from '../../replication/needs.ts';
import type { BucketProperties } from '../../buckets/properties.ts';
import { Patience, isDeleted, parseContext, readObject, writeTombstone } from '../objects.ts';
import type { BucketCallDependencies } from './bucket-calls.ts';
import type { ObjectCall } from './calls.ts';
import { RiakRefusal, needOf, readNeedOf, timeoutOf } from './call-texts.ts';
import { contentOf, contentsOf } from './contents.ts';
import type { ListingCallDependencies } from './listing-calls.ts';
import type { MapReduceCallDependencies } from './map-reduce-calls.ts';
import type { RpbDelReq, RpbGetReq, RpbPutReq } from './object-messages.ts';
import { messages } from './schema.ts';
import type { TransactionCallDependencies } from './transaction-calls.ts';

/** What the node chooses for the binary protocol, and what its calls work with. */
export interface PbcDependencies
  extends
    TransactionCallDependencies,
    BucketCallDependencies,
    ListingCallDependencies,
    MapReduceCallDependencies {
  readonly io: Pick<Io, 'clock' | 'log' | 'network' | 'random' | 'spawn'>;
  readonly dispatcher: Dispatcher;
  readonly limits: ContentLimits;
  readonly gate: Gate;
  /** Budget of the requests of all clients that are being received. */
  readonly requests: BodyBudget;
  /** The content of RpbGetServerInfoResp. */
  readonly serverInfo: { readonly node: string; readonly version: string };
}

const noBytes = Buffer.alloc(0);

/** Runs the call; resolves with the frame of its answer. */
export function answerObjectCall(
  parts: PbcDependencies,
  call: ObjectCall,
  times?: RequestTimes,
): Promise<Buffer> {
  switch (call.kind) {
    case 'get':
      return get(parts, call.key, call.message, times);
    case 'put':
      return put(parts, call.key, call.message, times);
    case 'delete':
      return remove(parts, call.key, call.message, times);
  }
}

type Times = RequestTimes | undefined;

async function get(
  parts: PbcDependencies,
  key: ObjectKey,
  message: RpbGetReq,
  times: Times,
): Promise<Buffer> {
  checkCopies(parts.terms, message.n_val);
  const bucket = parts.buckets.of(key.type, key.bucket);
  const { need, quorum } = bucketReadNeed(parts.terms, bucket, {
    r: readNeedOf(message.r),
    pr: needOf(message.pr),
    nodeConfirms: needOf(message.node_confirms),
  });
  const patience = new Patience(parts.io.clock, timeoutOf(message.timeout), times);
  const reading = {
    need,
    quorum,
    notFoundOk: message.notfound_ok ?? bucket.notfoundOk,
    basicQuorum: message.basic_quorum ?? bucket.basicQuorum,
  };
  const object = await readObject(parts.dispatcher, key, reading, parts.terms, patience);
  if (object === undefined) return messages.getResp.encode({});
  const vclock = encodeContext(object.context);
  if (isDeleted(object)) return messages.getResp.encode(message.deletedvclock === true ? { vclock } : {});
  if (message.if_modified !== undefined && vclock.equals(message.if_modified)) {
    return messages.getResp.encode({ unchanged: true });
  }
  const headOnly = message.head === true;
  if (!headOnly) tellPayload(parts.observer, object);
  return messages.getResp.encode({ content: contentsOf(object, headOnly), vclock });
}

async function put(
  parts: PbcDependencies,
  key: ObjectKey,
  message: RpbPutReq,
  times: Times,
): Promise<Buffer> {
  if (message.asis === true) refuse('asis: every write gets a version of its own');
  checkCopies(parts.terms, message.n_val);
  const patience = new Patience(parts.io.clock, timeoutOf(message.timeout), times);
  const object = await write(parts, putRequestOf(parts, key, message, patience), message, patience);
  const madeKey = message.key === undefined ? Buffer.from(key.key, 'latin1') : undefined;
  const headOnly = message.return_head === true;
  if (message.return_body !== true && !headOnly) return messages.putResp.encode({ key: madeKey });
  if (!headOnly) tellPayload(parts.observer, object);
  const vclock = encodeContext(object.context);
  return messages.putResp.encode({ content: contentsOf(object, headOnly), vclock, key: madeKey });
}

function putRequestOf(
  parts: PbcDependencies,
  key: ObjectKey,
  message: RpbPutReq,
  patience: Patience,
): PutRequest {
  const content = contentOf(message.content);
  checkContent(content, parts.limits);
  parts.observer.payload(content.value.length);
  const context = parseContext(message.vclock ?? noBytes, 'vclock');
  const bucket = parts.buckets.of(key.type, key.bucket);
  const { need, quorum } = putNeed(parts, bucket, message, message.node_confirms);
  return {
    key,
    need,
    quorum,
    content,
    context,
    timeoutMs: patience.remainingMs(),
    ifNoneMatch: message.if_none_match === true,
    ifContext: message.if_not_modified === true ? context : undefined,
    times: patience.times,
  };
}

/** Writes, and answers a failed condition with Riak's text. */
async function write(
  parts: PbcDependencies,
  request: PutRequest,
  message: RpbPutReq,
  patience: Patience,
): Promise<StoredObject> {
  // A client with an empty context has seen no version, so its condition cannot hold, not even for a missing object.
  if (request.ifContext?.length === 0) throw await conditionFailure(parts, request.key, message, patience);
  try {
    return (await parts.dispatcher.put(request)).object;
  } catch (error) {
    if (!(error instanceof LockstepError) || error.code !== 'PreconditionFailed') throw error;
    throw await conditionFailure(parts, request.key, message, patience);
  }
}

/** The put was refused, or cannot apply, whatever the key holds; reading it serves Riak's text alone. */
async function conditionFailure(
  parts: PbcDependencies,
  key: ObjectKey,
  message: RpbPutReq,
  patience: Patience,
): Promise<LockstepError> {
  if (message.if_none_match === true) return new RiakRefusal('PreconditionFailed', 'match_found');
  const absent = await isAbsent(parts, key, patience);
  return new RiakRefusal('PreconditionFailed', absent ? 'notfound' : 'modified');
}

/** Whether the key holds nothing; false if it cannot be read in what is left of the request's time. */
async function isAbsent(
  { dispatcher }: PbcDependencies,
  key: ObjectKey,
  patience: Patience,
): Promise<boolean> {
  try {
    const { object } = await dispatcher.get({ key, need: 'default', timeoutMs: patience.remainingMs() });
    return object === undefined || isDeleted(object);
  } catch (error) {
    if (error instanceof LockstepError) return false;
    throw error;
  }
}

/** Deleting a missing object succeeds: Riak answers both cases alike. */
async function remove(
  parts: PbcDependencies,
  key: ObjectKey,
  message: RpbDelReq,
  times: Times,
): Promise<Buffer> {
  checkCopies(parts.terms, message.n_val);
  const patience = new Patience(parts.io.clock, timeoutOf(message.timeout), times);
  const bucket = forDeletion(parts.buckets.of(key.type, key.bucket));
  const writing = putNeed(parts, bucket, { ...message, w: message.w ?? message.rw }, undefined);
  const seen = message.vclock === undefined ? undefined : parseContext(message.vclock, 'vclock');
  if (seen !== undefined) {
    await writeTombstone(parts.dispatcher, key, writing, seen, patience);
    return messages.delResp.encode({});
  }
  const { need, quorum } = bucketReadNeed(parts.terms, bucket, {
    r: needOf(message.r ?? message.rw),
    pr: needOf(message.pr),
    nodeConfirms: 'default',
  });
  const timeoutMs = patience.remainingMs();
  const { object } = await parts.dispatcher.get({ key, need, quorum, timeoutMs, times });
  if (object !== undefined && !isDeleted(object)) {
    await writeTombstone(parts.dispatcher, key, writing, object.context, patience);
  }
  return messages.delResp.encode({});
}

interface WriteQuorums {
  readonly w?: number | undefined;
  readonly dw?: number | undefined;
  readonly pw?: number | undefined;
}

function putNeed(
  parts: PbcDependencies,
  bucket: BucketProperties,
  { w, dw, pw }: WriteQuorums,
  nodeConfirms: number | undefined,
): WriteQuorum {
  return bucketWriteNeed(parts.terms, bucket, {
    w: needOf(w),
    dw: needOf(dw),
    pw: needOf(pw),
    nodeConfirms: needOf(nodeConfirms),
  });
}

function checkCopies(terms: ReplicaTerms, copies: number | undefined): void {
  if (copies === undefined || copies === terms.replicaCount()) return;
  refuse(`n_val=${copies}: this datacenter keeps ${terms.replicaCount()} copies, one per rack`);
}

function refuse(what: string): never {
  throw new LockstepError('BadRequest', `not supported: ${what}`);
}

function tellPayload(observer: ClientObserver, object: StoredObject): void {
  for (const sibling of object.siblings) observer.payload(sibling.value.length);
}
