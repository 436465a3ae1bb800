/**
 * Branches that were carried out and wait to be forgotten. Their coordinator tells them when it needs them no more; it may
 * have crashed before, and know of nothing, or the node here after it had heard it and before the drop of the record was
 * durable. So a branch that has waited for too long asks, a thousand at a time. Nothing that it hears changes what it
 * carried out: no record there means that nobody waits, not that it was aborted.
 *
 * While the coordinator cannot be asked they stay: other branches may have to learn the outcome from them. For the same
 * reason one whose coordinator has lost its disk stays for as long as outcomes are kept, counted from its first question.
 * Where the coordinator has left the cluster or was replaced, the other branches are asked: those that voted are known,
 * and once none of them waits for the outcome, nobody ever will.
 */
import { LockstepError } from '../../base/errors.ts';
import type { NodeId } from '../../base/ids.ts';
import { RecentMap } from '../../base/recent-map.ts';
import type { RoundDependencies } from '../../replication/round-dependencies.ts';
import type { Branch } from './branch.ts';
import type { Asker, TransactionContext } from '../context.ts';
import { askNode } from '../context.ts';
import type { Coordinator } from '../coordinator/coordinator.ts';
import type { TransactionLog } from '../recovery/transaction-log.ts';
import type { Incarnations } from '../recovery/log-horizon.ts';
import type { Xid } from '../formats/xid.ts';

/** Names in one message. */
const askedCountMax = 1000;
/** Without a crash they are told within three intervals: what is durable at one tick is said at the next. */
const patienceIntervals = 4;
const forgottenCountMax = 65_536;

/** What this node coordinates. */
interface Known {
  readonly find: Coordinator['find'];
  readonly singles: Pick<Coordinator['singles'], 'needs'>;
  readonly remembered: Pick<Coordinator['remembered'], 'release'>;
  readonly memory: Pick<Coordinator['memory'], 'reachesBackToNameOf'>;
}

interface Context extends Asker, Pick<TransactionContext, 'io' | 'options'> {
  readonly parts: Asker['parts'] & Pick<RoundDependencies, 'self' | 'settings'>;
  readonly log: Pick<TransactionLog, 'decisionOf'>;
  readonly lives: Pick<Incarnations, 'isOver'>;
}

type Applied = Pick<Branch, 'xid' | 'phase' | 'order' | 'askedUs'>;

export class AppliedBranchCleanup {
  readonly #context: Context;
  readonly #branches: { readonly all: readonly Applied[] };
  readonly #coordinator: Known;
  readonly #asking = new Set<NodeId>();
  /** Transactions of which nothing can be known here, since this disk was lost, and since when others ask. */
  readonly #forgotten = new RecentMap<Xid, number>(forgottenCountMax);

  constructor(context: Context, branches: { readonly all: readonly Applied[] }, coordinator: Known) {
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
        await this.#ask(coordinator, branches);
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
  #due(): ReadonlyMap<NodeId, readonly Applied[]> {
    const { io, options } = this.#context;
    const dueUs = io.clock.nowUs() - patienceIntervals * options.inquiryIntervalUs;
    const due = new Map<NodeId, Applied[]>();
    for (const branch of this.#branches.all) {
      const { coordinator } = branch.order;
      if (branch.phase !== 'applied' || branch.askedUs > dueUs || this.#asking.has(coordinator)) continue;
      const some = due.get(coordinator) ?? [];
      due.set(coordinator, some);
      if (some.length < askedCountMax) some.push(branch);
    }
    return due;
  }

  async #ask(coordinator: NodeId, branches: readonly Applied[]): Promise<void> {
    const { parts, lives } = this.#context;
    const { node } = parts.self;
    const xids = branches.map(({ xid }) => xid);
    if (coordinator === node) await this.letGo(node, xids);
    else if (lives.isOver(coordinator)) await this.#letOrphansGo(branches);
    else await askNode(this.#context, coordinator, { kind: 'needed', node, xids }, this.#timeoutUs);
  }

  /** Of these the coordinator is no member any more. */
  async #letOrphansGo(branches: readonly Applied[]): Promise<void> {
    const { self } = this.#context.parts;
    const silent = new Set<NodeId>();
    for (const { xid, order } of branches) {
      const others = order.branches.filter(({ node }) => node !== self.node && node !== order.coordinator);
      const waiting = await Promise.all(others.map(({ node }) => this.#mayWait(node, xid, silent)));
      if (!waiting.includes(true)) this.#coordinator.remembered.release(xid, [self.node]);
    }
  }

  /** The node has not heard the outcome yet, or cannot be asked: it is `silent` then, and not asked for the others. */
  async #mayWait(node: NodeId, xid: Xid, silent: Set<NodeId>): Promise<boolean> {
    if (this.#context.lives.isOver(node)) return false;
    if (silent.has(node)) return true;
    const reply = await askNode(this.#context, node, { kind: 'status', xid }, this.#timeoutUs);
    if (reply.kind === 'told') return reply.state === 'undecided';
    silent.add(node);
    return true;
  }

  get #timeoutUs(): number {
    return this.#context.parts.settings.timeoutMs * 1000;
  }
}
