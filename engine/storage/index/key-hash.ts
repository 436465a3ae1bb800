/**
 * The hash of stored keys: FNV-1a over the bytes with a seed, finalized as in MurmurHash3 (both public domain). It
 * places keys in the key directory. Its exclusive-or over a record group lets recovery name the one key whose record
 * head has rotted. Changing it changes the storage format.
 *
 * A hash is a signed 32-bit integer: the runtime boxes unsigned ones above 2^31.
 */

/** Writes a key's bytes at `from` and returns its hash: one walk instead of two, and no call out of JavaScript. */
export function putKey(key: string, into: Uint8Array, from: number, seed: number): number {
  const { length } = key;
  let hash = seed ^ length;
  for (let index = 0; index < length; index++) {
    const byte = key.charCodeAt(index) & 0xff;
    into[from + index] = byte;
    hash = Math.imul(hash ^ byte, 0x01000193);
  }
  return finish(hash);
}

/** The hash of `length` bytes at `from`. */
export function hashKey(bytes: Uint8Array, from: number, length: number, seed: number): number {
  let hash = seed ^ length;
  const end = from + length;
  for (let at = from; at < end; at++) hash = Math.imul(hash ^ (bytes[at] ?? 0), 0x01000193);
  return finish(hash);
}

/** Copies the `length` bytes of a key at `from` to the front of `into` and returns its hash, in one walk. */
export function copyKey(
  bytes: Uint8Array,
  from: number,
  length: number,
  into: Uint8Array,
  seed: number,
): number {
  let hash = seed ^ length;
  for (let index = 0; index < length; index++) {
    const byte = bytes[from + index] ?? 0;
    into[index] = byte;
    hash = Math.imul(hash ^ byte, 0x01000193);
  }
  return finish(hash);
}

function finish(unfinished: number): number {
  let hash = unfinished;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return hash ^ (hash >>> 16);
}

/** A growing list of hashes. */
export class HashList {
  #values = new Int32Array(64);
  #count = 0;

  push(hash: number): void {
    if (this.#count === this.#values.length) {
      const grown = new Int32Array(this.#count * 2);
      grown.set(this.#values);
      this.#values = grown;
    }
    this.#values[this.#count++] = hash;
  }

  at(index: number): number {
    return this.#values[index] ?? 0;
  }

  clear(): void {
    this.#count = 0;
  }
}
