/** A branch's order seen from its several sides: its keys, its conditions, its writes, and the votes over it. */
import type { LockstepError } from '../../base/errors.ts';
import { textOf } from '../../base/ids.ts';
import type { PackedKey } from '../../base/object-key.ts';
import { unpackKey } from '../../base/object-key.ts';
import type { LocalWrite } from '../../replica/replica.ts';
import type { Place } from '../../replica/key-slots.ts';
import { mergeVectors } from '../../replica/object/dots.ts';
import type { StoredObject } from '../../replica/object/object.ts';
import { liveSiblings } from '../../replica/object/object.ts';
import type { AbortReason } from './outcomes.ts';
import type { BranchOperation, PrepareRequest, BranchReply } from './messages.ts';

export type Voted = Extract<BranchReply, { kind: 'voted' }>;
export type Ended = Extract<BranchReply, { kind: 'ended' }>;
/** What a coordinator's commit comes to: done; told `none`, this node has no record of it; or to be sent again. */
export type CommitReply = Ended | Extract<BranchReply, { kind: 'told' }> | LockstepError;

/** The writes of a prepared order: their conditions were checked when it was prepared. */
export function writesOf(order: PrepareRequest): readonly LocalWrite[] {
  const writing = order.operations.filter(({ check }) => !check);
  return writing.map(({ key, token, content, context }) => ({
    key,
    token,
    content,
    seen: context ?? [],
    ifNoneMatch: false,
    ifContext: undefined,
  }));
}

/** The writes of an order that commits in one step, with their conditions: they hold at the instant of the write. */
export function conditionalWritesOf(order: PrepareRequest): readonly LocalWrite[] {
  return order.operations.filter(({ check }) => !check).map(vettedWrite);
}

export function votedAbort(reason: AbortReason, detail: string): Voted {
  return { kind: 'voted', vote: 'abort', reason, detail, earlier: undefined };
}

/** Of a one-step commit that ended in the error. */
export function votedFailure({ code, message, definite }: LockstepError): Voted {
  if (code === 'PreconditionFailed') return votedAbort('precondition_failed', message);
  const vote = votedAbort('prepare_failed', message);
  return definite ? vote : { ...vote, vote: 'doubtful' };
}

/** `mark`: see transactions/recovery/redo.ts. */
export function votedCommit(mark = ''): Voted {
  return { kind: 'voted', vote: 'commit', reason: 'prepare_failed', detail: mark, earlier: undefined };
}

export function votedReadOnly(): Voted {
  return { ...votedCommit(), vote: 'readOnly' };
}

/** The same order of other operations. Field by field: all orders have one shape. */
export function withOperations(
  { coordinator, level, clientId, clientDigest, branches: all }: PrepareRequest,
  operations: PrepareRequest['operations'],
  branches: PrepareRequest['branches'] = all,
): PrepareRequest {
  return { coordinator, level, clientId, clientDigest, branches, operations };
}

/**
 * Nothing is to be written for it, not even under which name of a client it was done. (Of an order whose conditions were
 * checked, or of one that holds nothing but conditions.)
 */
export function isReadOnly({
  operations,
  clientId,
}: Pick<PrepareRequest, 'operations' | 'clientId'>): boolean {
  return clientId === '' && operations.every(({ check }) => check);
}

export function placesOf(order: PrepareRequest): readonly Place[] {
  return order.operations.map(({ key, token }) => ({ key, token }));
}

/** The operation with its conditions. */
export function vettedWrite({
  key,
  token,
  content,
  context,
  ifMatch,
  ifAbsent,
}: BranchOperation): LocalWrite {
  return { key, token, content, seen: context ?? [], ifNoneMatch: ifAbsent, ifContext: ifMatch };
}

/**
 * What is to be written or checked, with all that it has seen. A deletion of nothing states that there is nothing, which
 * holds until the outcome as any condition does: with its key let go at the vote, another transaction might write here
 * before this one has the keys of its other branches, and be undone there.
 */
export function resolved(operation: BranchOperation, current: StoredObject | undefined): BranchOperation {
  const { content, context, ifMatch, ifAbsent, check } = operation;
  if (check) return operation;
  if (content.tombstone && (current === undefined || liveSiblings(current).length === 0))
    return { ...operation, check: true };
  // Whoever states what the key holds, or deletes what it holds, has seen it.
  const saw = ifMatch !== undefined || ifAbsent || (content.tombstone && context === undefined);
  if (current === undefined || !saw) return operation;
  return { ...operation, context: mergeVectors(context ?? [], current.context) };
}

/** A decided order once more, where its record was lost: what it was written on condition of, it has seen. */
export function redone(order: PrepareRequest): PrepareRequest {
  const operations = order.operations.map((operation) => {
    const { check, context, ifMatch } = operation;
    if (check || ifMatch === undefined) return operation;
    return { ...operation, context: mergeVectors(context ?? [], ifMatch) };
  });
  return withOperations(order, operations);
}

export function describeKey(key: PackedKey): string {
  const name = unpackKey(key);
  return name === undefined ? 'a key' : `${textOf(name.bucket)}/${textOf(name.key)}`;
}
