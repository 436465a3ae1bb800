/**
 * The hash of stored keys: FNV-1a over the bytes with a seed, finished as MurmurHash3 finishes (both public domain).
 * It places keys in the key directory, and its exclusive-or over a record group lets recovery name the one key whose
 * record head has rotted. Changing it changes the format.
 */

/** Writes a key of bytes at `from` and answers its hash: one walk instead of two, and no call out of JavaScript. */
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

/** An unsigned 32-bit hash of `length` bytes at `from`. */
export function hashKey(bytes: Uint8Array, from: number, length: number, seed: number): number {
  let hash = seed ^ length;
  const end = from + length;
  for (let at = from; at < end; at++) hash = Math.imul(hash ^ (bytes[at] ?? 0), 0x01000193);
  return finish(hash);
}

function finish(unfinished: number): number {
  let hash = unfinished;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
