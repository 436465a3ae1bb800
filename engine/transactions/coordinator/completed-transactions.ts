/**
 * What a coordinator still knows of transactions that are over: outcomes for clients who ask by name, and which
 * branches have yet to hear that their records may go. Bounded by time and count; commits outlive a restart (their
 * decision records are kept as `ended`), aborts need not: presumed abort answers for them.
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
/** Names in one message. */
const forgetCountMax = 1000;
/** Records dropped in one write. */
const sweptCountMax = 1000;
/** With so many names a node is told at once, not at the next tick: what it remembers is bounded under any load. */
const forgetSoonCount = 256;

export class CompletedTransactions {
  readonly #context: TransactionContext;
  readonly #committed: CommittedOutcomes;
  /** All others. */
  readonly #outcomes = new RecentMap<Xid, TransactionOutcome>(outcomesMax);
  /** Ended decisions whose records are kept, oldest first, and since when. */
  readonly #records = new Map<Xid, number>();
  readonly #forgets = new Map<NodeId, Set<Xid>>();
  readonly #asking = new Set<NodeId>();
  #sweeping = false;
  /** Those that did not hear it since the last tick. */
  readonly #silent = new Set<NodeId>();
  #forgetLocally: (xids: readonly Xid[]) => void = () => undefined;

  /** `prefix`: what the names of this life's transactions begin with. */
  constructor(context: TransactionContext, prefix: string) {
    this.#context = context;
    this.#committed = new CommittedOutcomes(prefix);
  }

  /** How this node's own branches forget. */
  onForget(forget: (xids: readonly Xid[]) => void): void {
    this.#forgetLocally = forget;
  }

  outcome(xid: Xid): TransactionOutcome | undefined {
    return this.#committed.get(xid) ?? this.#outcomes.get(xid);
  }

  /** Every branch has committed and said so. */
  hasEnded(xid: Xid): boolean {
    return this.#records.has(xid);
  }

  /** Remembers an outcome. */
  keep(outcome: TransactionOutcome): void {
    if (outcome.kind === 'inDoubt') return;
    if (outcome.kind === 'committed' && this.#committed.keep(outcome)) return;
    this.#committed.delete(outcome.xid);
    this.#outcomes.set(outcome.xid, outcome);
  }

  /** Nobody will ever know what became of it. */
  keepUnknown(xid: Xid): void {
    this.#outcomes.set(xid, { kind: 'inDoubt', xid });
  }

  /** An attempt that came to nothing is asked for: what became of its client's id. */
  keepAs(xid: Xid, outcome: TransactionOutcome): void {
    if (outcome.xid === xid) this.keep(outcome);
    else this.#outcomes.set(xid, outcome);
  }

  /** Every branch has committed: the outcome stays. */
  end(outcome: CommittedOutcome): void {
    this.keep(outcome);
    this.#records.set(outcome.xid, this.#context.io.clock.wallMs());
  }

  /** That is durable: the branches may forget. */
  releaseAll(xid: Xid, { branches }: DecisionRecord): void {
    this.release(
      xid,
      branches.filter(({ readOnly }) => !readOnly).map(({ node }) => node),
    );
  }

  /** These branches may forget the transaction. */
  release(xid: Xid, nodes: readonly NodeId[]): void {
    for (const node of nodes) {
      if (node === this.#context.parts.self.node) {
        this.#forgetLocally([xid]);
        continue;
      }
      let waiting = this.#forgets.get(node);
      if (waiting === undefined) this.#forgets.set(node, (waiting = new Set()));
      waiting.add(xid);
      if (waiting.size >= forgetSoonCount && !this.#silent.has(node)) this.#tellSoon(node, waiting);
    }
  }

  /** The outcome of the transaction that carried out, or may carry out, the same client's name. */
  repeated({ xid, state }: { readonly xid: Xid; readonly state: ReportedState }): TransactionOutcome {
    const known = this.outcome(xid);
    if (known !== undefined) return known;
    return state === 'committed' ? { kind: 'committed', xid, branches: [] } : { kind: 'inDoubt', xid };
  }

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

  /** Until few names are left; after a failure no more until the next tick. */
  async #tell(node: NodeId, xids: Set<Xid>): Promise<void> {
    const { settings } = this.#context.parts;
    let heard: boolean;
    do {
      const told = [...xids].slice(0, forgetCountMax);
      const request = { kind: 'forget', xids: told } as const;
      const reply = await askNode(this.#context, node, request, settings.timeoutMs * 1000);
      heard = reply.kind === 'told';
      if (heard) for (const xid of told) xids.delete(xid);
    } while (heard && xids.size >= forgetSoonCount);
    this.#asking.delete(node);
    if (!heard) this.#silent.add(node);
  }

  /** Drops every record that is due, a part at a time: as fast as the disk takes it, whatever the load was. */
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

  /** The oldest records that are older than outcomes are kept, or more than are kept; one part of them. */
  #due(): readonly Xid[] {
    const { io, options } = this.#context;
    const until = io.clock.wallMs() - options.retentionMs;
    const surplus = this.#records.size - options.rememberedMax;
    const due: Xid[] = [];
    for (const [xid, sinceMs] of this.#records) {
      if ((sinceMs > until && due.length >= surplus) || due.length === sweptCountMax) break;
      due.push(xid);
    }
    return due;
  }
}
