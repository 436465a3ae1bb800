/**
 * Applied-branch cleanup: applied branches that wait for their coordinator's forget ask for it. So do branches that an
 * operator rolled back against their coordinator's commit, once the two were compared.
 *
 * A coordinator says forget when it needs a branch no more. It may have crashed before, and know nothing of the
 * branch; or this node may have crashed before the drop of the record was durable. So a branch that has waited for
 * too long asks, at most a thousand in one message. No answer changes what was applied: a coordinator without a
 * record says that no node waits for the outcome, not that the transaction was aborted.
 *
 * The record stays in three cases, because other branches may have to learn the outcome from it:
 * - While the coordinator cannot be asked.
 * - If the coordinator has lost its disk: for as long as outcomes are kept, counted from the first question, and from
 *   then on while another branch waits.
 * - While another branch waits, if the coordinator has left the cluster or was replaced. The record names the
 *   branches that voted; once none of them waits for the outcome, none ever will. A record of an
 *   earlier build names none; for it every member is asked.
 */
import { LockstepError } from '../../base/errors.ts';
import type { NodeId } from '../../base/ids.ts';
import { RecentMap } from '../../base/recent-map.ts';
import { sometimes } from '../../base/sometimes.ts';
import type { Member } from '../../cluster/ring/ring.ts';
import type { RoundDependencies } from '../../replication/round-dependencies.ts';
import { hasCommit } from '../protocol/branch-protocol.ts';
import type { Branch } from './branch.ts';
import type { Asker, TransactionContext } from '../context.ts';
import { askNode } from '../context.ts';
import type { Coordinator } from '../coordinator/coordinator.ts';
import type { TransactionLog } from '../recovery/transaction-log.ts';
import type { Incarnations } from '../recovery/log-horizon.ts';
import type { Xid } from '../formats/xid.ts';

/** Transactions in one message at most, whatever the configuration allows. */
const askedCountMax = 1000;
/** Inquiry intervals before a branch asks. Without a crash a forget comes within three of them. */
const patienceIntervals = 4;
/** Transactions of a lost disk about which other nodes have asked; the oldest goes when there are more. */
const forgottenCountMax = 65_536;

/** The transactions that this node coordinates. */
interface Known {
  readonly find: Coordinator['find'];
  readonly singles: Pick<Coordinator['singles'], 'needs'>;
  readonly remembered: Pick<Coordinator['remembered'], 'release'>;
  readonly memory: Pick<Coordinator['memory'], 'reachesBackToNameOf'>;
}

interface Context extends Asker, Pick<TransactionContext, 'io' | 'options'> {
  readonly parts: Asker['parts'] & Pick<RoundDependencies, 'self' | 'settings' | 'ring'>;
  readonly log: Pick<TransactionLog, 'decisionOf'>;
  readonly lives: Pick<Incarnations, 'isOver'>;
}

type Applied = Pick<Branch, 'xid' | 'phase' | 'order' | 'askedUs'>;

/**
 * The applied-branch cleanup of one node: it asks for its own branches, and answers the branches of its transactions.
 */
export class AppliedBranchCleanup {
  readonly #context: Context;
  readonly #branches: { readonly all: readonly Applied[] };
  readonly #coordinator: Known;
  readonly #asking = new Set<NodeId>();
  /**
   * Transactions that this node knew before its disk was lost, with the microsecond of the first question about each.
   */
  readonly #forgotten = new RecentMap<Xid, number>(forgottenCountMax);

  constructor(context: Context, branches: { readonly all: readonly Applied[] }, coordinator: Known) {
    this.#context = context;
    this.#branches = branches;
    this.#coordinator = coordinator;
  }

