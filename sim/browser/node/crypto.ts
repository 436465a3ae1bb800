/**
 * The part of `node:crypto` that the engine and the simulator use, over @noble/hashes, for a browser. Web Crypto would
 * not do: it hashes asynchronously, and a run hashes within its events.
 */
import { hmac } from '@noble/hashes/hmac.js';
import { sha1 } from '@noble/hashes/legacy.js';
import { sha256 } from '@noble/hashes/sha2.js';

const algorithms = { sha1, sha256 } as const;

/** The algorithms that the engine hashes with. */
type Algorithm = keyof typeof algorithms;
type Data = string | Uint8Array;

function bytesOf(data: Data): Uint8Array {
  return typeof data === 'string' ? Buffer.from(data, 'utf8') : data;
}

function encoded(digest: Uint8Array, encoding: string | undefined): Buffer | string {
  const bytes = Buffer.from(digest.buffer, digest.byteOffset, digest.length);
  return encoding === undefined || encoding === 'buffer' ? bytes : bytes.toString(encoding as 'hex');
}

/** A hash or a keyed hash under construction. */
class Hashing {
  readonly #state: ReturnType<typeof sha256.create>;

  constructor(state: ReturnType<typeof sha256.create>) {
    this.#state = state;
  }

  update(data: Data): this {
    this.#state.update(bytesOf(data));
    return this;
  }

  copy(): Hashing {
    return new Hashing(this.#state.clone());
  }

  digest(encoding?: string): Buffer | string {
    return encoded(this.#state.digest(), encoding);
  }
}

/** A hash that takes its input in pieces. */
export function createHash(algorithm: Algorithm): Hashing {
  return new Hashing(algorithms[algorithm].create() as ReturnType<typeof sha256.create>);
}

/** A keyed hash that takes its input in pieces. */
export function createHmac(algorithm: Algorithm, key: Data): Hashing {
  const state: unknown = hmac.create(algorithms[algorithm], bytesOf(key));
  return new Hashing(state as ReturnType<typeof sha256.create>);
}

/** The hash of `data`, by default in hexadecimal digits. */
export function hash(algorithm: Algorithm, data: Data, encoding = 'hex'): Buffer | string {
  return encoded(algorithms[algorithm](bytesOf(data)), encoding);
}

/** Whether two runs of bytes of equal length are equal. */
export function timingSafeEqual(left: Uint8Array, right: Uint8Array): boolean {
  if (left.length !== right.length) throw new RangeError('Input buffers must have the same byte length');
  let difference = 0;
  for (const [at, byte] of left.entries()) difference |= byte ^ (right[at] ?? 0);
  return difference === 0;
}
