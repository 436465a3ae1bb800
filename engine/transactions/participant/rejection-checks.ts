/** The checks of a request before its keys are locked: incarnation, locks, primaries. */
import { sometimes } from '../../base/sometimes.ts';
import type { TransactionContext } from '../context.ts';
import type { Locks } from './locks.ts';
import type { Voted } from '../formats/prepare-request.ts';
import { describeKey, votedAbort } from '../formats/prepare-request.ts';
import { notReadyReasonOf } from '../coordinator/partition.ts';
import type { PrepareRequest } from '../formats/messages.ts';
import type { Xid } from '../formats/xid.ts';

/**
 * Rejects a one-phase request that was made for an earlier incarnation of this node: that incarnation may have
 * applied it, and this one may not know. Undefined if it was not, or if the coordinator did not know this node's
 * incarnations. A prepare needs no such check, because its branch asks the coordinator.
 */
export function incarnationRejection(
  { parts: { self }, lives }: Pick<TransactionContext, 'parts' | 'lives'>,
  { branches }: PrepareRequest,
): Voted | undefined {
  const life = branches.find(({ node }) => node === self.node)?.life ?? 0;
  if (life === 0 || life >= lives.own()) return undefined;
  sometimes('transaction.earlier-incarnation-refused');
  return votedAbort('no_targets', 'it was asked of an earlier life of this node');
}

/**
 * Rejects a request with a key that is locked, that has another primary, or that cannot be written at the request's
 * level. Undefined if there is none. Counts and logs a lock conflict for the transaction `counted`; undefined for a
 * redo.
 */
export function ownershipRejection(
  { io, parts, metrics }: TransactionContext,
  locks: Locks,
  order: PrepareRequest,
  counted?: Xid,
): Voted | undefined {
  for (const { key, token } of order.operations) {
    const holder = locks.holder(key);
    if (holder !== undefined) {
      if (counted !== undefined) {
        sometimes('transaction.lock-conflict');
        metrics.lockConflicts += 1;
        if (io.log.enabled('trace'))
          io.log.event('trace', 'xa.branch.conflicted', { xid: counted, key: describeKey(key), holder });
      }
      return votedAbort('conflict', `${describeKey(key)} belongs to the transaction ${holder}`);
    }
    const notReady = notReadyReasonOf(parts, { key, token }, order, counted === undefined);
    if (notReady !== undefined) return votedAbort(notReady.reason, notReady.detail);
  }
  return undefined;
}

/**
 * Whether the request was made for a node that this one has replaced, and one of its keys has another primary by now.
 * That primary may have led other transactions over the key since, unless this node has yet to hand the key over to
 * it.
 */
export function isNotYetReplicated(
  { parts: { self, ring, isFormer } }: Pick<TransactionContext, 'parts'>,
  { branches, operations }: PrepareRequest,
): boolean {
  if (branches.some(({ node }) => node === self.node)) return false;
  sometimes('transaction.replacement-redoes');
  return operations.some(({ token }) => ring().placement(token)[0]?.node !== self.node && !isFormer(token));
}

/** Counts and logs a request that is not even tried. */
export function reportRefusal({ io, metrics }: TransactionContext, xid: Xid, refused: Voted): void {
  metrics.voted(refused.vote);
  if (io.log.enabled('trace')) io.log.event('trace', 'xa.branch.refused', { xid, reason: refused.reason });
}
