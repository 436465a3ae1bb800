/**
 * The outcomes of puts that other nodes have asked this incarnation for. Answers a node that has lost the reply, and
 * detects a message that comes twice.
 *
 * Bounded by count, oldest first. A forgotten put is told apart from one that never came: an asker's incarnation
 * numbers its transactions in sequence, so the greatest forgotten number of each asker covers all smaller ones.
 */
import { assert } from '../../base/assert.ts';
import type { Xid } from '../formats/xid.ts';
import { lifeOf } from '../formats/xid.ts';

/**
 * The state of a put. `refused`: its asker inquired before the put came. `doubtful`: the store failed in the middle of
 * it.
 */
export type PutState = 'running' | 'committed' | 'aborted' | 'doubtful' | 'refused';

/**
 * One incarnation of an asking node, and the greatest numbers of its puts: in the younger half, in the older half, and
 * among those dropped.
 */
interface Asker {
  young: number;
  old: number;
  gone: number;
}

const askersMax = 256;

/** The states of the newest puts, by transaction id. */
export class PutOutcomes {
  readonly #halfCount: number;
  #young = new Map<Xid, PutState>();
  #old = new Map<Xid, PutState>();
  /** By asker's incarnation, as `lifeOf` returns it. The latest to ask is last. */
  readonly #askers = new Map<string, Asker>();
  #askersGone = false;

  /** Keeps at least the newest `countMax / 2` puts, and at most `countMax`. `countMax` must be at least 2. */
  constructor(countMax: number) {
    assert(countMax >= 2, 'each half holds an entry');
    this.#halfCount = Math.floor(countMax / 2);
  }

  /**
   * The put's state; `forgotten` if it may have been dropped. Undefined if it never came, unless its asker was dropped
   * as a whole (`mayHaveBeen`).
   */
  state(xid: Xid): PutState | 'forgotten' | undefined {
    const known = this.#young.get(xid) ?? this.#old.get(xid);
    if (known !== undefined) return known;
    const asker = this.#askers.get(lifeOf(xid));
    return asker !== undefined && numberOf(xid) <= asker.gone ? 'forgotten' : undefined;
  }

  /** True if the put may belong to an asker that was dropped as a whole, after 256 other askers. */
  mayHaveBeen(xid: Xid): boolean {
    return this.#askersGone && !this.#askers.has(lifeOf(xid));
  }

  /** Records the put's state. */
  set(xid: Xid, state: PutState): void {
    if (this.#young.has(xid)) {
      this.#young.set(xid, state);
      return;
    }
    if (this.#young.size >= this.#halfCount) this.#turn();
    this.#young.set(xid, state);
    const number = numberOf(xid);
    const asker = this.#askerOf(lifeOf(xid), number);
    asker.young = Math.max(asker.young, number);
  }

  /** Drops the older half. */
  #turn(): void {
    this.#old = this.#young;
    this.#young = new Map();
    for (const asker of this.#askers.values()) {
      asker.gone = Math.max(asker.gone, asker.old);
      asker.old = asker.young;
      asker.young = 0;
    }
  }

  /**
   * The entry of the asker of put `number`, created if needed. Drops the asker that has been silent the longest. Once one
   * was dropped, a new entry may be that of a dropped asker: all its smaller numbers count as forgotten, lest a committed
   * put be taken for one that never came.
   */
  #askerOf(life: string, number: number): Asker {
    const asker = this.#askers.get(life) ?? { young: 0, old: 0, gone: this.#askersGone ? number - 1 : 0 };
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
