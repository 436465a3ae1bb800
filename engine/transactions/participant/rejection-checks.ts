/** Why a node does not take a branch's keys. */
import type { TransactionContext } from '../context.ts';
import type { Locks } from './locks.ts';
import type { Voted } from '../formats/prepare-request.ts';
import { describeKey, votedAbort } from '../formats/prepare-request.ts';
import { hindranceOf } from '../coordinator/partition.ts';
import type { PrepareRequest } from '../formats/messages.ts';
import type { Xid } from '../formats/xid.ts';

/**
 * The order, to be committed in one step, was made for an earlier life of this node: that one may have carried it out,
 * and nobody may know here. Undefined: it was not, or its maker did not know of this node's lives. A prepare needs no
 * such objection, since its coordinator is asked.
 */
export function incarnationRejection(
  { parts: { self }, lives }: Pick<TransactionContext, 'parts' | 'lives'>,
  { branches }: PrepareRequest,
): Voted | undefined {
  const life = branches.find(({ node }) => node === self.node)?.life ?? 0;
  if (life === 0 || life >= lives.own()) return undefined;
  return votedAbort('no_targets', 'it was asked of an earlier life of this node');
}

/**
 * A key of the order is locked, or belongs to another primary, or cannot be written at its level; undefined: none.
 * A conflict is counted for the transaction `counted`; without one the order is given again (`redo`).
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
        metrics.lockConflicts += 1;
        if (io.log.enabled('trace'))
          io.log.event('trace', 'xa.branch.conflicted', { xid: counted, key: describeKey(key), holder });
      }
      return votedAbort('conflict', `${describeKey(key)} belongs to the transaction ${holder}`);
    }
    const hindrance = hindranceOf(parts, { key, token }, order, counted === undefined);
    if (hindrance !== undefined) return votedAbort(hindrance.reason, hindrance.detail);
  }
  return undefined;
}

/**
 * The order was made for a node that this one has replaced, and a key of it has another primary by now: that primary may
 * have led other transactions over it since, unless this node has yet to hand the key over to it.
 */
export function isNotYetReplicated(
  { parts: { self, ring, isFormer } }: Pick<TransactionContext, 'parts'>,
  { branches, operations }: PrepareRequest,
): boolean {
  if (branches.some(({ node }) => node === self.node)) return false;
  return operations.some(({ token }) => ring().placement(token)[0]?.node !== self.node && !isFormer(token));
}

/** The order is not even tried: counted and told. */
export function tellRefusal({ io, metrics }: TransactionContext, xid: Xid, refused: Voted): void {
  metrics.voted(refused.vote);
  if (io.log.enabled('trace')) io.log.event('trace', 'xa.branch.refused', { xid, reason: refused.reason });
}
