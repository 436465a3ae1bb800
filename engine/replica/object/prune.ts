/**
 * Bounds the causal context of an object: every life of a node that coordinates a write of a key leaves an entry, and
 * without this it would stay for ever (source: Riak's small, big, young and old vclock; DeCandia et al., "Dynamo", 2007,
 * section 4.4).
 *
 * Entries go oldest first, by the instant of their counter, once there are more than `smallVclock`: as long as there are
 * more than `bigVclock`, or the oldest is older than `oldVclock`; none younger than `youngVclock`, and none of a writer
 * whose value still stands.
 *
 * Promised: no value is lost by it, on any replica. Not promised: that a value stays replaced on a replica that has
 * heard nothing of the key since before the pruned entry was made, which is `youngVclock` ago at least: such a value may
 * come back as a sibling (or, where one wins, lose again).
 */
import type { Dot, VersionVector } from './dots.ts';
import { compareDots, instantMsOf } from './dots.ts';
import type { StoredObject } from './object.ts';

export interface ContextLimits {
  /** Entries. */
  readonly smallVclock: number;
  readonly bigVclock: number;
  /** Seconds. */
  readonly youngVclock: number;
  readonly oldVclock: number;
}

/** The object with as few entries as the limits leave it; itself when nothing goes. */
export function pruneContext(object: StoredObject, limits: ContextLimits, nowMs: number): StoredObject {
  const { context, siblings } = object;
  if (context.length <= limits.smallVclock) return object;
  const standing = new Set(siblings.map(({ dot }) => dot.actor));
  const spare = context.filter(({ actor }) => !standing.has(actor)).sort(byAge);
  const pruned = new Set<Dot>();
  for (const entry of spare) {
    const left = context.length - pruned.size;
    const ageMs = nowMs - instantMsOf(entry);
    if (left <= limits.smallVclock || ageMs < limits.youngVclock * 1000) break;
    if (left <= limits.bigVclock && ageMs <= limits.oldVclock * 1000) break;
    pruned.add(entry);
  }
  if (pruned.size === 0) return object;
  const kept: VersionVector = context.filter((entry) => !pruned.has(entry));
  return { context: kept, siblings };
}

/** Oldest first; the order of actors between equals, so that every replica prunes alike. */
function byAge(left: Dot, right: Dot): number {
  return left.counter - right.counter || compareDots(left, right);
}
