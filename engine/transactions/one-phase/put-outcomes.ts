/**
 * What became of puts that other nodes had asked for, in this life of this node: told to whoever has lost the answer, and
 * to messages that come twice. Bounded by count, oldest first; what may have been forgotten is told from what never was:
 * the names of one life of an asker are numbered in the order in which it made them, so of each asker the greatest number
 * that was forgotten says it of all.
 */
import { assert } from '../../base/assert.ts';
import type { Xid } from '../formats/xid.ts';
import { lifeOf } from '../formats/xid.ts';

/** `refused`: asked about before it came. `doubtful`: the store has failed in the middle of it. */
export type PutState = 'running' | 'committed' | 'aborted' | 'doubtful' | 'refused';

/** One life of a node that asks. The numbers: the greatest of a name in the younger half, in the older one, of all gone. */
interface Asker {
  young: number;
  old: number;
  gone: number;
}

const askersMax = 256;

export class PutOutcomes {
  readonly #halfCount: number;
  #young = new Map<Xid, PutState>();
  #old = new Map<Xid, PutState>();
  /** By what their names begin with; who asked last is last. */
  readonly #askers = new Map<string, Asker>();
  #askersGone = false;

  /** Remembers the newest `countMax / 2` at least, and `countMax` at most. */
  constructor(countMax: number) {
    assert(countMax >= 2, 'each half holds an entry');
    this.#halfCount = Math.floor(countMax / 2);
  }

  /** Undefined: there is none, and none that was is forgotten, unless all of its asker's are (`mayHaveBeen`). */
  state(xid: Xid): PutState | 'forgotten' | undefined {
    const known = this.#young.get(xid) ?? this.#old.get(xid);
    if (known !== undefined) return known;
    const asker = this.#askers.get(lifeOf(xid));
    return asker !== undefined && numberOf(xid) <= asker.gone ? 'forgotten' : undefined;
  }

  /** A put that has no state may have been one of an asker that was forgotten as a whole, long since: others came after it. */
  mayHaveBeen(xid: Xid): boolean {
    return this.#askersGone && !this.#askers.has(lifeOf(xid));
  }

  set(xid: Xid, state: PutState): void {
    if (this.#young.has(xid)) {
      this.#young.set(xid, state);
      return;
    }
    if (this.#young.size >= this.#halfCount) this.#turn();
    this.#young.set(xid, state);
    const asker = this.#askerOf(lifeOf(xid));
    asker.young = Math.max(asker.young, numberOf(xid));
  }

  /** The older half goes. */
  #turn(): void {
    this.#old = this.#young;
    this.#young = new Map();
    for (const asker of this.#askers.values()) {
      asker.gone = Math.max(asker.gone, asker.old);
      asker.old = asker.young;
      asker.young = 0;
    }
  }

  /** Whoever has asked least lately makes room for a new one. */
  #askerOf(life: string): Asker {
    const asker = this.#askers.get(life) ?? { young: 0, old: 0, gone: 0 };
    this.#askers.delete(life);
    this.#askers.set(life, asker);
    const [oldest] = this.#askers.size > askersMax ? this.#askers.keys() : [];
    if (oldest !== undefined) this.#askersGone = this.#askers.delete(oldest);
    return asker;
  }
}

function numberOf(xid: Xid): number {
  return Number(xid.slice(xid.lastIndexOf('-') + 1));
}
