/**
 * The full name of an object: bucket type, bucket and key, and its packed form.
 *
 * Packed form, the key of every map and every stored record (lengths are big-endian):
 *
 *     u8 type length | type | u16 bucket length | bucket | key
 *
 * The form is injective, groups a bucket's keys under one prefix, and is itself a byte string.
 */
import { LockstepError } from './errors.ts';
import type { ByteString } from './ids.ts';
import { byteStringOf } from './ids.ts';

export type PackedKey = ByteString & { readonly packed: true };

export interface ObjectKey {
  readonly type: ByteString;
  readonly bucket: ByteString;
  readonly key: ByteString;
  readonly packed: PackedKey;
}

export const defaultType = byteStringOf('default');
export const typeBytesMax = 255;
export const bucketBytesMax = 4096;
export const keyBytesMax = 32768;

/** The object's full name. Throws `BadRequest` when a part is empty, `TooLarge` when it exceeds its limit. */
export function objectKey(type: ByteString, bucket: ByteString, key: ByteString): ObjectKey {
  checkLength('bucket type', type, typeBytesMax);
  checkLength('bucket', bucket, bucketBytesMax);
  checkLength('key', key, keyBytesMax);
  return { type, bucket, key, packed: (bucketPrefix(type, bucket) + key) as PackedKey };
}

/** What the packed forms of all keys of a bucket begin with. */
export function bucketPrefix(type: ByteString, bucket: ByteString): string {
  return (
    String.fromCharCode(type.length) +
    type +
    String.fromCharCode(bucket.length >>> 8, bucket.length & 0xff) +
    bucket
  );
}

/**
 * The key of a record of the engine's own that lies among the objects (so that one batch can hold both): its bucket
 * type is empty, which no client can name and `unpackKey` refuses. Whoever walks all keys leaves these out.
 */
export function systemKey(bucket: ByteString, name: ByteString): PackedKey {
  return (bucketPrefix('' as ByteString, bucket) + name) as PackedKey;
}

export function isSystemKey(key: PackedKey): boolean {
  return key.charCodeAt(0) === 0;
}

/** The same of a packed form that lies in bytes. */
export function isSystemAt(bytes: Uint8Array, at: number): boolean {
  return bytes[at] === 0;
}

/** The name behind a packed form that `objectKey` made; undefined when the bytes are no packed form. */
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

/** `type/bucket/key`, for logs: what is not plain is percent-encoded, so two keys never read the same. */
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
