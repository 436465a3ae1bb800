/**
 * What a coordinator still knows of completed transactions: outcomes for clients that ask by id, and which branches
 * have yet to hear that they may drop their records.
 *
 * Bounded by time and count. Commits outlive a restart: their decision records are kept as `ended`. Aborts need not:
 * presumed abort answers for them.
 */
import type { NodeId } from '../../base/ids.ts';
import { RecentMap } from '../../base/recent-map.ts';
import type { TransactionContext } from '../context.ts';
import { askNode } from '../context.ts';
import type { CommittedOutcome } from './committed-transactions.ts';
import { CommittedOutcomes } from './committed-transactions.ts';
import type { TransactionOutcome } from '../formats/outcomes.ts';
import type { DecisionRecord } from '../formats/records.ts';
import { dropDecision } from '../formats/records.ts';
import type { ReportedState } from '../formats/messages.ts';
import type { Xid } from '../formats/xid.ts';

const outcomesMax = 131_072;
/** Transaction ids in one `forget` message, whatever the configuration allows. */
const forgetCountMax = 1000;
/** Records dropped in one write, whatever the configuration allows. */
const sweptCountMax = 1000;
/**
 * With this many ids waiting, a node is told at once and not at the next tick. That bounds the memory under any load.
 */
const forgetSoonCount = 256;

/** The outcomes of this coordinator's completed transactions, and the `forget` messages to their branches. */
export class CompletedTransactions {
  readonly #context: TransactionContext;
  readonly #committed: CommittedOutcomes;
  /** All outcomes that `#committed` does not take. */
  readonly #outcomes = new RecentMap<Xid, TransactionOutcome>(outcomesMax);
  /** Decision records of state `ended`, oldest first, and since when they are (monotonic, microseconds). */
  readonly #records = new Map<Xid, number>();
  readonly #forgets = new Map<NodeId, Set<Xid>>();
  readonly #asking = new Set<NodeId>();
  #sweeping = false;
  /** Nodes that did not answer a `forget` since the last tick. */
  readonly #silent = new Set<NodeId>();
  #forgetLocally: (xids: readonly Xid[]) => void = () => undefined;

  /** `prefix`: what the ids of this incarnation's transactions begin with. */
  constructor(context: TransactionContext, prefix: string) {
    this.#context = context;
    this.#committed = new CommittedOutcomes(prefix);
  }

  #atMost(count: number): number {
    return Math.min(count, this.#context.options.pageItems);
  }

  /** Sets how this node's own branches forget. */
  onForget(forget: (xids: readonly Xid[]) => void): void {
    this.#forgetLocally = forget;
  }

  /** The outcome; undefined if it is unknown or forgotten. */
  outcome(xid: Xid): TransactionOutcome | undefined {
    return this.#committed.get(xid) ?? this.#outcomes.get(xid);
  }

  /** True if every branch has acknowledged the commit. */
  hasEnded(xid: Xid): boolean {
    return this.#records.has(xid);
  }

