/**
 * Hashes one key for the tree: the first 64 bits of SHA-256 over the key and the stored bytes. Those bytes are
 * canonical (`encodeObject`): they hold the causal context and every sibling with its content and tombstone flag.
 * Replicas therefore have the same hash exactly if they hold the same object. The key's length comes first, so that no
 * two pairs of key and value have the same input.
 */
import { createHash, hash } from 'node:crypto';
import type { PackedKey } from '../base/object-key.ts';
import type { RangeHash } from './tree.ts';

/** Inputs up to this size are copied together and hashed in one call, which is twice as fast. */
const scratchBytes = 16 * 1024;

/** Hashes keys with a reused buffer. */
export class EntryHasher {
  readonly #scratch = Buffer.allocUnsafeSlow(scratchBytes);

  /** The hash of a key and its stored bytes. */
  hash(key: PackedKey, value: Uint8Array): RangeHash {
    const digest = this.#digest(key, value);
    return { high: digest.readUInt32BE(0), low: digest.readUInt32BE(4) };
  }

  /** The same for a key with its value right behind it: the bytes from `keyAt` to `end`. */
  hashLying(bytes: Buffer, keyAt: number, keyBytes: number, end: number): RangeHash {
    const length = 4 + end - keyAt;
    const scratch = length <= scratchBytes ? this.#scratch : Buffer.allocUnsafe(length);
    scratch.writeUInt32BE(keyBytes, 0);
    bytes.copy(scratch, 4, keyAt, end);
    const digest = hash('sha256', scratch.subarray(0, length), 'buffer');
    return { high: digest.readUInt32BE(0), low: digest.readUInt32BE(4) };
  }

  #digest(key: PackedKey, value: Uint8Array): Buffer {
    const bytes = 4 + key.length + value.length;
    if (bytes <= scratchBytes) {
      const scratch = this.#scratch;
      let at = scratch.writeUInt32BE(key.length, 0);
      at += scratch.write(key, at, 'latin1');
      scratch.set(value, at);
      return hash('sha256', scratch.subarray(0, bytes), 'buffer');
    }
    const head = Buffer.allocUnsafe(4 + key.length);
    head.write(key, head.writeUInt32BE(key.length, 0), 'latin1');
    return createHash('sha256').update(head).update(value).digest();
  }
}
