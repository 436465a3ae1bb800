/** What a setting of bucket properties changes, as pure functions. */
import { LockstepError } from '../base/errors.ts';
import type { BucketProperties, PropertySet, PropertyValue } from './properties.ts';
import { propertyTable } from './properties.ts';
import { propertyGroups } from './registers.ts';

/**
 * Completes `given` so that every property group is set whole. A missing property of a group keeps its value of
 * `before`, except that `allow_mult` and `last_write_wins` exclude each other.
 */
export function wholeGroups(before: BucketProperties, given: PropertySet): PropertySet {
  const set = new Map(completed(given));
  for (const group of propertyGroups) {
    if (!group.some((name) => set.has(name))) continue;
    for (const name of group) if (!set.has(name)) set.set(name, valueOf(before, name));
  }
  return set;
}

/** Turns `allow_mult` off if `last_write_wins` is set, and the reverse. Throws `BadRequest` if both are true. */
export function completed(given: PropertySet): PropertySet {
  const [siblings, newest] = [given.get('allow_mult'), given.get('last_write_wins')];
  if (siblings === true && newest === true) {
    const detail = 'allow_mult and last_write_wins are both true; allowed: at most one of them';
    throw new LockstepError('BadRequest', detail);
  }
  const set = new Map(given);
  if (siblings === true) set.set('last_write_wins', false);
  if (newest === true) set.set('allow_mult', false);
  return set;
}

function valueOf(properties: BucketProperties, name: string): PropertyValue {
  const field = propertyTable.get(name)?.field;
  return field === undefined ? false : properties[field];
}

/** Whether keys of a bucket with the properties `after` live elsewhere than with `before`. */
export function routesOtherwise(before: BucketProperties, after: BucketProperties): boolean {
  if (before.chashKeyfun !== after.chashKeyfun) return true;
  return after.chashKeyfun === 'CUSTOM' && before.wasmKeyfun !== after.wasmKeyfun;
}
