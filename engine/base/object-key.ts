/**
 * The full name of an object (bucket type, bucket, key) and its packed form.
 *
 * The packed form is the key of every map and of every stored record (lengths are big-endian):
 *
 *     u8 type length | type | u16 bucket length | bucket | key
 *     u8 type length | type | u16 bucket length + 0x8000 | bucket | u64 epoch | key
 *
 * The form is injective, groups a bucket's keys of one epoch under one prefix, and is itself a byte string. The second
 * form is that of a bucket which was flushed (`buckets/epochs.ts`): the objects of a former epoch are other keys. A bucket
 * that was never flushed is in epoch 0 and has the first form.
 */
import { LockstepError } from './errors.ts';
import type { ByteString } from './ids.ts';
import { byteStringOf } from './ids.ts';

/** A full name in packed form; made by `objectKey` and `systemKey`. */
export type PackedKey = ByteString & { readonly packed: true };

/** A client-visible object's full name: its three parts, none empty, and their packed form. */
export interface ObjectKey {
  readonly type: ByteString;
  readonly bucket: ByteString;
  readonly key: ByteString;
  readonly packed: PackedKey;
}

/** The bucket type of requests that name none. */
export const defaultType = byteStringOf('default');
/** Most bytes of a bucket type: its length is one byte in the packed form. */
export const typeBytesMax = 255;
/** Most bytes of a bucket's name. */
export const bucketBytesMax = 4096;
/** Most bytes of a key. */
export const keyBytesMax = 32768;
/** Set in the length of the bucket's name if an epoch follows the name. */
const epochFlag = 0x80;
const epochBytes = 8;
const wordUnit = 2 ** 32;

/** Builds an object's full name. Throws `BadRequest` if a part is empty, `TooLarge` if it exceeds its limit. */
export function objectKey(type: ByteString, bucket: ByteString, key: ByteString): ObjectKey {
  checkLength('bucket type', type, typeBytesMax);
  checkLength('bucket', bucket, bucketBytesMax);
  checkLength('key', key, keyBytesMax);
  return { type, bucket, key, packed: (bucketPrefix(type, bucket) + key) as PackedKey };
}

/** The common prefix of the packed keys of a bucket in one epoch. */
export function bucketPrefix(type: ByteString, bucket: ByteString, epoch = 0): string {
  const flag = epoch === 0 ? 0 : epochFlag;
  return (
    String.fromCharCode(type.length) +
    type +
    String.fromCharCode((bucket.length >>> 8) | flag, bucket.length & 0xff) +
    bucket +
    (epoch === 0 ? '' : wordOf(Math.floor(epoch / wordUnit)) + wordOf(epoch % wordUnit))
  );
}

/** Whether a packed key names an epoch; the engine's own records never do. */
export function hasEpoch(packed: PackedKey): boolean {
  return (packed.charCodeAt(1 + packed.charCodeAt(0)) & epochFlag) !== 0;
}

/** As the high byte of a bucket's length in a packed key: whether it marks an epoch. */
export function isEpochByte(lengthHigh: number): boolean {
  return (lengthHigh & epochFlag) !== 0;
}

/** The bytes of a packed key from its beginning to its bucket's name, the epoch included; `length`: the two bytes. */
export function prefixBytesOf(typeBytes: number, lengthHigh: number, lengthLow: number): number {
  const bucketBytes = ((lengthHigh & ~epochFlag) << 8) | lengthLow;
  return 3 + typeBytes + bucketBytes + (isEpochByte(lengthHigh) ? epochBytes : 0);
}

/** The epoch that a packed key names; 0 for none. The key must unpack. */
export function epochOf(packed: PackedKey): number {
  if (!hasEpoch(packed)) return 0;
  const at = prefixEndOf(packed) - epochBytes;
  return wordAt(packed, at) * wordUnit + wordAt(packed, at + 4);
}

/** What the packed keys of the same bucket begin with in epoch 0, which names the bucket. The key must unpack. */
export function bucketOfPacked(packed: PackedKey): string {
  const end = prefixEndOf(packed);
  if (!hasEpoch(packed)) return packed.slice(0, end);
  const lengthAt = 1 + packed.charCodeAt(0);
  const high = packed.charCodeAt(lengthAt) & ~epochFlag;
  return packed.slice(0, lengthAt) + String.fromCharCode(high) + packed.slice(lengthAt + 1, end - epochBytes);
}

/** The same object's packed key without its epoch, as a client names it. The key must unpack. */
export function withoutEpoch(packed: PackedKey): PackedKey {
  return hasEpoch(packed)
    ? ((bucketOfPacked(packed) + packed.slice(prefixEndOf(packed))) as PackedKey)
    : packed;
}

