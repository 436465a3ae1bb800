/**
 * Transactions whose keys have one primary: one atomic batch there, in one message.
 *
 * If the reply is lost, the coordinator asks for the outcome until it knows it. A primary without a record answers
 * `none` and refuses the transaction from then on. A primary whose log does not go back that far, since its disk was
 * lost, answers `forgotten`: the transaction stays in doubt.
 *
 * A single put never has a record (remote-puts.ts): only the present incarnation of its primary knows its outcome. If
 * that incarnation ends while the reply is lost, the put stays in doubt for good and is no longer listed.
 */
import { Deferred } from '../../base/deferred.ts';
import type { NodeId } from '../../base/ids.ts';
import type { TraceContext } from '../../base/request-trace.ts';
import { sometimes } from '../../base/sometimes.ts';
import type { RoundDependencies } from '../../replication/round-dependencies.ts';
import type { Branches } from '../participant/branches.ts';
import type { Asker, NoAnswer, TransactionContext } from '../context.ts';
import { askNode } from '../context.ts';
import type { TransactionOutcome } from '../formats/outcomes.ts';
import { saidBy } from '../formats/outcomes.ts';
import type { Fences, NamedAttempt } from '../idempotency/fence.ts';
import { attemptOf } from '../idempotency/fence.ts';
import type { Ended, Voted } from '../formats/prepare-request.ts';
import { TimelyOutcome } from './timely-outcome.ts';
import { isSinglePut } from './unrecorded-writes.ts';
import type { CompletedTransactions } from '../coordinator/completed-transactions.ts';
import type { PrepareRequest, BranchReply, ReportedState } from '../formats/messages.ts';
import type { Xid } from '../formats/xid.ts';

interface Lost {
  readonly xid: Xid;
  readonly node: NodeId;
  /** The node's incarnation when the request was sent. */
  readonly life: number;
  /** The request was sent as a put, which has no record. */
  readonly put: boolean;
  readonly operationCount: number;
  readonly sinceMs: number;
  readonly outcome: Deferred<TransactionOutcome>;
  /** Of an idempotency key; undefined without one. */
  readonly attempt: NamedAttempt | undefined;
  asking: boolean;
}

/** The parts of the context that single commits need. */
export interface SingleContext extends Asker, Pick<TransactionContext, 'io' | 'lives'> {
  readonly parts: Asker['parts'] & Pick<RoundDependencies, 'self' | 'settings'>;
}

type Outcomes = Pick<CompletedTransactions, 'keepAs' | 'keepUnknown' | 'release' | 'repeated'>;

/** The one-primary transactions that this node coordinates. */
export class SingleCommits {
  readonly #context: SingleContext;
  readonly #branches: Pick<Branches, 'commitAlone' | 'answerNow'>;
  readonly #remembered: Outcomes;
  readonly #fences: Pick<Fences, 'conclude' | 'settle'>;
  /** Transactions whose reply was lost. */
  readonly #lost = new Map<Xid, Lost>();
  /** Transactions whose reply from another node may still come. */
  readonly #asked = new Set<Xid>();
  #stopped = false;

  constructor(
    context: SingleContext,
    branches: Pick<Branches, 'commitAlone' | 'answerNow'>,
    remembered: Outcomes,
    fences: Pick<Fences, 'conclude' | 'settle'>,
  ) {
    this.#fences = fences;
    this.#context = context;
    this.#branches = branches;
    this.#remembered = remembered;
  }

