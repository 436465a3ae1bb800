/**
 * Transactions that ended on this node without a record, remembered for as long as their messages may still be under
 * way: none of them begins any more.
 */
import { RecentMap } from '../../base/recent-map.ts';
import type { Voted } from '../formats/prepare-request.ts';
import { votedAbort } from '../formats/prepare-request.ts';
import type { Xid } from '../formats/xid.ts';

const countMax = 32_768;

/**
 * `refused`: over, or asked about before it was heard of. `readOnly`, `doubtful`: voted so; what there is of a doubtful
 * one only a restart can tell.
 */
export type FinishedBranch = 'readOnly' | 'refused' | 'rolledBack' | 'doubtful';

export class FinishedBranches {
  readonly #endings = new RecentMap<Xid, FinishedBranch>(countMax);

  of(xid: Xid): FinishedBranch | undefined {
    return this.#endings.get(xid);
  }

  /** Why its message does nothing any more; what nobody knows of it is not said either. Undefined: it has not ended. */
  objection(xid: Xid): Voted | undefined {
    const ending = this.#endings.get(xid);
    if (ending === undefined) return undefined;
    const vote = votedAbort('prepare_failed', 'the transaction has ended here already');
    return ending === 'doubtful' ? { ...vote, vote: 'doubtful' } : vote;
  }

  /** The first ending stands, but for a rollback. */
  enter(xid: Xid, how: FinishedBranch): void {
    if (how === 'rolledBack' || this.#endings.get(xid) === undefined) this.#endings.set(xid, how);
  }
}
