/**
 * When a value expires. The instant is an item of the value's user metadata, so every replica and every protocol has
 * it, and anti-entropy carries it like the rest. A value is absent from that instant on, by the wall clock of the node
 * that reads it.
 */
import type { ByteString } from '../../base/ids.ts';
import { byteStringOf } from '../../base/ids.ts';
import type { Content } from './content.ts';
import type { Sibling, StoredObject } from './object.ts';
import { isNewer } from './object.ts';

/** Name of the metadata item: milliseconds since the epoch, in decimal digits. */
export const expiryName: ByteString = byteStringOf('lockstep-expires-at');

const instantForm = /^[0-9]{1,15}$/;

/** When the content expires, in milliseconds since the epoch; 0: never. */
export function expiryOf({ meta }: Content): number {
  if (meta.length === 0) return 0;
  const text = meta.find(([name]) => name === expiryName)?.[1];
  return text !== undefined && instantForm.test(text) ? Number(text) : 0;
}

/** The metadata with this expiry (0: without one). Other items stay as they are. */
export function metaWithExpiry({ meta }: Content, expiresAtMs: number): Content['meta'] {
  const others = meta.length === 0 ? meta : meta.filter(([name]) => name !== expiryName);
  return expiresAtMs === 0 ? others : [...others, [expiryName, byteStringOf(String(expiresAtMs))]];
}

/**
 * The newest value among the siblings (`isNewer`): the same one on every replica that knows the same writes. Undefined
 * without a value.
 */
export function newestValue({ siblings }: StoredObject): Sibling | undefined {
  let newest: Sibling | undefined;
  for (const sibling of siblings) {
    if (sibling.tombstone) continue;
    if (newest === undefined || isNewer(sibling, newest)) newest = sibling;
  }
  return newest;
}

/** Whether the newest value has an expiry. */
export function mayExpire(object: StoredObject): boolean {
  const newest = newestValue(object);
  return newest !== undefined && expiryOf(newest) !== 0;
}

/** Whether the newest value has expired at `nowMs`, milliseconds since the epoch. */
export function isExpired(object: StoredObject, nowMs: number): boolean {
  const newest = newestValue(object);
  const expiresAtMs = newest === undefined ? 0 : expiryOf(newest);
  return expiresAtMs !== 0 && expiresAtMs <= nowMs;
}
