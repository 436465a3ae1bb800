/**
 * Asks for the outcome of branches that have waited too long: the coordinator first and, while that is away or does
 * not know, the other branches (cooperative termination; Bernstein, Hadzilacos, Goodman, 1987, section 7.4). The
 * protocol commands both questions; this module asks them and follows the answer.
 *
 * Another branch helps in three cases: it has committed; it was told to roll back; or it writes, has no record, and
 * its log reaches back that far (recovery/log-horizon.ts). In the last case it never voted and never will, so the
 * coordinator cannot have decided to commit.
 */
import { sometimes } from '../../base/sometimes.ts';
import type { Branch } from './branch.ts';
import { waitsToForget } from './branch.ts';
import type { Inquirer } from './branch-driver.ts';
import type { Branches } from './branches.ts';
import { waits } from '../protocol/branch-protocol.ts';
import type { TransactionContext } from '../context.ts';
import { askNode } from '../context.ts';
import type { Coordinator } from '../coordinator/coordinator.ts';
import type { ReportedState } from '../formats/messages.ts';
import type { Xid } from '../formats/xid.ts';

/** The inquiries of one node. */
export class Inquiries implements Inquirer {
  readonly #context: TransactionContext;
  readonly #branches: Branches;
  readonly #coordinator: Coordinator;
  /** How many questions about a branch are under way; a branch with none is not here. */
  readonly #asking = new Map<Xid, number>();

  constructor(context: TransactionContext, branches: Branches, coordinator: Coordinator) {
    this.#context = context;
    this.#branches = branches;
    this.#coordinator = coordinator;
  }

  /** Has every branch ask that has waited for one inquiry interval, and about which no question is under way. */
  tick(): void {
    const { io, options } = this.#context;
    const nowUs = io.clock.nowUs();
    const dueUs = nowUs - options.inquiryIntervalUs;
    for (const branch of this.#branches.all) {
      if (!waits(branch.phase) || branch.askedUs > dueUs || this.#asking.has(branch.xid)) continue;
      branch.askedUs = nowUs;
      this.#branches.post(branch, { kind: 'waited' });
    }
  }

  askCoordinator(branch: Branch): void {
    this.#ask(branch, async () => {
      const reported = await this.#coordinatorOf(branch);
      if (reported === 'forgotten') {
        sometimes('transaction.orphan');
        branch.orphan = true;
      }
      if (reported === 'forgotten' && waitsToForget(branch)) {
        // The incarnation that would have decided is over. No branch locks a key for its transaction any more.
        this.#branches.forget([branch.xid]);
        return;
      }
      const state = certain(reported);
      if (state === 'undecided') this.#branches.post(branch, { kind: 'coordinatorSilent' });
      else await this.#follow(branch, state);
    });
  }

  askBranches(branch: Branch): void {
    sometimes('transaction.other-branches-asked');
    this.#ask(branch, async () => {
      const state = await this.#othersOf(branch);
      if (state === 'undecided') return;
      sometimes('transaction.terminated-by-branches');
      await this.#follow(branch, state);
    });
  }

  #ask({ xid }: Branch, question: () => Promise<void>): void {
    this.#asking.set(xid, (this.#asking.get(xid) ?? 0) + 1);
    this.#context.io.spawn('xa.inquire', async () => {
      await question();
      const others = (this.#asking.get(xid) ?? 0) - 1;
      if (others > 0) this.#asking.set(xid, others);
      else this.#asking.delete(xid);
    });
  }

  async #follow(branch: Branch, state: 'committed' | 'aborted'): Promise<void> {
    const { metrics, io } = this.#context;
    const { xid, phase, hasLearned } = branch;
    if (waitsToForget(branch)) {
      // The branch writes nothing: the outcome only releases its locks.
      this.#branches.forget([xid]);
      return;
    }
    // A commit that the store does not take yet is followed again.
    if (phase === 'prepared' && !hasLearned) {
      branch.hasLearned = true;
      metrics.recovered(state);
      io.log.event('info', 'xa.branch.learned', { xid, outcome: state });
    }
    if (state === 'committed') await this.#branches.commit(xid);
    else this.#branches.rollback(xid);
  }

  async #coordinatorOf({ xid, order }: Branch): Promise<ReportedState> {
    const { parts } = this.#context;
    if (order.coordinator === parts.self.node) return this.#coordinator.inquire(xid);
    const reply = await askNode(
      this.#context,
      order.coordinator,
      { kind: 'inquire', xid, life: 0 },
      this.#timeoutUs,
    );
    return reply.kind === 'told' ? reply.state : 'undecided';
  }

  async #othersOf({ xid, order }: Branch): Promise<'committed' | 'aborted' | 'undecided'> {
    const { self } = this.#context.parts;
    const others = order.branches.filter(({ node }) => node !== self.node && node !== order.coordinator);
    const replies = await Promise.all(
      others.map(async ({ node, writes, life }) => {
        const reply = await askNode(this.#context, node, { kind: 'inquire', xid, life }, this.#timeoutUs);
        if (reply.kind !== 'told') return 'undecided';
        return reply.state === 'none' && writes ? 'aborted' : certain(reply.state);
      }),
    );
    return replies.find((state) => state !== 'undecided') ?? 'undecided';
  }

  get #timeoutUs(): number {
    return this.#context.parts.settings.timeoutMs * 1000;
  }
}

function certain(state: ReportedState): 'committed' | 'aborted' | 'undecided' {
  return state === 'none' || state === 'forgotten' ? 'undecided' : state;
}