  /** Transactions whose outcome is unknown. */
  get lost(): readonly Pick<Lost, 'xid' | 'node' | 'sinceMs'>[] {
    return [...this.#lost.values()];
  }

  /**
   * Runs the transaction at its primary `node`. Resolves within `timeoutUs` microseconds, with in doubt if the outcome
   * is unknown by then. `trace`: the span of the dispatch, if the client's request is traced.
   */
  async run(
    xid: Xid,
    node: NodeId,
    order: PrepareRequest,
    timeoutUs: number,
    trace?: TraceContext,
  ): Promise<TransactionOutcome> {
    const count = order.operations.length;
    if (node === this.#context.parts.self.node) return this.#runHere(xid, order, timeoutUs);
    const put = isSinglePut(order);
    const request = { kind: put ? 'put' : 'commitAlone', xid, order } as const;
    this.#asked.add(xid);
    const reply = await askNode(this.#context, node, request, Math.floor(timeoutUs * 0.75), trace);
    this.#asked.delete(xid);
    const outcome = this.#outcomeOf(xid, node, count, reply);
    if (outcome !== undefined) {
      if (!put) this.#remembered.release(xid, outcome.kind === 'committed' ? [node] : []);
      return outcome;
    }
    // The node asks no peer any more.
    if (this.#stopped) return { kind: 'inDoubt', xid };
    return this.#pursue(xid, node, order, put, Math.floor(timeoutUs / 4));
  }

  #runHere(xid: Xid, order: PrepareRequest, timeoutUs: number): Promise<TransactionOutcome> {
    const { io, parts } = this.#context;
    const { node } = parts.self;
    const timely = new TimelyOutcome(io.clock, xid, timeoutUs, this.#remembered, () =>
      this.#branches.answerNow(xid),
    );
    io.spawn('xa.single.here', async () => {
      const ended = await this.#branches.commitAlone(xid, order, false);
      const outcome = this.#outcomeOf(xid, node, order.operations.length, ended);
      const attempt = attemptOf([order]);
      if (timely.isLate && outcome?.kind === 'aborted' && outcome.xid === xid && attempt !== undefined) {
        // Its client may have tried again: only a fence makes the abort final.
        sometimes('transaction.late-abort-fenced');
        timely.end(xid, await this.#fences.settle(attempt, outcome, parts.settings.timeoutMs * 1000));
      } else timely.end(xid, outcome ?? { kind: 'inDoubt', xid });
    });
    return timely.told;
  }

  /** True if the primary, another node, may still have to be asked for the outcome. */
  needs(xid: Xid): boolean {
    return this.#asked.has(xid) || this.#lost.has(xid);
  }

  /** True if the reply was lost and the outcome is unknown. */
  has(xid: Xid): boolean {
    return this.#lost.has(xid);
  }

  /**
   * Carries out an operator's decision to stop asking: the transaction stays in doubt. False if it is not waited for
   * here.
   */
  abandon(xid: Xid): boolean {
    const lost = this.#lost.get(xid);
    if (lost === undefined) return false;
    this.#context.io.log.event('warn', 'xa.single.abandoned', { xid, node: lost.node });
    this.#lost.delete(xid);
    this.#remembered.keepUnknown(xid);
    lost.outcome.resolve({ kind: 'inDoubt', xid });
    return true;
  }

  /** Asks again for every unknown outcome. */
  tick(): void {
    for (const lost of this.#lost.values()) {
      if (!lost.asking) this.#context.io.spawn('xa.single.ask', () => this.#ask(lost));
    }
  }

  /** Answers the waiting clients with in doubt, also those whose reply is lost from now on. */
  stop(): void {
    this.#stopped = true;
    for (const lost of this.#lost.values()) lost.outcome.resolve({ kind: 'inDoubt', xid: lost.xid });
  }

  /** Asks until the outcome is known. The client waits at most `leftUs` microseconds for it. */
  async #pursue(
    xid: Xid,
    node: NodeId,
    order: PrepareRequest,
    put: boolean,
    leftUs: number,
  ): Promise<TransactionOutcome> {
    const { io } = this.#context;
    const outcome = new Deferred<TransactionOutcome>();
    const lost: Lost = {
      xid,
      node,
      life: order.branches[0]?.life ?? 0,
      put,
      operationCount: order.operations.length,
      sinceMs: io.clock.wallMs(),
      outcome,
      attempt: attemptOf([order]),
      asking: false,
    };
    sometimes('transaction.single-reply-lost');
    this.#lost.set(xid, lost);
    io.log.event('debug', 'xa.single.lost', { xid, node });
    const timer = io.clock.after(leftUs, () => outcome.resolve({ kind: 'inDoubt', xid }));
    io.spawn('xa.single.ask', () => this.#ask(lost));
    const known = await outcome.promise;
    timer.cancel();
    return known;
  }

  async #ask(lost: Lost): Promise<void> {
    lost.asking = true;
    const state = await this.#stateOf(lost);
    const outcome = state === 'undecided' ? undefined : await this.#learn(lost, state);
    lost.asking = false;
    const { xid, node, put } = lost;
    if (outcome === undefined || !this.#lost.delete(xid)) return;
    this.#context.io.log.event('debug', 'xa.single.learned', { xid, state });
    if (outcome.kind === 'committed' && !put) this.#remembered.release(xid, [node]);
    if (outcome.kind === 'inDoubt') this.#remembered.keepUnknown(xid);
    else this.#remembered.keepAs(xid, outcome);
    lost.outcome.resolve(outcome);
  }

  /** Undefined if the transaction was not applied and its idempotency key is not fenced yet. */
  async #learn(
    lost: Lost,
    state: Exclude<ReportedState, 'undecided'>,
  ): Promise<TransactionOutcome | undefined> {
    const outcome = learned(lost, state);
    const { attempt } = lost;
    if (outcome.kind !== 'aborted' || attempt === undefined) return outcome;
    const timeoutUs = this.#context.parts.settings.timeoutMs * 1000;
    const final = await this.#fences.conclude(attempt, outcome, timeoutUs);
    return final.kind === 'inDoubt' ? undefined : final;
  }

  async #stateOf({ xid, node, life, put }: Lost): Promise<ReportedState> {
    const { parts } = this.#context;
    if (put && parts.member(node) === undefined) return 'forgotten';
    const request = { kind: put ? 'inquirePut' : 'inquire', xid, life } as const;
    const reply = await askNode(this.#context, node, request, parts.settings.timeoutMs * 1000);
    return reply.kind === 'told' ? reply.state : 'undecided';
  }

  /** Undefined if the reply does not tell the outcome. */
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
        return { kind: 'aborted', xid, reason: reply.reason, detail: saidBy(node, reply.detail) };
      case 'noAnswer':
        if (!reply.unsent && reply.code !== 'StaleEpoch') return undefined;
        return { kind: 'aborted', xid, reason: 'no_targets', detail: reply.detail };
      case 'told':
      case 'bequeathed':
      case 'named':
      case 'fenced':
        return undefined;
    }
  }
}

function learned(
  { xid, node, operationCount }: Lost,
  state: Exclude<ReportedState, 'undecided'>,
): TransactionOutcome {
  switch (state) {
    case 'committed':
      // The primary has applied it, and may still be sending it to the other replicas.
      return { kind: 'committed', xid, operationCount, branches: [{ node, vote: 'commit', pending: true }] };
    case 'aborted':
    case 'none':
      return { kind: 'aborted', xid, reason: 'prepare_failed', detail: `${node} did not carry it out` };
    case 'forgotten':
      return { kind: 'inDoubt', xid };
  }
}
