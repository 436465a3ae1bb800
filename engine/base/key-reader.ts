/**
 * Builds the full names of objects from the bytes of messages.
 *
 * Consecutive names mostly share a bucket, so the reader caches the last bucket's prefix. It makes the packed form in
 * one piece: V8 joins a concatenated string on its first access, outside of JavaScript, and every later access to it is
 * slower. A packed key is looked up and written about a dozen times on its way to the disk.
 */
import type { ByteString } from './ids.ts';
import { byteStringFrom } from './ids.ts';
import type { ObjectKey, PackedKey } from './object-key.ts';
import { bucketPrefix, objectKey } from './object-key.ts';

/** Longer names take the slow path, which concatenates the parts. */
const prefixBytesMax = 256;
const keyBytesMax = 256;

/** One reader per stream of messages; not shared between streams, or the cache is of no use. */
export class KeyReader {
  /** The cached bucket's prefix, followed by the key being read. */
  readonly #scratch = Buffer.alloc(prefixBytesMax + keyBytesMax);
  #prefixBytes = 0;
  /** The cached bucket. */
  #type = '' as ByteString;
  #bucket = '' as ByteString;
  #bucketBytes: Uint8Array = new Uint8Array(0);

  /** The full name with these parts, which are copied. Throws `BadRequest` and `TooLarge` as `objectKey` does. */
  read(type: ByteString, bucketBytes: Uint8Array, keyBytes: Uint8Array): ObjectKey {
    const { length } = keyBytes;
    const isUsual = length > 0 && length <= keyBytesMax && this.#knows(type, bucketBytes);
    if (!isUsual) return objectKey(type, byteStringFrom(bucketBytes), byteStringFrom(keyBytes));
    const scratch = this.#scratch;
    const keyAt = this.#prefixBytes;
    for (let at = 0; at < length; at++) scratch[keyAt + at] = keyBytes[at] ?? 0;
    const packed = scratch.toString('latin1', 0, keyAt + length) as PackedKey;
    return { type, bucket: this.#bucket, key: packed.slice(keyAt) as ByteString, packed };
  }

  /** Makes this bucket the cached one unless it already is. False if its name is empty or too long for the cache. */
  #knows(type: ByteString, bytes: Uint8Array): boolean {
    if (this.#type === type && areSame(this.#bucketBytes, bytes)) return true;
    if (bytes.length === 0 || type.length === 0 || 3 + type.length + bytes.length > prefixBytesMax)
      return false;
    this.#type = type;
    this.#bucket = byteStringFrom(bytes);
    this.#bucketBytes = Uint8Array.from(bytes);
    this.#prefixBytes = this.#scratch.write(bucketPrefix(type, this.#bucket), 'latin1');
    return true;
  }
}

function areSame(left: Uint8Array, right: Uint8Array): boolean {
  const { length } = left;
  if (length !== right.length) return false;
  for (let at = 0; at < length; at++) if (left[at] !== right[at]) return false;
  return true;
}
