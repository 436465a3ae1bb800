/**
 * Branches that were carried out and wait to be forgotten. Their coordinator tells them when it needs them no more; it may
 * have crashed before, and know of nothing, or the node here after it had heard it and before the drop of the record was
 * durable. So a branch that has waited for too long asks, a thousand at a time. Nothing that it hears changes what it
 * carried out: no record there means that nobody waits, not that it was aborted.
 *
 * While the coordinator cannot be asked they stay: other branches may have to learn the outcome from them. For the same
 * reason one whose coordinator has lost its disk stays for as long as outcomes are kept, counted from its first question.
 */
import { LockstepError } from '../base/errors.ts';
import type { NodeId } from '../base/ids.ts';
import { RecentMap } from '../base/recent-map.ts';
import type { Branch } from './branch.ts';
import type { Branches } from './branches.ts';
import type { TransactionContext } from './context.ts';
import { askNode } from './context.ts';
import type { Coordinator } from './coordinator.ts';
import type { Xid } from './xid.ts';

/** Names in one message. */
const askedCountMax = 1000;
/** Without a crash they are told within three intervals: what is durable at one tick is said at the next. */
const patienceIntervals = 4;
const forgottenCountMax = 65_536;

/** What this node coordinates. */
type Known = Pick<Coordinator, 'find' | 'singles' | 'remembered' | 'memory'>;

export class Leftovers {
  readonly #context: TransactionContext;
  readonly #branches: Pick<Branches, 'all'>;
  readonly #coordinator: Known;
  readonly #asking = new Set<NodeId>();
  /** Transactions of which nothing can be known here, since this disk was lost, and since when others ask. */
  readonly #forgotten = new RecentMap<Xid, number>(forgottenCountMax);

  constructor(context: TransactionContext, branches: Pick<Branches, 'all'>, coordinator: Known) {
    this.#context = context;
    this.#branches = branches;
    this.#coordinator = coordinator;
  }

  /** Asks for every branch that has waited for too long. */
  tick(): void {
    const { io } = this.#context;
    for (const [coordinator, branches] of this.#due()) {
      this.#asking.add(coordinator);
      const nowUs = io.clock.nowUs();
      for (const branch of branches) branch.askedUs = nowUs;
      io.spawn('xa.leftovers', async () => {
        await this.#ask(
          coordinator,
          branches.map(({ xid }) => xid),
        );
        this.#asking.delete(coordinator);
      });
    }
  }

  /**
   * Another node, or this one, has carried out these branches of transactions of this one: it is told to forget those that
   * nobody here needs. What is over is never needed again, also where no record speaks of it any more.
   */
  async letGo(node: NodeId, xids: readonly Xid[]): Promise<void> {
    if (this.#context.parts.member(node) === undefined) return;
    for (const xid of xids) {
      if (await this.#needs(xid)) continue;
      this.#forgotten.delete(xid);
      this.#coordinator.remembered.release(xid, [node]);
    }
  }

  /** The branch may have to be asked what became of it, or told to commit once more. */
  async #needs(xid: Xid): Promise<boolean> {
    if (this.#coordinator.find(xid) !== undefined || this.#coordinator.singles.needs(xid)) return true;
    // The store answers with what is durable: a decision commits until its end is.
    const decided = await this.#context.log.decisionOf(xid);
    if (decided instanceof LockstepError || decided?.state === 'committing') return true;
    return (
      decided === undefined && !this.#coordinator.memory.reachesBackToNameOf(xid) && this.#mayBeAsked(xid)
    );
  }

  /** Another branch may have to learn from this one what nobody here knows any more, for as long as outcomes are kept. */
  #mayBeAsked(xid: Xid): boolean {
    const { io, options } = this.#context;
    const nowUs = io.clock.nowUs();
    const sinceUs = this.#forgotten.get(xid) ?? nowUs;
    this.#forgotten.set(xid, sinceUs);
    return nowUs - sinceUs < options.retentionMs * 1000;
  }

  /** Those that have waited for too long, by coordinator. */
  #due(): ReadonlyMap<NodeId, readonly Branch[]> {
    const { io, options } = this.#context;
    const dueUs = io.clock.nowUs() - patienceIntervals * options.inquiryIntervalUs;
    const due = new Map<NodeId, Branch[]>();
    for (const branch of this.#branches.all) {
      const { coordinator } = branch.order;
      if (branch.phase !== 'applied' || branch.askedUs > dueUs || this.#asking.has(coordinator)) continue;
      const some = due.get(coordinator) ?? [];
      due.set(coordinator, some);
      if (some.length < askedCountMax) some.push(branch);
    }
    return due;
  }

  async #ask(coordinator: NodeId, xids: readonly Xid[]): Promise<void> {
    const { parts } = this.#context;
    const { node } = parts.self;
    if (coordinator === node) await this.letGo(node, xids);
    else
      await askNode(
        this.#context,
        coordinator,
        { kind: 'needed', node, xids },
        parts.settings.timeoutMs * 1000,
      );
  }
}
