/**
 * Single puts that other nodes coordinate and this node, their primary, applies: like its own puts (local-puts.ts),
 * without a record.
 *
 * This incarnation remembers each outcome (put-outcomes.ts). So a message that comes twice does nothing. A coordinator
 * that has lost the reply hears the outcome, or that no node can know it any more, as the client of a forwarded plain
 * put does. A request that was made for an earlier incarnation is refused: that one may have applied it.
 */
import { Deferred } from '../../base/deferred.ts';
import { LockstepError } from '../../base/errors.ts';
import type { Branches } from '../participant/branches.ts';
import type { TransactionContext } from '../context.ts';
import type { Ended, Voted } from '../formats/prepare-request.ts';
import { incarnationRejection, reportRefusal } from '../participant/rejection-checks.ts';
import type { LocalPuts } from './local-puts.ts';
import type { PutState } from './put-outcomes.ts';
import { PutOutcomes } from './put-outcomes.ts';
import type { PrepareRequest, BranchReply, ReportedState } from '../formats/messages.ts';
import type { Xid } from '../formats/xid.ts';

const rememberedMax = 131_072;

/** The single puts that this node applies for other coordinators. */
export class RemotePuts {
  readonly #context: TransactionContext;
  readonly #branches: Branches;
  readonly #ownPuts: LocalPuts;
  readonly #memory = new PutOutcomes(rememberedMax);
  #running = 0;

  constructor(context: TransactionContext, branches: Branches, ownPuts: LocalPuts) {
    this.#context = context;
    this.#branches = branches;
    this.#ownPuts = ownPuts;
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
    const own = this.#ownPuts.takeOrder(xid, order);
    if (own === undefined) return this.#branches.commitAlone(xid, order, false);
    const ended = new Deferred<Voted | Ended>();
    this.#ownPuts.write(xid, own, order, (how) => ended.resolve(how));
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
