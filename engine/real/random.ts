/**
 * The random port on a machine: draws of the operating system's generator, fetched a page at a time.
 *
 * The draws are independent of each other, so a fork only needs a page of its own. Equal names do not give equal
 * streams here; only the simulated world promises that.
 */
import { randomBytes, randomFillSync } from 'node:crypto';
import { assert } from '../base/assert.ts';
import type { Random } from '../io/random.ts';

const pageBytes = 1024;
const drawCount = 0x100000000;

/** A stream of the operating system's random numbers. */
export class RealRandom implements Random {
  readonly #page = Buffer.alloc(pageBytes);
  #at = pageBytes;

  u32(): number {
    if (this.#at === pageBytes) {
      randomFillSync(this.#page);
      this.#at = 0;
    }
    const draw = this.#page.readUInt32LE(this.#at);
    this.#at += 4;
    return draw;
  }

  below(bound: number): number {
    assert(Number.isInteger(bound) && bound >= 1 && bound <= drawCount, 'a bound is 1..2^32');
    // Draws at or above the last whole multiple of the bound are repeated, so that every result is equally likely.
    const fairCount = drawCount - (drawCount % bound);
    let draw = this.u32();
    while (draw >= fairCount) draw = this.u32();
    return draw % bound;
  }

  chance(numerator: number, denominator: number): boolean {
    return this.below(denominator) < numerator;
  }

  bytes(count: number): Buffer {
    return randomBytes(count);
  }

  fork(_name: string): Random {
    return new RealRandom();
  }
}
