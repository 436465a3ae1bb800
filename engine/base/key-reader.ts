/**
 * Full names of objects straight from the bytes of messages. Names that come one after the other are mostly of one
 * bucket, so the last one's is remembered; and the packed form is made in one piece. (A string put together of parts is
 * joined when its characters are first asked for, outside of JavaScript, and each look at it is slower ever after; a
 * packed form is looked up and written a dozen times on its key's way to the disk.)
 */
import type { ByteString } from './ids.ts';
import { byteStringFrom } from './ids.ts';
import type { ObjectKey, PackedKey } from './object-key.ts';
import { bucketPrefix, objectKey } from './object-key.ts';

/** Longer ones are put together of their parts. */
const prefixBytesMax = 256;
const keyBytesMax = 256;

export class KeyReader {
  /** What the keys of the last bucket begin with, then the key that is being read. */
  readonly #scratch = Buffer.alloc(prefixBytesMax + keyBytesMax);
  #prefixBytes = 0;
  /** The last bucket. */
  #type = '' as ByteString;
  #bucket = '' as ByteString;
  #bucketBytes: Uint8Array = new Uint8Array(0);

  /** The name of these parts, which are copied. Throws what `objectKey` throws. */
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

  /** The bucket is the last one, now or already; false: its name is not usual. */
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
