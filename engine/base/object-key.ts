/**
 * The full name of an object (bucket type, bucket, key) and its packed form.
 *
 * The packed form is the key of every map and of every stored record (lengths are big-endian):
 *
 *     u8 type length | type | u16 bucket length | bucket | key
 *
 * The form is injective, groups a bucket's keys under one prefix, and is itself a byte string.
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

/** Builds an object's full name. Throws `BadRequest` if a part is empty, `TooLarge` if it exceeds its limit. */
export function objectKey(type: ByteString, bucket: ByteString, key: ByteString): ObjectKey {
  checkLength('bucket type', type, typeBytesMax);
  checkLength('bucket', bucket, bucketBytesMax);
  checkLength('key', key, keyBytesMax);
  return { type, bucket, key, packed: (bucketPrefix(type, bucket) + key) as PackedKey };
}

/** The common prefix of the packed keys of a bucket. */
export function bucketPrefix(type: ByteString, bucket: ByteString): string {
  return (
    String.fromCharCode(type.length) +
    type +
    String.fromCharCode(bucket.length >>> 8, bucket.length & 0xff) +
    bucket
  );
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

/** The name in a packed key; undefined if it is no packed form of an object (a system key is none). */
export function unpackKey(packed: PackedKey): ObjectKey | undefined {
  const typeLength = packed.charCodeAt(0);
  const bucketAt = 1 + typeLength + 2;
  if (!(packed.length > bucketAt) || typeLength === 0) return undefined;
  const bucketLength = (packed.charCodeAt(bucketAt - 2) << 8) | packed.charCodeAt(bucketAt - 1);
  const keyAt = bucketAt + bucketLength;
  if (bucketLength === 0 || bucketLength > bucketBytesMax) return undefined;
  if (packed.length <= keyAt || packed.length - keyAt > keyBytesMax) return undefined;
  return {
    type: packed.slice(1, 1 + typeLength) as ByteString,
    bucket: packed.slice(bucketAt, keyAt) as ByteString,
    key: packed.slice(keyAt) as ByteString,
    packed,
  };
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
