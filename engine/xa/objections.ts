/** Why a node does not take a branch's keys. */
import type { TransactionContext } from './context.ts';
import type { Locks } from './locks.ts';
import type { Voted } from './orders.ts';
import { describeKey, votedAbort } from './orders.ts';
import { hindranceOf } from './partition.ts';
import type { BranchOrder } from './words.ts';
import type { Xid } from './xid.ts';

/**
 * A key of the order is locked, or belongs to another primary, or cannot be written at its level; undefined: none.
 * A conflict is counted for the transaction `counted`.
 */
export function placeObjection(
  { io, parts, metrics }: TransactionContext,
  locks: Locks,
  order: BranchOrder,
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
    const hindrance = hindranceOf(parts, { key, token }, order.level);
    if (hindrance !== undefined) return votedAbort('no_targets', hindrance);
  }
  return undefined;
}

/** The order is not even tried: counted and told. */
export function tellRefusal({ io, metrics }: TransactionContext, xid: Xid, refused: Voted): void {
  metrics.voted(refused.vote);
  if (io.log.enabled('trace')) io.log.event('trace', 'xa.branch.refused', { xid, reason: refused.reason });
}
