/**
 * What became of puts that other nodes had asked for, in this life of this node: told to whoever has lost the answer, and
 * to messages that come twice. Bounded by count, oldest first; what may have been forgotten is told from what never was:
 * the names of one life of an asker are numbered in the order in which it made them, so of each asker the greatest number
 * that was forgotten says it of all.
 */
import { assert } from '../base/assert.ts';
import type { Xid } from './xid.ts';

/** `refused`: asked about before it came. `doubtful`: the store has failed in the middle of it. */
export type PutState = 'running' | 'committed' | 'aborted' | 'doubtful' | 'refused';

/** One life of a node that asks. The numbers: the greatest of a name in the younger half, in the older one, of all gone. */
interface Asker {
  /** What its names begin with. */
  readonly life: string;
  young: number;
  old: number;
  gone: number;
}

const askersMax = 256;

export class PutMemory {
  readonly #halfCount: number;
  #young = new Map<Xid, PutState>();
  #old = new Map<Xid, PutState>();
  /** Newest last. */
  readonly #askers: Asker[] = [];
  #askersGone = false;

  /** Remembers the newest `countMax / 2` at least, and `countMax` at most. */
  constructor(countMax: number) {
    assert(countMax >= 2, 'each half holds an entry');
    this.#halfCount = Math.floor(countMax / 2);
  }

  /** Undefined: there never was such a put. */
  state(xid: Xid): PutState | 'forgotten' | undefined {
    const known = this.#young.get(xid) ?? this.#old.get(xid);
    if (known !== undefined) return known;
    const asker = this.#asker(xid);
    if (asker === undefined) return this.#askersGone ? 'forgotten' : undefined;
    return numberOf(xid, asker) <= asker.gone ? 'forgotten' : undefined;
  }

  set(xid: Xid, state: PutState): void {
    if (this.#young.has(xid)) {
      this.#young.set(xid, state);
      return;
    }
    if (this.#young.size >= this.#halfCount) this.#turn();
    this.#young.set(xid, state);
    const asker = this.#asker(xid) ?? this.#newAsker(xid);
    asker.young = Math.max(asker.young, numberOf(xid, asker));
  }

  /** The older half goes. */
  #turn(): void {
    this.#old = this.#young;
    this.#young = new Map();
    for (const asker of this.#askers) {
      asker.gone = Math.max(asker.gone, asker.old);
      asker.old = asker.young;
      asker.young = 0;
    }
  }

  #asker(xid: Xid): Asker | undefined {
    const length = lifeLength(xid);
    for (const asker of this.#askers) {
      if (asker.life.length === length && xid.startsWith(asker.life)) return asker;
    }
    return undefined;
  }

  #newAsker(xid: Xid): Asker {
    if (this.#askers.length >= askersMax) {
      this.#askers.shift();
      this.#askersGone = true;
    }
    const asker = { life: xid.slice(0, lifeLength(xid)), young: 0, old: 0, gone: 0 };
    this.#askers.push(asker);
    return asker;
  }
}

function lifeLength(xid: Xid): number {
  return xid.lastIndexOf('-') + 1;
}

function numberOf(xid: Xid, { life }: Asker): number {
  return Number(xid.slice(life.length));
}
