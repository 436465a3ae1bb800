/**
 * Single puts that other nodes coordinate and this node, their primary, applies: like its own puts (unrecorded-writes.ts),
 * without a record.
 *
 * This incarnation remembers each outcome (`PutOutcomes`). So a message that comes twice does nothing. A coordinator
 * that has lost the reply hears the outcome, or that no node can know it any more, as the client of a forwarded plain
 * put does. A request that was made for an earlier incarnation is refused: that one may have applied it.
 */
import { assert } from '../../base/assert.ts';
import { Deferred } from '../../base/deferred.ts';
import { LockstepError } from '../../base/errors.ts';
import type { TransactionContext } from '../context.ts';
import type { BranchReply, PrepareRequest, ReportedState } from '../formats/messages.ts';
import type { Ended, Voted } from '../formats/prepare-request.ts';
import type { Xid } from '../formats/xid.ts';
import { lifeOf } from '../formats/xid.ts';
import type { Branches } from '../participant/branches.ts';
import { incarnationRejection, reportRefusal } from '../participant/rejection-checks.ts';
import type { UnrecordedWrites } from './unrecorded-writes.ts';

const rememberedMax = 131_072;

/** The single puts that this node applies for other coordinators. */
export class RemotePuts {
  readonly #context: TransactionContext;
  readonly #branches: Branches;
  readonly #unrecorded: UnrecordedWrites;
  readonly #memory = new PutOutcomes(rememberedMax);
  #running = 0;

  constructor(context: TransactionContext, branches: Branches, unrecorded: UnrecordedWrites) {
    this.#context = context;
    this.#branches = branches;
    this.#unrecorded = unrecorded;
  }

  /** How many puts are not answered yet. */
  get running(): number {
    return this.#running;
  }

  /** Applies the request once. Rejects with `BadRequest` for a request with an idempotency key: that needs a record. */
  async run(xid: Xid, order: PrepareRequest): Promise<BranchReply> {
    if (order.clientId !== '')
      throw new LockstepError('BadRequest', 'a put with an id of a client is asked for otherwise');
    const known = this.#memory.state(xid);
    if (known !== undefined) return { kind: 'told', state: saidOf(known) };
    this.#memory.set(xid, 'running');
    this.#running += 1;
    let state: PutState = 'doubtful';
    try {
      const ended = await this.#carryOut(xid, order);
      state = stateOf(ended);
      return ended;
    } finally {
      this.#memory.set(xid, state);
      this.#running -= 1;
    }
  }

  /**
   * Answers a node that has lost the reply. `life`: this node's incarnation when the put was sent. A put that has not
   * come yet is refused from now on.
   */
  inquire(xid: Xid, life: number): ReportedState {
    if (life !== this.#context.lives.own()) return 'forgotten';
    const known = this.#memory.state(xid);
    if (known !== undefined) return saidOf(known);
    if (this.#memory.mayHaveBeen(xid)) return 'forgotten';
    // The put may still be under way. It then comes too late.
    this.#memory.set(xid, 'refused');
    return 'none';
  }

  #carryOut(xid: Xid, order: PrepareRequest): Promise<Voted | Ended> {
    const stale = incarnationRejection(this.#context, order);
    if (stale !== undefined) {
      reportRefusal(this.#context, xid, stale);
      return Promise.resolve(stale);
    }
    const own = this.#unrecorded.takeOrder(xid, order);
    if (own === undefined) return this.#branches.commitAlone(xid, order, false);
    const ended = new Deferred<Voted | Ended>();
    this.#unrecorded.write(xid, own, order, (how) => ended.resolve(how));
    return ended.promise;
  }
}

function stateOf(ended: Voted | Ended): PutState {
  if (ended.kind === 'ended') return 'committed';
  return ended.vote === 'doubtful' ? 'doubtful' : 'aborted';
}

function saidOf(state: PutState | 'forgotten'): ReportedState {
  switch (state) {
    case 'running':
      return 'undecided';
    case 'committed':
      return 'committed';
    case 'aborted':
    case 'refused':
      return 'aborted';
    case 'doubtful':
    case 'forgotten':
      return 'forgotten';
  }
}

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

/**
 * The states of the newest puts, by transaction id. Bounded by count, oldest first. A forgotten put is told apart from
 * one that never came: an asker's incarnation numbers its transactions in sequence, so the greatest forgotten number of
 * each asker covers all smaller ones.
 */
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
