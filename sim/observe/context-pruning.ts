/**
 * Judges what nodes prune from causal contexts, by the limits of the bucket (engine/replica/object/prune.ts). Only a
 * coordinator prunes, as it writes: oldest entries first, none of an actor that has a sibling, none younger than
 * `young_vclock`, and none that leaves fewer than `small_vclock`. Where fewer than `big_vclock` are left, all that are
 * gone were older than `old_vclock`.
 *
 * The age of an entry is counted up to the dot of the coordinator's write, which is never before the coordinator's clock:
 * so it is never too small, whatever clocks do. Not judged: an entry that stays although it might go.
 */
import type { PackedKey } from '../../engine/base/object-key.ts';
import { unpackKey } from '../../engine/base/object-key.ts';
import { textOf } from '../../engine/base/ids.ts';
import type { BucketProperties } from '../../engine/buckets/properties.ts';
import { defaultProperties } from '../../engine/buckets/properties.ts';
import type { Dot } from '../../engine/replica/object/dots.ts';
import { instantMsOf } from '../../engine/replica/object/dots.ts';
import type { StoredObject } from '../../engine/replica/object/object.ts';
import { describeObject } from '../../engine/replica/object/object.ts';
import type { ContextLimits } from '../../engine/replica/object/prune.ts';
import { nameOfDot, sameDot } from './dot-names.ts';

/** The limits of a key's bucket type, of those that a node's configuration names; else the engine's own. */
export function contextLimitsOf(key: PackedKey, types: ReadonlyMap<string, BucketProperties>): ContextLimits {
  const name = unpackKey(key);
  return (name === undefined ? undefined : types.get(textOf(name.type))) ?? defaultProperties;
}

/**
 * What `now`, which replaces `old` on a disk, lacks of its context: undefined if nothing, else `allowed`, or why the
 * coordinator may not have pruned that.
 */
export function judgePruning(
  old: StoredObject,
  now: StoredObject,
  limits: ContextLimits | undefined,
): string | undefined {
  const gone = old.context.filter(({ actor }) => now.context.every((one) => one.actor !== actor));
  if (limits === undefined || gone.length === 0) return undefined;
  const why = faultOf(old, now, gone, limits);
  if (why === undefined) return 'allowed';
  return `${gone.map(nameOfDot).join(', ')} is gone, but ${why}: ${describeObject(now)} replaces ${describeObject(old)}`;
}

/** Why `gone`, the entries that `now` lacks of `old`, may not all be pruned; undefined: they may. */
function faultOf(
  old: StoredObject,
  now: StoredObject,
  gone: readonly Dot[],
  limits: ContextLimits,
): string | undefined {
  const written = now.siblings.filter(({ dot }) => !old.siblings.some((one) => sameDot(one.dot, dot)));
  if (written.length === 0) return 'nothing was written';
  if (now.context.length < limits.smallVclock) return `fewer than ${limits.smallVclock} are left`;
  const nowMs = Math.max(...written.map(({ dot }) => instantMsOf(dot)));
  const isFew = now.context.length < limits.bigVclock;
  const ageMsMin = 1000 * (isFew ? Math.max(limits.oldVclock, limits.youngVclock) : limits.youngVclock);
  const young = gone.find((entry) => nowMs - instantMsOf(entry) < ageMsMin);
  if (young !== undefined)
    return `${nameOfDot(young)} is ${nowMs - instantMsOf(young)} ms old, not ${ageMsMin}`;
  const kept = now.context.find(
    (entry) =>
      now.siblings.every(({ dot }) => dot.actor !== entry.actor) &&
      gone.some(({ counter }) => entry.counter < counter),
  );
  return kept === undefined ? undefined : `${nameOfDot(kept)} is older, and stays`;
}
