/**
 * Transactions that ended on this node without a record. They are kept for as long as messages about them may still
 * be on the network, so that a late prepare does not begin one of them anew.
 */
import { RecentMap } from '../../base/recent-map.ts';
import type { Voted } from '../formats/prepare-request.ts';
import { votedAbort } from '../formats/prepare-request.ts';
import type { Xid } from '../formats/xid.ts';

/** The oldest ending goes when there are more. */
const countMax = 32_768;

/**
 * How a transaction ended here. `refused`: it is over, or another branch asked about it before its prepare came.
 * `rolledBack`: its coordinator said so. `readOnly`: it voted so, and this node knows no outcome. `doubtful`: its batch
 * may be durable, and only a restart can tell.
 */
export type FinishedBranch = 'readOnly' | 'refused' | 'rolledBack' | 'doubtful';

/** The endings of the last 32,768 transactions. */
export class FinishedBranches {
  readonly #endings = new RecentMap<Xid, FinishedBranch>(countMax);

  /** How the transaction ended; undefined if it did not, or too long ago. */
  of(xid: Xid): FinishedBranch | undefined {
    return this.#endings.get(xid);
  }

  /**
   * The vote for a late request: `doubtful` if that is how the transaction ended, else abort. Undefined: it has not
   * ended.
   */
  rejectionOf(xid: Xid): Voted | undefined {
    const ending = this.#endings.get(xid);
    if (ending === undefined) return undefined;
    const vote = votedAbort('prepare_failed', 'the transaction has ended here already');
    return ending === 'doubtful' ? { ...vote, vote: 'doubtful' } : vote;
  }

  /** Keeps the first ending of a transaction, but a rollback replaces any. */
  enter(xid: Xid, how: FinishedBranch): void {
    if (how === 'rolledBack' || this.#endings.get(xid) === undefined) this.#endings.set(xid, how);
  }
}
