/** Makes an object of a backup newer than what the cluster holds, for an operator who wants the old values back. */
import type { Actor, VersionVector } from '../replica/object/dots.ts';
import { highestCounter, mergeVectors, nextCounter, withDot } from '../replica/object/dots.ts';
import type { Sibling, StoredObject } from '../replica/object/object.ts';

/**
 * The object with the siblings of `restored` under new dots, which replace everything that `current` holds. The actor
 * must be new to the key; the siblings keep their dates.
 */
export function overwriting(
  current: StoredObject | undefined,
  restored: StoredObject,
  actor: Actor,
  nowMs: number,
): StoredObject {
  let context: VersionVector = mergeVectors(current?.context ?? [], restored.context);
  const siblings: Sibling[] = [];
  for (const sibling of restored.siblings) {
    const dot = { actor, counter: nextCounter(highestCounter(context), nowMs) };
    context = withDot(context, dot);
    siblings.push({ ...sibling, dot, basis: 0 });
  }
  return { context, siblings };
}
