/**
 * An object as Redis sees it: one value and when it expires. The instant lies in the object's user metadata, so every
 * replica and every protocol has it, and anti-entropy carries it like the rest.
 *
 * Of siblings, the value with the newest dot counts: the same one at every node that knows the same writes. An entry
 * is absent from its instant on, by the clock of the node that is asked; the reaper deletes it later.
 */
import type { ByteString } from '../../base/ids.ts';
import { byteStringOf } from '../../base/ids.ts';
import type { Content } from '../../object/content.ts';
import { plainContent } from '../../object/content.ts';
import { isNewerDot } from '../../object/dots.ts';
import type { Sibling, StoredObject } from '../../object/object.ts';

/** Name of the metadata entry: milliseconds since the epoch, in decimal digits. */
export const expiryName: ByteString = byteStringOf('lockstep-expires-at');

export interface Entry {
  readonly value: Uint8Array;
  /** Milliseconds since the epoch; 0: never. */
  readonly expiresAtMs: number;
  /** What else describes the value; undefined for one that a Redis command wrote anew. */
  readonly like: Content | undefined;
}

const fresh = plainContent(new Uint8Array(0), 'application/octet-stream');
const instantForm = /^[0-9]{1,15}$/;

/** The entry of an object at an instant; undefined when there is nothing, or no more. */
export function entryOf(object: StoredObject | undefined, nowMs: number): Entry | undefined {
  const sibling = object === undefined ? undefined : newestValue(object);
  if (sibling === undefined) return undefined;
  const expiresAtMs = sibling.meta.length === 0 ? 0 : expiryOf(sibling);
  if (expiresAtMs !== 0 && expiresAtMs <= nowMs) return undefined;
  return { value: sibling.value, expiresAtMs, like: sibling };
}

/** When the object's value expires; 0: never, or there is no value. */
export function objectExpiry(object: StoredObject): number {
  const sibling = newestValue(object);
  return sibling === undefined ? 0 : expiryOf(sibling);
}

/** What is to be stored for an entry. */
export function contentOf({ value, expiresAtMs, like }: Entry): Content {
  const base = like ?? fresh;
  const others = base.meta.length === 0 ? base.meta : base.meta.filter(([name]) => name !== expiryName);
  return {
    value,
    contentType: base.contentType,
    charset: base.charset,
    contentEncoding: base.contentEncoding,
    meta: expiresAtMs === 0 ? others : [...others, [expiryName, byteStringOf(String(expiresAtMs))]],
    links: base.links,
    tombstone: false,
  };
}

function expiryOf(content: Content): number {
  const text = content.meta.find(([name]) => name === expiryName)?.[1];
  return text !== undefined && instantForm.test(text) ? Number(text) : 0;
}

function newestValue({ siblings }: StoredObject): Sibling | undefined {
  let newest: Sibling | undefined;
  for (const sibling of siblings) {
    if (sibling.tombstone) continue;
    if (newest === undefined || isNewerDot(sibling.dot, newest.dot)) newest = sibling;
  }
  return newest;
}
