/**
 * YCSB's core workloads (Cooper and others, "Benchmarking Cloud Serving Systems with YCSB", 2010) without E, whose scans
 * not every contender has: which operation comes next, and on which key.
 */
import type { Random } from '../../../engine/io/random.ts';

/** One operation. A read-modify-write reads the key, then writes it. */
export interface YcsbOperation {
  readonly kind: 'read' | 'write' | 'readModifyWrite';
  readonly key: number;
}

/** A workload: shares in a hundred, and how keys are chosen. */
export interface YcsbWorkload {
  readonly name: 'A' | 'B' | 'C' | 'D' | 'F';
  readonly description: string;
  readonly reads: number;
  /** `update`: of existing keys; `insert`: of new ones; `readModifyWrite`. */
  readonly rest: 'update' | 'insert' | 'readModifyWrite';
}

/** The workloads in YCSB's order. */
export const ycsbWorkloads: readonly YcsbWorkload[] = [
  { name: 'A', description: '50 % reads, 50 % updates', reads: 50, rest: 'update' },
  { name: 'B', description: '95 % reads, 5 % updates', reads: 95, rest: 'update' },
  { name: 'C', description: 'reads only', reads: 100, rest: 'update' },
  { name: 'D', description: '95 % reads of the newest keys, 5 % inserts', reads: 95, rest: 'insert' },
  { name: 'F', description: '50 % reads, 50 % read-modify-writes', reads: 50, rest: 'readModifyWrite' },
];

const zipfianConstant = 0.99;
/** Spreads the most popular keys over the key space (a prime). */
const spread = 7919;

/** Zipfian ranks below `count` by Gray's method ("Quickly Generating Billion-Record Synthetic Databases", 1994). */
export class Zipfian {
  readonly #count: number;
  readonly #alpha: number;
  readonly #eta: number;
  readonly #zeta: number;
  readonly #random: Random;

  constructor(count: number, random: Random) {
    const theta = zipfianConstant;
    this.#count = count;
    this.#random = random;
    this.#zeta = zeta(count, theta);
    this.#alpha = 1 / (1 - theta);
    this.#eta = (1 - (2 / count) ** (1 - theta)) / (1 - zeta(2, theta) / this.#zeta);
  }

  /** The next rank: 0 is the most popular. */
  next(): number {
    const draw = this.#random.u32() / 2 ** 32;
    const scaled = draw * this.#zeta;
    if (scaled < 1) return 0;
    if (scaled < 1 + 0.5 ** zipfianConstant) return 1;
    return Math.min(
      this.#count - 1,
      Math.floor(this.#count * (this.#eta * draw - this.#eta + 1) ** this.#alpha),
    );
  }
}

function zeta(count: number, theta: number): number {
  let sum = 0;
  for (let rank = 1; rank <= count; rank++) sum += 1 / rank ** theta;
  return sum;
}

/** The operations of one measurement over `keys` existing keys. */
export class YcsbOperations {
  readonly #workload: YcsbWorkload;
  readonly #random: Random;
  readonly #ranks: Zipfian;
  readonly #keys: number;
  #inserted = 0;

  constructor(workload: YcsbWorkload, keys: number, random: Random) {
    this.#workload = workload;
    this.#keys = keys;
    this.#random = random;
    this.#ranks = new Zipfian(keys, random);
  }

  /** The next operation. */
  next(): YcsbOperation {
    const { reads, rest } = this.#workload;
    if (this.#random.below(100) < reads) return { kind: 'read', key: this.#existing() };
    if (rest === 'insert') return { kind: 'write', key: this.#keys + this.#inserted++ };
    return { kind: rest === 'update' ? 'write' : 'readModifyWrite', key: this.#existing() };
  }

  #existing(): number {
    const rank = this.#ranks.next();
    // D reads the newest keys. A key that is being inserted may not be there yet, so the last few count as one.
    if (this.#workload.rest === 'insert')
      return Math.max(0, this.#keys - 1 + Math.max(0, this.#inserted - 64) - rank);
    return (rank * spread) % this.#keys;
  }
}
