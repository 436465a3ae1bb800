/** Texts that stand for dots and contents in the maps of observers. */
import { hash } from 'node:crypto';

import { textOf } from '../../engine/base/ids.ts';
import type { PackedKey } from '../../engine/base/object-key.ts';
import type { Dot, VersionVector } from '../../engine/replica/object/dots.ts';
import { covers, instantMsOf } from '../../engine/replica/object/dots.ts';
import type { StoredObject } from '../../engine/replica/object/object.ts';

/** Contents longer than this many bytes are represented by their hashes. */
const contentBytesMax = 1024;

/** The dot for people: its actor and counter. */
export function nameOfDot({ actor, counter }: Dot): string {
  return `${textOf(actor)}:${counter}`;
}

/** A map key for the dot. Two keys may share a dot only where a key's counter was ahead of the clock. */
export function placeOfDot(
  key: PackedKey,
  { dot, lastModifiedMs }: StoredObject['siblings'][number],
): string {
  const name = `${dot.actor}:${dot.counter}`;
  return instantMsOf(dot) <= lastModifiedMs ? name : `${name} ${key}`;
}

/** Whether two dots name the same version. */
export function sameDot(one: Dot, other: Dot): boolean {
  return one.counter === other.counter && one.actor === other.actor;
}

/**
 * A text that differs where the bytes differ. Short contents stand for themselves: hashing them costs ten times as
 * much.
 */
export function tellingOf(bytes: Buffer): string {
  return bytes.length > contentBytesMax ? `#${hash('sha256', bytes)}` : bytes.toString('latin1');
}

/** The host's own write, under an actor that the old object's context does not contain. */
export function isUnderNewName(host: string, old: StoredObject, now: StoredObject): boolean {
  return now.siblings.some(({ dot: { actor } }) => {
    return textOf(actor).startsWith(`${host}.`) && old.context.every((known) => known.actor !== actor);
  });
}

/** Whether the context knows all versions of the object. */
export function isCovered({ siblings }: StoredObject, context: VersionVector | undefined): boolean {
  return context !== undefined && siblings.every(({ dot }) => covers(context, dot));
}
