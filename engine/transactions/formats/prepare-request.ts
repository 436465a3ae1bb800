/** Functions over a prepare request: its keys, its conditions, its writes, and the votes on it. */
import type { LockstepError } from '../../base/errors.ts';
import { textOf } from '../../base/ids.ts';
import type { PackedKey } from '../../base/object-key.ts';
import { epochOf, hasEpoch, unpackKey } from '../../base/object-key.ts';
import type { LogFields } from '../../io/log.ts';
import type { LocalWrite } from '../../replica/replica.ts';
import type { Place } from '../../replica/key-slots.ts';
import { mergeVectors } from '../../replica/object/dots.ts';
import type { StoredObject } from '../../replica/object/object.ts';
import { liveSiblings } from '../../replica/object/object.ts';
import type { AbortReason } from './outcomes.ts';
import type { BranchOperation, PrepareRequest, BranchReply } from './messages.ts';

/** A branch's vote. */
export type Voted = Extract<BranchReply, { kind: 'voted' }>;
/** A branch's acknowledgement of a commit. */
export type Ended = Extract<BranchReply, { kind: 'ended' }>;
/**
 * The answer to a coordinator's commit. `told` with `none`: this node has no record of the branch. An error: send the
 * commit again.
 */
export type CommitReply = Ended | Extract<BranchReply, { kind: 'told' }> | LockstepError;

/** The writes of a prepared request, without conditions: those were checked at the prepare. */
export function writesOf(order: PrepareRequest): readonly LocalWrite[] {
  const writing = order.operations.filter(({ check }) => !check);
  return writing.map(({ key, token, content, context, ifMatch, ifAbsent }) => ({
    key,
    token,
    content,
    seen: context ?? [],
    ifNoneMatch: false,
    ifContext: undefined,
    fromRead: ifAbsent || ifMatch !== undefined,
  }));
}

/** The writes of a one-step commit, with their conditions: those must hold at the moment of the write. */
export function conditionalWritesOf(order: PrepareRequest): readonly LocalWrite[] {
  return order.operations.filter(({ check }) => !check).map(vettedWrite);
}

/** A vote to abort. `detail`: text for people. */
export function votedAbort(reason: AbortReason, detail: string): Voted {
  return { kind: 'voted', vote: 'abort', reason, detail, earlier: undefined };
}

/** The vote for a one-step commit that failed with the error. `doubtful` unless the error is definite. */
export function votedFailure({ code, message, definite }: LockstepError): Voted {
  if (code === 'PreconditionFailed') return votedAbort('precondition_failed', message);
  const vote = votedAbort('prepare_failed', message);
  return definite ? vote : { ...vote, vote: 'doubtful' };
}

/** A vote to commit. `mark`: see transactions/recovery/redo.ts. */
export function votedCommit(mark = ''): Voted {
  return { kind: 'voted', vote: 'commit', reason: 'prepare_failed', detail: mark, earlier: undefined };
}

/** A vote of a branch that has nothing to write and needs no second phase. */
export function votedReadOnly(): Voted {
  return { ...votedCommit(), vote: 'readOnly' };
}

/** The same request with other operations. Copies field by field, so that all requests share one hidden class. */
export function withOperations(
  { coordinator, level, clientId, clientDigest, branches }: PrepareRequest,
  operations: PrepareRequest['operations'],
): PrepareRequest {
  return { coordinator, level, clientId, clientDigest, branches, operations };
}

/**
 * True if the branch has nothing to write, not even an idempotency record. Call it for a request whose conditions were
 * checked, or that holds nothing but conditions.
 */
export function isReadOnly({
  operations,
  clientId,
}: Pick<PrepareRequest, 'operations' | 'clientId'>): boolean {
  return clientId === '' && operations.every(({ check }) => check);
}

/** The keys of the request's operations with their tokens. */
export function placesOf(order: PrepareRequest): readonly Place[] {
  return order.operations.map(({ key, token }) => ({ key, token }));
}

/** The operation as a write, with its conditions. */
export function vettedWrite({
  key,
  token,
  content,
  context,
  ifMatch,
  ifAbsent,
}: BranchOperation): LocalWrite {
  const fromRead = ifAbsent || ifMatch !== undefined;
  return { key, token, content, seen: context ?? [], ifNoneMatch: ifAbsent, ifContext: ifMatch, fromRead };
}

/**
 * The operation as it must be locked and written, with every version that it has seen in its context.
 *
 * A deletion of an absent key becomes a check: the key must stay absent until the outcome. Suppose the branch released
 * the key at its vote. Another transaction might write here before this one holds the keys of its other branches, and
 * this deletion would undo that write.
 */
export function resolved(operation: BranchOperation, current: StoredObject | undefined): BranchOperation {
  const { content, context, ifMatch, ifAbsent, check } = operation;
  if (check) return operation;
  if (content.tombstone && (current === undefined || liveSiblings(current).length === 0))
    return { ...operation, check: true };
  // A client that states or deletes what the key holds has seen it.
  const saw = ifMatch !== undefined || ifAbsent || (content.tombstone && context === undefined);
  if (current === undefined || !saw) return operation;
  return { ...operation, context: mergeVectors(context ?? [], current.context) };
}

/**
 * An operation of a committed branch whose record was lost, as it must be written again; `current`: what the key holds.
 * A write with `ifMatch` has seen the version that it named, one with `ifAbsent` the tombstones, and a deletion without
 * a context all that was there. Without these in its context it would count as older than what it has replaced.
 */
export function redone(operation: BranchOperation, current: StoredObject | undefined): BranchOperation {
  const { content, context, ifMatch, ifAbsent, check } = operation;
  if (check) return operation;
  if (ifMatch !== undefined) return { ...operation, context: mergeVectors(context ?? [], ifMatch) };
  if (current === undefined) return operation;
  // A value under a key that had to be absent was written since: it stays.
  const saw = ifAbsent ? liveSiblings(current).length === 0 : content.tombstone && context === undefined;
  return saw ? { ...operation, context: mergeVectors(context ?? [], current.context) } : operation;
}

/** The bucket and key as text for people. */
export function describeKey(key: PackedKey): string {
  const name = unpackKey(key);
  return name === undefined ? 'a key' : `${textOf(name.bucket)}/${textOf(name.key)}`;
}

/**
 * The fields of a step that names locked keys: their names and, if a bucket among theirs was flushed before, the epochs
 * in which they are locked. A key of a former epoch is another key.
 */
export function keyFields(keys: readonly PackedKey[]): LogFields {
  const names = { keys: keys.map(describeKey).join(' ') };
  return keys.some(hasEpoch) ? { ...names, epochs: keys.map(epochOf).join(' ') } : names;
}
