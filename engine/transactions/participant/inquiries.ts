/**
 * Branches whose outcome stays out ask for it: the coordinator first, and while that one is away or does not know, the
 * other branches (cooperative termination; Bernstein, Hadzilacos, Goodman, 1987, section 7.4). Another branch helps
 * when it has committed, when it was told to roll back, or when it has no record although it writes, and its records go
 * back that far (transactions/recovery/log-horizon.ts): then it never voted, never will, and nobody can have decided to commit.
 */
import type { Branch } from './branch.ts';
import { waitsToForget } from './branch.ts';
import type { Branches } from './branches.ts';
import { stepBranch, waits } from '../protocol/branch-protocol.ts';
import type { TransactionContext } from '../context.ts';
import { askNode } from '../context.ts';
import type { Coordinator } from '../coordinator/coordinator.ts';
import type { ReportedState } from '../formats/messages.ts';
import type { Xid } from '../formats/xid.ts';

export class Inquiries {
  readonly #context: TransactionContext;
  readonly #branches: Branches;
  readonly #coordinator: Coordinator;
  readonly #asking = new Set<Xid>();

  constructor(context: TransactionContext, branches: Branches, coordinator: Coordinator) {
    this.#context = context;
    this.#branches = branches;
    this.#coordinator = coordinator;
  }

  /** Asks for every branch that has waited long enough. */
  tick(): void {
    const { io, options } = this.#context;
    const dueUs = io.clock.nowUs() - options.inquiryIntervalUs;
    for (const branch of this.#branches.all) {
      if (!waits(branch.phase) || branch.askedUs > dueUs || this.#asking.has(branch.xid)) continue;
      this.#asking.add(branch.xid);
      io.spawn('xa.inquire', async () => {
        await this.#inquire(branch);
        this.#asking.delete(branch.xid);
      });
    }
  }

  async #inquire(branch: Branch): Promise<void> {
    branch.askedUs = this.#context.io.clock.nowUs();
    const { commands } = stepBranch(branch.phase, { kind: 'waited' });
    if (commands.length === 0) return;
    const said = await this.#askCoordinator(branch);
    if (said === 'forgotten') branch.orphan = true;
    if (said === 'forgotten' && waitsToForget(branch)) {
      // The life that would have decided is over: whatever it decided, no branch takes a key for it any more.
      this.#branches.forget([branch.xid]);
      return;
    }
    let state = certain(said);
    const next = stepBranch(branch.phase, { kind: 'coordinatorSilent' });
    if (state === 'undecided' && next.commands.length > 0) state = await this.#askBranches(branch);
    await this.#follow(branch, state);
  }

  async #follow(branch: Branch, state: 'committed' | 'aborted' | 'undecided'): Promise<void> {
    const { metrics, io } = this.#context;
    const { xid, phase } = branch;
    if (state === 'undecided') return;
    if (waitsToForget(branch)) {
      // What became of the transaction is not said by who has forgotten it, and changes nothing here.
      this.#branches.forget([xid]);
      return;
    }
    if (phase === 'prepared') {
      metrics.recovered(state);
      io.log.event('info', 'xa.branch.learned', { xid, outcome: state });
    }
    if (state === 'committed') await this.#branches.commit(xid);
    else this.#branches.rollback(xid);
  }

  async #askCoordinator({ xid, order }: Branch): Promise<ReportedState> {
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

  async #askBranches({ xid, order }: Branch): Promise<'committed' | 'aborted' | 'undecided'> {
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