  /** Asks about every branch that has waited for too long. One question to a coordinator is under way at a time. */
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
   * `node`, which may be this one, has applied branches of transactions coordinated here. Tells it to forget those that
   * this coordinator no longer needs. A transaction that is over is never needed again, even without a record of it.
   * Resolves with the transactions that this coordinator has lost with its disk, and that are too old for a client to
   * ask about: only their branches can say whether one of them still waits.
   */
  async letGo(node: NodeId, xids: readonly Xid[]): Promise<readonly Xid[]> {
    if (this.#context.parts.member(node) === undefined) return [];
    const lost: Xid[] = [];
    for (const xid of xids) {
      const need = await this.#needOf(xid);
      if (need === 'unknown') lost.push(xid);
      if (need !== 'over') continue;
      this.#forgotten.delete(xid);
      this.#coordinator.remembered.release(xid, [node]);
    }
    return lost;
  }

  /**
   * Whether the coordinator may still ask the branch for its outcome, or repeat its commit. `unknown`: it has lost the
   * transaction with its disk.
   */
  async #needOf(xid: Xid): Promise<'needed' | 'over' | 'unknown'> {
    if (this.#coordinator.find(xid) !== undefined || this.#coordinator.singles.needs(xid)) return 'needed';
    // The store answers with what is durable: the decision stands until its end is durable.
    const decided = await this.#context.log.decisionOf(xid);
    if (decided instanceof LockstepError || decided?.state === 'committing') return 'needed';
    if (decided !== undefined || this.#coordinator.memory.reachesBackToNameOf(xid)) return 'over';
    return this.#mayBeAsked(xid) ? 'needed' : 'unknown';
  }

  /**
   * Whether a client may still ask the branch's node for what this coordinator has lost: for as long as outcomes are
   * kept.
   */
  #mayBeAsked(xid: Xid): boolean {
    const { io, options } = this.#context;
    const nowUs = io.clock.nowUs();
    const sinceUs = this.#forgotten.get(xid) ?? nowUs;
    sometimes('transaction.cleanup-waits-for-lost-log');
    this.#forgotten.set(xid, sinceUs);
    return nowUs - sinceUs < options.retentionMs * 1000;
  }

  /** The branches that have waited for too long, by coordinator. */
  #due(): ReadonlyMap<NodeId, readonly Applied[]> {
    const { io, options } = this.#context;
    const dueUs = io.clock.nowUs() - patienceIntervals * options.inquiryIntervalUs;
    const due = new Map<NodeId, Applied[]>();
    for (const branch of this.#branches.all) {
      const { coordinator } = branch.order;
      if (!hasCommit(branch.phase) || branch.askedUs > dueUs || this.#asking.has(coordinator)) continue;
      const some = due.get(coordinator) ?? [];
      due.set(coordinator, some);
      if (some.length < Math.min(askedCountMax, options.pageItems)) some.push(branch);
    }
    return due;
  }

  async #ask(coordinator: NodeId, branches: readonly Applied[]): Promise<void> {
    const { parts, lives } = this.#context;
    const { node } = parts.self;
    const xids = branches.map(({ xid }) => xid);
    if (coordinator === node) {
      const lost = new Set(await this.letGo(node, xids));
      await this.#letOrphansGo(branches.filter(({ xid }) => lost.has(xid)));
    } else if (lives.isOver(coordinator)) {
      await this.#letOrphansGo(branches);
    } else {
      const request = { kind: 'needed', node, xids } as const;
      const reply = await askNode(this.#context, coordinator, request, this.#timeoutUs);
      if (reply.kind === 'told' && reply.state === 'forgotten')
        await this.#letForgottenGo(coordinator, branches);
    }
  }

  /** The coordinator has lost some of these transactions with its disk: asks which, and lets those go as orphans. */
  async #letForgottenGo(coordinator: NodeId, branches: readonly Applied[]): Promise<void> {
    const orphans: Applied[] = [];
    for (const branch of branches) {
      const request = { kind: 'inquire', xid: branch.xid, life: 0 } as const;
      const reply = await askNode(this.#context, coordinator, request, this.#timeoutUs);
      if (reply.kind !== 'told') break;
      if (reply.state === 'forgotten') orphans.push(branch);
    }
    await this.#letOrphansGo(orphans);
  }

  /** No coordinator knows these transactions any more: asks the other branches of each. */
  async #letOrphansGo(branches: readonly Applied[]): Promise<void> {
    const { self, ring } = this.#context.parts;
    sometimes('transaction.orphans-let-go');
    const silent = new Set<NodeId>();
    for (const { xid, order } of branches) {
      const known: readonly Pick<Member, 'node'>[] =
        order.branches.length === 0 ? ring().members : order.branches;
      const others = known.filter(({ node }) => node !== self.node && node !== order.coordinator);
      const waiting = await Promise.all(others.map(({ node }) => this.#mayWait(node, xid, silent)));
      if (!waiting.includes(true)) this.#coordinator.remembered.release(xid, [self.node]);
    }
  }

  /**
   * Whether the node waits for the outcome, or cannot be asked. In the latter case it is added to `silent`, and not
   * asked again.
   */
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