/** The object's name as clients state it, in epoch 0, from a packed key of any epoch; undefined as for `unpackKey`. */
export function clientNameOf(packed: PackedKey): ObjectKey | undefined {
  const name = unpackKey(packed);
  return name === undefined || !hasEpoch(packed) ? name : { ...name, packed: withoutEpoch(packed) };
}

/** The same name with the packed key of another prefix of its bucket (`bucketPrefix`). */
export function underPrefix({ type, bucket, key }: ObjectKey, prefix: string): ObjectKey {
  // One flat string: see base/key-reader.ts.
  const packed = Buffer.from(prefix + key, 'latin1').toString('latin1') as PackedKey;
  return { type, bucket, key, packed };
}

function prefixEndOf(packed: PackedKey): number {
  const typeBytes = packed.charCodeAt(0);
  return prefixBytesOf(typeBytes, packed.charCodeAt(1 + typeBytes), packed.charCodeAt(2 + typeBytes));
}

function wordOf(word: number): string {
  return String.fromCharCode(word >>> 24, (word >>> 16) & 0xff, (word >>> 8) & 0xff, word & 0xff);
}

function wordAt(packed: PackedKey, at: number): number {
  const high = (packed.charCodeAt(at) << 8) | packed.charCodeAt(at + 1);
  return high * 0x10000 + ((packed.charCodeAt(at + 2) << 8) | packed.charCodeAt(at + 3));
}

/**
 * The key of one of the engine's own records, stored among the objects so that one batch can hold both. Its bucket type
 * is empty: no client can name it, `unpackKey` refuses it, and code that iterates over all objects must skip it.
 */
export function systemKey(bucket: ByteString, name: ByteString): PackedKey {
  return (bucketPrefix('' as ByteString, bucket) + name) as PackedKey;
}

/** Whether a packed key belongs to one of the engine's own records. */
export function isSystemKey(key: PackedKey): boolean {
  return key.charCodeAt(0) === 0;
}

/** Whether a packed key that begins with this byte is a record of the engine's own. */
export function isSystemByte(first: number): boolean {
  return first === 0;
}

/** As `isSystemKey`, for a packed key that begins at byte offset `at`. */
export function isSystemAt(bytes: Uint8Array, at: number): boolean {
  return isSystemByte(bytes[at] ?? 1);
}

/** The name in a packed key, whatever its epoch; undefined if it is no packed form of an object (a system key is none). */
export function unpackKey(packed: PackedKey): ObjectKey | undefined {
  const typeLength = packed.charCodeAt(0);
  const bucketAt = 1 + typeLength + 2;
  if (!(packed.length > bucketAt) || typeLength === 0) return undefined;
  const lengthHigh = packed.charCodeAt(bucketAt - 2);
  const bucketEnd = bucketAt + (((lengthHigh & ~epochFlag) << 8) | packed.charCodeAt(bucketAt - 1));
  const keyAt = bucketEnd + (isEpochByte(lengthHigh) ? epochBytes : 0);
  if (bucketEnd === bucketAt || bucketEnd - bucketAt > bucketBytesMax) return undefined;
  if (packed.length <= keyAt || packed.length - keyAt > keyBytesMax) return undefined;
  if (keyAt > bucketEnd && !isEpoch(packed, bucketEnd)) return undefined;
  return {
    type: packed.slice(1, 1 + typeLength) as ByteString,
    bucket: packed.slice(bucketAt, bucketEnd) as ByteString,
    key: packed.slice(keyAt) as ByteString,
    packed,
  };
}

/** Whether an epoch is at `at`: a whole number from 1 to 2^53 - 1. */
function isEpoch(packed: PackedKey, at: number): boolean {
  const [high, low] = [wordAt(packed, at), wordAt(packed, at + 4)];
  return high < 0x200000 && high + low > 0;
}

/** `type/bucket/key` for logs, with special characters percent-encoded, so that different keys never read alike. */
export function nameOfKey(packed: PackedKey): string {
  const name = unpackKey(packed);
  if (name === undefined) return `(${Buffer.from(packed, 'latin1').toString('hex')})`;
  return [name.type, name.bucket, name.key].map(plainly).join('/');
}

function plainly(part: ByteString): string {
  return part.replace(/[^A-Za-z0-9_.~-]/g, (char) => {
    return `%${char.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`;
  });
}

function checkLength(what: string, value: ByteString, bytesMax: number): void {
  if (value.length === 0) throw new LockstepError('BadRequest', `the ${what} must not be empty`);
  if (value.length > bytesMax) {
    throw new LockstepError(
      'TooLarge',
      `the ${what} has ${value.length} bytes; at most ${bytesMax} are allowed`,
    );
  }
}
