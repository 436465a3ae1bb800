/**
 * The random port of the world: seedrandom's alea, one generator per named stream. A stream's name is its path from the
 * run's seed (`7/n2/3/disk`), and its generator is seeded from that name alone. A new draw in one stream changes
 * nothing in another, and a stream that is never drawn from costs nothing.
 *
 * This is the only file that creates pseudo-random streams.
 */
import alea from 'seedrandom/lib/alea.js';
import { assert } from '../../../engine/base/assert.ts';
import type { Random } from '../../../engine/io/random.ts';

const wordCount = 0x100000000;

/** One named stream. */
export class WorldRandom implements Random {
  readonly #name: string;
  // Always a string: seedrandom takes the number 1 and the text '1' for different seeds.
  #generator: ReturnType<typeof alea> | undefined;

  private constructor(name: string) {
    this.#name = name;
  }

  /** The first stream of a run. */
  static root(seed: string | number): WorldRandom {
    return new WorldRandom(String(seed));
  }

  u32(): number {
    this.#generator ??= alea(this.#name);
    return this.#generator.int32() >>> 0;
  }

  below(bound: number): number {
    assert(Number.isInteger(bound) && bound >= 1 && bound <= wordCount, 'a bound is 1..2^32');
    if (bound === wordCount) return this.u32();
    // Words above the last whole multiple of the bound would favour small remainders, so they are drawn again. There
    // are fewer of them than the bound: a word before them needs no division of numbers beyond 32 bits.
    for (;;) {
      const word = this.u32();
      if (word < wordCount - bound || word < wordCount - (wordCount % bound)) return word % (bound >>> 0);
    }
  }

  chance(numerator: number, denominator: number): boolean {
    return this.below(denominator) < numerator;
  }

  bytes(count: number): Buffer {
    const bytes = Buffer.allocUnsafe(count);
    let at = 0;
    for (; at + 4 <= count; at += 4) bytes.writeUInt32LE(this.u32(), at);
    for (let word = this.u32(); at < count; at++, word >>>= 8) bytes[at] = word & 0xff;
    return bytes;
  }

  fork(name: string): WorldRandom {
    return new WorldRandom(`${this.#name}/${name}`);
  }
}

/** A whole number in least..most, both included. */
export function drawBetween(random: Random, [least, most]: readonly [number, number]): number {
  return least + random.below(most - least + 1);
}