  /** Keeps an outcome, unless it is in doubt. */
  keep(outcome: TransactionOutcome): void {
    if (outcome.kind === 'inDoubt') return;
    if (outcome.kind === 'committed' && this.#committed.keep(outcome)) return;
    this.#committed.delete(outcome.xid);
    this.#outcomes.set(outcome.xid, outcome);
  }

  /** Keeps the transaction as in doubt for good: no node knows its outcome. */
  keepUnknown(xid: Xid): void {
    this.#outcomes.set(xid, { kind: 'inDoubt', xid });
  }

  /** Keeps for `xid` the outcome that its idempotency key has come to, which may be another transaction's. */
  keepAs(xid: Xid, outcome: TransactionOutcome): void {
    if (outcome.xid === xid) this.keep(outcome);
    else this.#outcomes.set(xid, outcome);
  }

  /** Every branch has acknowledged the commit: keeps the outcome and counts its record. */
  end(outcome: CommittedOutcome): void {
    this.keep(outcome);
    this.#records.set(outcome.xid, this.#context.io.clock.nowUs());
  }

  /** Lets every branch with writes forget the transaction. Call it once the `ended` record is durable. */
  releaseAll(xid: Xid, { branches }: DecisionRecord): void {
    this.release(
      xid,
      branches.filter(({ readOnly }) => !readOnly).map(({ node }) => node),
    );
  }

  /** Lets the branches on these nodes forget the transaction. */
  release(xid: Xid, nodes: readonly NodeId[]): void {
    for (const node of nodes) {
      if (node === this.#context.parts.self.node) {
        this.#forgetLocally([xid]);
        continue;
      }
      let waiting = this.#forgets.get(node);
      if (waiting === undefined) this.#forgets.set(node, (waiting = new Set()));
      waiting.add(xid);
      if (waiting.size >= this.#atMost(forgetSoonCount) && !this.#silent.has(node))
        this.#tellSoon(node, waiting);
    }
  }

  /** The outcome for a retry: that of the earlier transaction under the same idempotency key. */
  repeated({ xid, state }: { readonly xid: Xid; readonly state: ReportedState }): TransactionOutcome {
    const known = this.outcome(xid);
    if (known !== undefined) return known;
    return state === 'committed' ? { kind: 'committed', xid, branches: [] } : { kind: 'inDoubt', xid };
  }

  /** Sends waiting `forget` messages and drops records that are due. */
  tick(): void {
    this.#silent.clear();
    for (const [node, xids] of this.#forgets) {
      if (this.#context.lives.isOver(node)) this.#forgets.delete(node);
      else if (xids.size > 0) this.#tellSoon(node, xids);
    }
    this.#sweep();
  }

  #tellSoon(node: NodeId, xids: Set<Xid>): void {
    if (this.#asking.has(node)) return;
    this.#asking.add(node);
    this.#context.io.spawn('xa.forget', () => this.#tell(node, xids));
  }

  /** Tells the node until few ids are left. After a failure it waits for the next tick. */
  async #tell(node: NodeId, xids: Set<Xid>): Promise<void> {
    const { settings } = this.#context.parts;
    let heard: boolean;
    do {
      const told = firstOf(xids, this.#atMost(forgetCountMax));
      const request = { kind: 'forget', xids: told } as const;
      const reply = await askNode(this.#context, node, request, settings.timeoutMs * 1000);
      heard = reply.kind === 'told';
      if (heard) for (const xid of told) xids.delete(xid);
    } while (heard && xids.size >= this.#atMost(forgetSoonCount));
    this.#asking.delete(node);
    if (!heard) this.#silent.add(node);
  }

  /** Drops every record that is due, `sweptCountMax` at a time: as fast as the disk takes it, whatever the load was. */
  #sweep(): void {
    if (this.#sweeping || this.#due().length === 0) return;
    this.#sweeping = true;
    this.#context.io.spawn('xa.sweep', async () => {
      for (let due = this.#due(); due.length > 0; due = this.#due()) {
        for (const xid of due) {
          this.#records.delete(xid);
          this.#committed.delete(xid);
          this.#outcomes.delete(xid);
        }
        await this.#context.log.force(due.map(dropDecision));
      }
      this.#sweeping = false;
    });
  }

  /** The next records to drop: older than the retention time, or more than `rememberedMax`. At most `sweptCountMax`. */
  #due(): readonly Xid[] {
    const { io, options } = this.#context;
    const untilUs = io.clock.nowUs() - options.retentionMs * 1000;
    const excess = this.#records.size - options.rememberedMax;
    const due: Xid[] = [];
    for (const [xid, sinceUs] of this.#records) {
      if ((sinceUs > untilUs && due.length >= excess) || due.length === this.#atMost(sweptCountMax)) break;
      due.push(xid);
    }
    return due;
  }
}

/** The oldest of the ids. After a start hundreds of thousands may wait: they are not copied for each message. */
function firstOf(xids: ReadonlySet<Xid>, countMax: number): readonly Xid[] {
  const first: Xid[] = [];
  for (const xid of xids) {
    if (first.length === countMax) break;
    first.push(xid);
  }
  return first;
}
