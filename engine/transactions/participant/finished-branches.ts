/**
 * Transactions that ended on this node without a record. They are kept for as long as messages about them may still
 * be on the network, so that a late prepare does not begin one of them anew.
 */
import { RecentMap } from '../../base/recent-map.ts';
import type { PrepareRequest } from '../formats/messages.ts';
import type { Voted } from '../formats/prepare-request.ts';
import { votedAbort } from '../formats/prepare-request.ts';
import type { Xid } from '../formats/xid.ts';

const noAttempts: readonly DoubtfulAttempt[] = [];

/** The oldest ending goes when there are more. */
const countMax = 32_768;

/**
 * How a transaction ended here. `refused`: it is over, or another branch asked about it before its prepare came.
 * `rolledBack`: its coordinator said so. `readOnly`: it voted so, and this node knows no outcome. `doubtful`: its batch
 * may be durable, and only a restart can tell; or its record is damaged, and no node can.
 */
export type FinishedBranch = 'readOnly' | 'refused' | 'rolledBack' | 'doubtful';

/** An attempt under an idempotency key whose end is doubtful. */
export interface DoubtfulAttempt {
  readonly xid: Xid;
  readonly order: Pick<PrepareRequest, 'clientId' | 'clientDigest'>;
}

/** The endings of the last 32,768 transactions. */
export class FinishedBranches {
  readonly #endings = new RecentMap<Xid, FinishedBranch>(countMax);
  readonly #doubtful = new Map<Xid, DoubtfulAttempt>();
  /** Their records are damaged. As many as the start has found, for as long as this incarnation lasts. */
  readonly #damaged = new Set<Xid>();

  /**
   * The attempts under idempotency keys that ended as doubtful in this incarnation, oldest first. Each of them stays
   * open: a fence must not call an attempt aborted that this node's next start may find applied.
   */
  get doubtful(): readonly DoubtfulAttempt[] {
    return [...this.#doubtful.values()];
  }

  /** Those under the idempotency key. */
  doubtfulUnder(clientId: string): readonly DoubtfulAttempt[] {
    return this.#doubtful.size === 0
      ? noAttempts
      : this.doubtful.filter(({ order }) => order.clientId === clientId);
  }

  /** Enters an ending as doubtful. */
  enterDoubtful(xid: Xid, { clientId, clientDigest }: DoubtfulAttempt['order']): void {
    this.enter(xid, 'doubtful');
    if (clientId === '') return;
    this.#doubtful.set(xid, { xid, order: { clientId, clientDigest } });
    const [oldest] = this.#doubtful.keys();
    if (this.#doubtful.size > countMax && oldest !== undefined) this.#doubtful.delete(oldest);
  }

  /** How the transaction ended; undefined if it did not, or too long ago. */
  of(xid: Xid): FinishedBranch | undefined {
    const ending = this.#endings.get(xid);
    return ending !== 'rolledBack' && this.#damaged.has(xid) ? 'doubtful' : ending;
  }

  /** A start has found a damaged record of the transaction's branch. */
  enterDamaged(xid: Xid): void {
    this.#damaged.add(xid);
  }

  /**
   * The vote for a late request: `doubtful` if that is how the transaction ended, else abort. Undefined: it has not
   * ended.
   */
  rejectionOf(xid: Xid): Voted | undefined {
    const ending = this.of(xid);
    if (ending === undefined) return undefined;
    const vote = votedAbort('prepare_failed', 'the transaction has ended here already');
    return ending === 'doubtful' ? { ...vote, vote: 'doubtful' } : vote;
  }

  /** Keeps the first ending of a transaction, but a rollback replaces any. */
  enter(xid: Xid, how: FinishedBranch): void {
    if (how === 'rolledBack' || this.#endings.get(xid) === undefined) this.#endings.set(xid, how);
  }
}
