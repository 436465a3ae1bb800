/**
 * When a value expires: an instant in its user metadata, so every replica and every protocol has it, and anti-entropy
 * carries it like the rest. A value is gone from its instant on, by the clock of whoever looks.
 */
import type { ByteString } from '../../base/ids.ts';
import { byteStringOf } from '../../base/ids.ts';
import type { Content } from './content.ts';
import { isNewerDot } from './dots.ts';
import type { Sibling, StoredObject } from './object.ts';

/** Name of the metadata entry: milliseconds since the epoch, in decimal digits. */
export const expiryName: ByteString = byteStringOf('lockstep-expires-at');

const instantForm = /^[0-9]{1,15}$/;

/** Milliseconds since the epoch; 0: never. */
export function expiryOf({ meta }: Content): number {
  if (meta.length === 0) return 0;
  const text = meta.find(([name]) => name === expiryName)?.[1];
  return text !== undefined && instantForm.test(text) ? Number(text) : 0;
}

/** Other entries stay as they are. */
export function metaWithExpiry({ meta }: Content, expiresAtMs: number): Content['meta'] {
  const others = meta.length === 0 ? meta : meta.filter(([name]) => name !== expiryName);
  return expiresAtMs === 0 ? others : [...others, [expiryName, byteStringOf(String(expiresAtMs))]];
}

/** Of siblings, the value with the newest dot: the same one wherever the same writes are known. */
export function newestValue({ siblings }: StoredObject): Sibling | undefined {
  let newest: Sibling | undefined;
  for (const sibling of siblings) {
    if (sibling.tombstone) continue;
    if (newest === undefined || isNewerDot(sibling.dot, newest.dot)) newest = sibling;
  }
  return newest;
}

/** The newest value has an end. */
export function mayExpire(object: StoredObject): boolean {
  const newest = newestValue(object);
  return newest !== undefined && expiryOf(newest) !== 0;
}

/** The newest value has expired at that instant. */
export function isExpired(object: StoredObject, nowMs: number): boolean {
  const newest = newestValue(object);
  const expiresAtMs = newest === undefined ? 0 : expiryOf(newest);
  return expiresAtMs !== 0 && expiresAtMs <= nowMs;
}
