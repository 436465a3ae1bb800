/**
 * Bounds the causal context of an object. Every incarnation of a node that coordinates a write of a key adds an entry,
 * which would otherwise stay forever (source: Riak's small, big, young and old vclock; DeCandia et al., "Dynamo", 2007,
 * section 4.4).
 *
 * Entries are pruned oldest first, by the time of their counters, while there are more than `smallVclock`. An entry is
 * pruned if there are more than `bigVclock` entries or it is older than `oldVclock`. An entry younger than
 * `youngVclock`, or of an actor that has a sibling, is never pruned.
 *
 * Guarantee: pruning loses no value, on any replica. Not guaranteed: that a value stays replaced on a replica that has
 * not received the key since before the pruned entry was made, which was at least `youngVclock` ago. Such a value may
 * come back as a sibling (or, where one write wins, lose again).
 */
import type { PackedKey } from '../../base/object-key.ts';
import type { Dot, VersionVector } from './dots.ts';
import { compareDots, instantMsOf } from './dots.ts';
import type { StoredObject } from './object.ts';

/** Riak's four limits. */
export interface ContextLimits {
  /** Entries. */
  readonly smallVclock: number;
  readonly bigVclock: number;
  /** Seconds. */
  readonly youngVclock: number;
  readonly oldVclock: number;
}

/**
 * Called as a write of the key prunes its context: with the write's dot, the entries that go, and how many entries stay.
 * The write may still fail.
 */
export type OnPruned = (key: PackedKey, dot: Dot, gone: VersionVector, left: number) => void;

/** The object with its context pruned to the limits; the same object if nothing is pruned. `nowMs`: the wall clock. */
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

/** The entries of an object's context that `pruneContext` has left out. */
export function entriesGone({ context }: StoredObject, pruned: StoredObject): VersionVector {
  return context.filter((entry) => !pruned.context.includes(entry));
}

/** Oldest first; ties by actor, so that every replica prunes alike. */
function byAge(left: Dot, right: Dot): number {
  return left.counter - right.counter || compareDots(left, right);
}
