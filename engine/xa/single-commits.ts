/**
 * Transactions whose keys have one primary: one atomic batch there, in one message. When the answer stays out, the
 * outcome is asked for until it is known; a primary that has no record of it by then will not carry it out any more.
 */
import { Deferred } from '../base/deferred.ts';
import type { NodeId } from '../base/ids.ts';
import type { Branches } from './branches.ts';
import type { NoAnswer, TransactionContext } from './context.ts';
import { askNode } from './context.ts';
import type { TransactionOutcome } from './outcomes.ts';
import type { Ended, Voted } from './orders.ts';
import type { Remembered } from './remembered.ts';
import type { BranchOrder, BranchReply } from './words.ts';
import type { Xid } from './xid.ts';

interface Lost {
  readonly xid: Xid;
  readonly node: NodeId;
  /** The node's, when it was asked. */
  readonly life: number;
  readonly operationCount: number;
  readonly sinceMs: number;
  readonly outcome: Deferred<TransactionOutcome>;
  asking: boolean;
}

export class SingleCommits {
  readonly #context: TransactionContext;
  readonly #branches: Branches;
  readonly #remembered: Remembered;
  /** Those whose answer has not come. */
  readonly #lost = new Map<Xid, Lost>();

  constructor(context: TransactionContext, branches: Branches, remembered: Remembered) {
    this.#context = context;
    this.#branches = branches;
    this.#remembered = remembered;
  }

  /** Those whose outcome is not known. */
  get lost(): readonly Pick<Lost, 'xid' | 'node' | 'sinceMs'>[] {
    return [...this.#lost.values()];
  }

  async run(xid: Xid, node: NodeId, order: BranchOrder, timeoutUs: number): Promise<TransactionOutcome> {
    const count = order.operations.length;
    if (node === this.#context.parts.self.node) {
      const ended = await this.#branches.commitAlone(xid, order, false);
      return this.#outcomeOf(xid, node, count, ended) ?? { kind: 'inDoubt', xid };
    }
    const request = { kind: 'commitAlone', xid, order } as const;
    const reply = await askNode(this.#context, node, request, Math.floor(timeoutUs * 0.75));
    const outcome = this.#outcomeOf(xid, node, count, reply);
    if (outcome !== undefined) {
      this.#remembered.release(xid, outcome.kind === 'committed' ? [node] : []);
      return outcome;
    }
    return this.#pursue(xid, node, order, Math.floor(timeoutUs / 4));
  }

  tick(): void {
    for (const lost of this.#lost.values()) {
      if (!lost.asking) this.#context.io.spawn('xa.single.ask', () => this.#ask(lost));
    }
  }

  stop(): void {
    for (const lost of this.#lost.values()) lost.outcome.resolve({ kind: 'inDoubt', xid: lost.xid });
  }

  /** Asks until the outcome is known; the client waits for it no longer than its patience. */
  async #pursue(xid: Xid, node: NodeId, order: BranchOrder, leftUs: number): Promise<TransactionOutcome> {
    const { io } = this.#context;
    const outcome = new Deferred<TransactionOutcome>();
    const lost: Lost = {
      xid,
      node,
      life: order.branches[0]?.life ?? 0,
      operationCount: order.operations.length,
      sinceMs: io.clock.wallMs(),
      outcome,
      asking: false,
    };
    this.#lost.set(xid, lost);
    io.log.event('debug', 'xa.single.lost', { xid, node });
    const timer = io.clock.after(leftUs, () => outcome.resolve({ kind: 'inDoubt', xid }));
    io.spawn('xa.single.ask', () => this.#ask(lost));
    const known = await outcome.promise;
    timer.cancel();
    return known;
  }

  async #ask(lost: Lost): Promise<void> {
    const { xid, node, life, operationCount } = lost;
    lost.asking = true;
    const timeoutUs = this.#context.parts.settings.timeoutMs * 1000;
    const reply = await askNode(this.#context, node, { kind: 'inquire', xid, life }, timeoutUs);
    lost.asking = false;
    if (reply.kind !== 'told' || reply.state === 'undecided') return;
    this.#lost.delete(xid);
    this.#context.io.log.event('debug', 'xa.single.learned', { xid, state: reply.state });
    // The primary says that it has it, and may still be spreading it.
    const outcome: TransactionOutcome =
      reply.state === 'committed'
        ? { kind: 'committed', xid, operationCount, branches: [{ node, vote: 'commit', pending: true }] }
        : { kind: 'aborted', xid, reason: 'prepare_failed', detail: `${node} did not carry it out` };
    if (outcome.kind === 'committed') this.#remembered.release(xid, [node]);
    this.#remembered.keep(outcome);
    lost.outcome.resolve(outcome);
  }

  /** Undefined: nobody knows. */
  #outcomeOf(
    xid: Xid,
    node: NodeId,
    operationCount: number,
    reply: Voted | Ended | BranchReply | NoAnswer,
  ): TransactionOutcome | undefined {
    switch (reply.kind) {
      case 'ended':
        return {
          kind: 'committed',
          xid,
          operationCount,
          branches: [{ node, vote: 'commit', pending: !reply.met }],
        };
      case 'voted':
        if (reply.earlier !== undefined) return this.#remembered.repeated(reply.earlier);
        if (reply.vote === 'readOnly') {
          const branches = [{ node, vote: 'read_only', pending: false }] as const;
          return { kind: 'committed', xid, operationCount, branches };
        }
        if (reply.vote === 'doubtful') return undefined;
        return { kind: 'aborted', xid, reason: reply.reason, detail: `${node}: ${reply.detail}` };
      case 'noAnswer':
        if (!reply.unsent) return undefined;
        return { kind: 'aborted', xid, reason: 'no_targets', detail: reply.detail };
      case 'told':
        return undefined;
    }
  }
}
