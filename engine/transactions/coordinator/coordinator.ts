/**
 * The transactions that this node coordinates. Drives transactions/protocol/coordinator-protocol.ts with messages, the
 * log and the clients' timeouts. A transaction whose keys have one primary is one atomic batch there, without two-phase
 * commit.
 *
 * After the decision a client always hears `committed`. While the decision is unknown it hears `inDoubt`, never a
 * guess.
 */
import { failAssertion, present } from '../../base/assert.ts';
import { LockstepError } from '../../base/errors.ts';
import type { NodeId } from '../../base/ids.ts';
import { KeyPlacement } from '../../cluster/ring/key-placement.ts';
import { TransientMap } from '../../base/transient-map.ts';
import { Deferred } from '../../base/deferred.ts';
import type { OpenSpan, TraceContext } from '../../base/request-trace.ts';
import { sometimes } from '../../base/sometimes.ts';
import type { ConsistencyLevel } from '../../replication/requests.ts';
import type { Branches } from '../participant/branches.ts';
import type { NoAnswer, TransactionContext } from '../context.ts';
import { silenceOf, wordsOf } from '../context.ts';
import type { Active } from './active-transaction.ts';
import {
  abandonable,
  clientOf,
  committedOf,
  decisionOf,
  fateOf,
  isOpenAt,
  nameOf,
  newActive,
} from './active-transaction.ts';
import type { CoordinatorCommand, CoordinatorEvent } from '../protocol/coordinator-protocol.ts';
import {
  answerToBranch,
  brokenBy,
  committers,
  newCoordination,
  recoveredCoordination,
  stepCoordination,
  waitsFor,
} from '../protocol/coordinator-protocol.ts';
import type { Aborted } from '../idempotency/fence.ts';
import { attemptOf, Fences } from '../idempotency/fence.ts';
import { LogHorizon } from '../recovery/log-horizon.ts';
import type { TransactionOutcome, TransactionRequest } from '../formats/outcomes.ts';
import { saidBy } from '../formats/outcomes.ts';
import type { UnrecordedWrites } from '../one-phase/unrecorded-writes.ts';
import { isDurableOnceDecided, objectionTo, ordersOf, unfitToDecide } from './partition.ts';
import type { DecisionRecord, LocalBranch } from '../formats/records.ts';
import { writeDecision } from '../formats/records.ts';
import { CompletedTransactions } from './completed-transactions.ts';
import { SingleCommits } from '../one-phase/single-commits.ts';
import { askBranch } from './branch-requests.ts';
import { mark, markBegin } from '../formats/steps.ts';
import type { IdempotencyService } from '../idempotency/key-service.ts';
import type { BranchReply, BranchRequest, ReportedState } from '../formats/messages.ts';
import type { StoreWrite } from '../../storage/store.ts';
import type { Xid, XidSource } from '../formats/xid.ts';

/** The waits before further attempts; each is twice the one before, a quarter of a second in all. */
const firstWaitUs = 4000;
const lastWaitUs = 128_000;

/** The coordinator role of one node. */
export class Coordinator {
  readonly remembered: CompletedTransactions;
  readonly singles: SingleCommits;
  readonly memory: LogHorizon;
  /** Fences of idempotency keys. */
  readonly fences: Fences;
  readonly #context: TransactionContext;
  readonly #branches: Branches;
  readonly #unrecorded: UnrecordedWrites;
  readonly #xids: XidSource;
  readonly #active = new TransientMap<Xid, Active>();
  #running = 0;

  constructor(
    context: TransactionContext,
    branches: Branches,
    unrecorded: UnrecordedWrites,
    names: Pick<IdempotencyService, 'answer'>,
    xids: XidSource,
  ) {
    this.#context = context;
    this.#branches = branches;
    this.#xids = xids;
    this.memory = new LogHorizon(context.log, context.lives, xids.life);
    this.remembered = new CompletedTransactions(context, xids.prefix);
    this.fences = new Fences(context, (request) => names.answer(request), this.remembered);
    this.singles = new SingleCommits(context, branches, this.remembered, this.fences);
    this.#unrecorded = unrecorded;
  }

  /** Transactions that are not over. */
  get all(): readonly Active[] {
    return this.#active.values();
  }

  /** The transaction, if it is not over. */
  find(xid: Xid): Active | undefined {
    return this.#active.get(xid);
  }

  /** How many clients wait for an answer. */
  get running(): number {
    return this.#running;
  }

  /**
   * Runs a transaction. Resolves with its outcome by the end of the client's timeout; fencing may add a quarter of it.
   * Rejects with what the router throws.
   */
  async run(request: TransactionRequest): Promise<TransactionOutcome> {
    const { io, parts, metrics } = this.#context;
    const startUs = io.clock.nowUs();
    const level = request.level ?? parts.settings.writeLevel;
    this.#running += 1;
    request.times?.dispatched(startUs);
    request.times?.asked(startUs);
    const span = request.times?.dispatchSpan(startUs) ?? request.partOf?.child('dispatch', startUs);
    try {
      const outcome = await this.#attempts(request, level, startUs, span);
      metrics.concluded(outcome.kind === 'aborted' ? outcome.reason : nameOf(outcome));
      metrics.took('total', io.clock.nowUs() - startUs);
      return outcome;
    } finally {
      request.times?.concluded(io.clock.nowUs());
      span?.end(io.clock.nowUs());
      this.#running -= 1;
    }
  }

  /**
   * Attempts a transaction until a member answers for its keys. While members learn of a change of the ring one by one,
   * or a key is on its way to its new primary, a primary refuses what this node takes for possible; nothing has happened
   * then, and a moment later it is possible. Under a client's id there is one attempt: a further one would have to be
   * told from the first.
   */
  async #attempts(
    request: TransactionRequest,
    level: ConsistencyLevel,
    startUs: number,
    span: OpenSpan | undefined,
  ): Promise<TransactionOutcome> {
    const { io } = this.#context;
    const timeoutUs = this.#timeoutUs(request);
    let outcome = await this.#attempt(request, level, startUs, span);
    for (
      let waitUs = firstWaitUs;
      waitUs <= lastWaitUs && this.#mayPass(request, level, outcome);
      waitUs *= 2
    ) {
      const leftUs = timeoutUs - (io.clock.nowUs() - startUs) - waitUs;
      // Late in the client's time the coordinator answers with what it has.
      if (leftUs < timeoutUs / 2) return outcome;
      if (await this.#pause(waitUs)) return outcome;
      sometimes('transaction.attempted-again');
      if (io.log.enabled('trace')) io.log.event('trace', 'xa.attempt.repeated', { xid: outcome.xid });
      const again = { ...request, timeoutMs: Math.floor(leftUs / 1000) };
      outcome = await this.#attempt(again, level, io.clock.nowUs(), span);
    }
    return outcome;
  }

  /** Waits, until the node stops at most; resolves with true if it does. */
  #pause(us: number): Promise<boolean> {
    const over = new Deferred<boolean>();
    this.#context.pauses.take(us, (stopped) => over.resolve(stopped));
    return over.promise;
  }

  /** Whether a primary has refused what this node takes for possible now. */
  #mayPass(request: TransactionRequest, level: ConsistencyLevel, outcome: TransactionOutcome): boolean {
    if (outcome.kind !== 'aborted' || outcome.reason !== 'no_targets') return false;
    if (request.clientId !== undefined || request.forceAbort) return false;
    const { parts, lives } = this.#context;
    const orders = ordersOf(parts, lives, request, this.#placesOf(request), level);
    return objectionTo(parts, orders, false) === undefined;
  }

  /** How long the client waits, in microseconds. */
  #timeoutUs({ timeoutMs }: TransactionRequest): number {
    return (timeoutMs ?? this.#context.parts.settings.timeoutMs) * 1000;
  }

  #placesOf({ operations }: TransactionRequest): readonly KeyPlacement[] {
    const { router, ring } = this.#context.parts;
    return operations.map(({ key }) => new KeyPlacement(router.tokenOf(key), ring()));
  }

  /** The request with its keys in the present epochs of their buckets: all branches of an attempt have the same. */
  #inPresentEpoch(request: TransactionRequest): TransactionRequest {
    const { epochs } = this.#context.parts.router;
    if (!epochs.any) return request;
    const operations = request.operations.map((operation) => {
      return { ...operation, key: epochs.present(operation.key) };
    });
    return { ...request, operations };
  }

  async #attempt(
    given: TransactionRequest,
    level: ConsistencyLevel,
    startUs: number,
    span: OpenSpan | undefined,
  ): Promise<TransactionOutcome> {
    const request = this.#inPresentEpoch(given);
    const xid = this.#xids.next();
    const places = this.#placesOf(request);
    const own = this.#unrecorded.take(xid, request, places, level);
    const told = await (own === undefined
      ? this.#run(xid, request, places, level, startUs, span)
      : this.#unrecorded.run(xid, own, level, this.#timeoutUs(request), this.remembered, span));
    const outcome =
      request.clientId !== undefined && told.kind === 'aborted' && told.xid === xid
        ? await this.#fence(request, places, told, level, startUs)
        : told;
    if (!this.remembered.hasEnded(xid)) this.remembered.keep(outcome);
    return outcome;
  }

  /**
   * Fences the idempotency key of an aborted transaction and resolves with what the client hears. Takes at least a
   * quarter of the client's timeout.
   */
  #fence(
    request: TransactionRequest,
    places: readonly KeyPlacement[],
    told: Aborted,
    level: ConsistencyLevel,
    startUs: number,
  ): Promise<TransactionOutcome> {
    const { parts, io, lives } = this.#context;
    const timeoutUs = this.#timeoutUs(request);
    const leftUs = timeoutUs - (io.clock.nowUs() - startUs);
    const attempt = attemptOf([...ordersOf(parts, lives, request, places, level).values()]);
    if (attempt === undefined) return Promise.resolve(told);
    return this.fences.settle(attempt, told, Math.max(leftUs, Math.floor(timeoutUs / 4)));
  }

  /** Transactions under the idempotency key that are not over. */
  named(clientId: string): readonly Active[] {
    return this.all.filter((active) => clientOf(active)?.clientId === clientId);
  }

  /** What is certain now of a transaction under way. */
  outcomeOf(active: Active): TransactionOutcome {
    const { phase } = active.state;
    if (phase === 'committing' || phase === 'ended') return committedOf(active);
    return phase === 'aborted' ? this.#abortOf(active) : { kind: 'inDoubt', xid: active.xid };
  }

  /**
   * Answers a branch that asks for the outcome. No record means abort, provided that the log goes back to the
   * incarnation of the transaction's id.
   */
  async inquire(xid: Xid): Promise<ReportedState> {
    const active = this.#active.get(xid);
    if (active !== undefined) return answerToBranch(active.state);
    if (this.remembered.hasEnded(xid)) return 'aborted';
    // A record that cannot be read may be a commit, so the coordinator does not answer.
    const decided = await this.#context.log.decisionOf(xid);
    if (decided instanceof LockstepError) return 'undecided';
    if (decided === undefined && !this.memory.reachesBackToNameOf(xid)) {
      sometimes('transaction.coordinator-forgot');
      return 'forgotten';
    }
    if (decided === undefined) sometimes('transaction.presumed-abort');
    // After `ended`, only a branch asks that a late prepare request has started anew: it must abort.
    return decided?.state === 'committing' ? 'committed' : 'aborted';
  }

  /** Answers a client that asks for the outcome. Reports nothing that is only presumed. */
  async status(xid: Xid): Promise<ReportedState> {
    const active = this.#active.get(xid);
    if (active !== undefined) return answerToBranch(active.state);
    const decided = await this.#context.log.decisionOf(xid);
    if (decided instanceof LockstepError) return 'undecided';
    return decided === undefined ? 'none' : 'committed';
  }

  /** Takes up a decision that a start has found in the log. */
  restore(xid: Xid, record: DecisionRecord): void {
    const nodes = record.branches.filter(({ readOnly }) => !readOnly).map(({ node }) => node);
    const state = recoveredCoordination(xid, nodes);
    const { clock } = this.#context.io;
    const active = newActive(state, new Map(), false, record.operationCount, record.sinceMs, clock.nowUs());
    this.#active.set(xid, active);
  }

  /**
   * Carries out an operator's decision to abandon lost branches. False if no transaction here waits for any. Throws
   * `Conflict` while another branch has not acknowledged: it may hold its record and ask for the outcome.
   */
  abandon(xid: Xid): boolean {
    const active = this.#active.get(xid);
    if (active === undefined) return false;
    const lost = abandonable(active);
    this.#context.metrics.decidedByOperator('abandon');
    this.#context.io.log.event('warn', 'xa.decision.abandoned', { xid, nodes: lost.join(' ') });
    for (const node of lost) {
      active.unmet.push(node);
      this.#post(active, { kind: 'abandoned', node });
    }
    return true;
  }

  /**
   * Hands the dead node's parts of committed transactions to its replacement. True if one of those parts is not applied
   * yet, or may still be committed.
   */
  handOver(node: NodeId, replacement: NodeId): boolean {
    const open = this.all.filter((one) => isOpenAt(one, node, Infinity) && !one.lost.includes(node));
    if (open.length > 0) sometimes('transaction.part-handed-to-replacement');
    for (const active of open) if (active.state.phase === 'committing') this.#redo(active, node, replacement);
    return open.length > 0;
  }

  /** Sends every unacknowledged commit again. */
  tick(): void {
    for (const active of this.#active.values()) {
      if (active.state.phase !== 'committing') continue;
      sometimes('transaction.commit-repeated');
      mark(this.#context.io, 'c.indoubt.written', active.xid);
      this.#post(active, { kind: 'reminded' });
    }
    this.singles.tick();
    this.fences.tick();
    this.remembered.tick();
  }

  /** Cancels the clients' timers and answers each waiting client with what is certain. */
  stop(): void {
    for (const active of this.#active.values()) this.#runOut(active);
    this.singles.stop();
  }

  #run(
    xid: Xid,
    request: TransactionRequest,
    places: readonly KeyPlacement[],
    level: ConsistencyLevel,
    startUs: number,
    span: OpenSpan | undefined,
  ): Promise<TransactionOutcome> {
    const { parts, io, lives } = this.#context;
    const timeoutUs = this.#timeoutUs(request);
    const orders = ordersOf(parts, lives, request, places, level);
    markBegin(io, xid, [...orders.keys()].join(' '), request.clientId);
    const rejection = objectionTo(parts, orders, request.forceAbort);
    if (rejection !== undefined) return Promise.resolve({ kind: 'aborted', xid, ...rejection });
    const [only] = orders;
    if (orders.size === 1 && only !== undefined && !request.forceAbort)
      return this.singles.run(xid, only[0], only[1], timeoutUs, span);
    const state = newCoordination(xid, [...orders.keys()], request.forceAbort);
    const early =
      request.waitsForBranches !== true &&
      [...orders.values()].every((order) => isDurableOnceDecided(parts, order));
    const active = newActive(state, orders, early, request.operations.length, io.clock.wallMs(), startUs);
    active.times = request.times;
    active.span = span;
    this.#active.set(xid, active);
    const halfUs = Math.floor(timeoutUs / 2);
    active.timer = io.clock.after(halfUs, () => {
      this.#expirePrepare(active);
      if (active.outcome.settled) return;
      active.timer = io.clock.after(timeoutUs - halfUs, () => this.#runOut(active));
    });
    this.#post(active, { kind: 'begun' });
    return active.outcome.promise;
  }

  #post(active: Active, event: CoordinatorEvent): void {
    const { state, commands } = stepCoordination(active.state, event);
    const broken = brokenBy(active.state, state);
    if (broken !== undefined)
      failAssertion('a coordinator keeps votes and outcome', active.xid, event.kind, broken);
    active.state = state;
    for (const command of commands) this.#perform(active, command);
  }

  #perform(active: Active, command: CoordinatorCommand): void {
    const { io } = this.#context;
    const { xid } = active;
    switch (command.kind) {
      case 'sendPrepare':
        this.#sendPrepare(active, command.node);
        return;
      case 'forceDecision':
        io.spawn('xa.decide', () => this.#decide(active));
        return;
      case 'sendCommit':
        this.#sendCommit(active, command.node);
        return;
      case 'sendRollback':
        this.#ask(command.node, { kind: 'rollback', xid }, () => undefined);
        return;
      case 'sendForget':
        this.#ask(command.node, { kind: 'forget', xids: [xid] }, () => undefined);
        return;
      case 'conclude':
        this.#conclude(active, command.outcome);
        return;
      case 'end':
        this.#end(active);
        return;
    }
  }

  #sendPrepare(active: Active, node: NodeId): void {
    const { xid } = active;
    const order = present(active.orders.get(node), 'the order of a branch');
    mark(this.#context.io, 'c.prepare.sent', xid, { to: node });
    const heard = (reply: BranchReply | NoAnswer): void => this.#hearVote(active, node, reply);
    this.#ask(node, { kind: 'prepare', xid, order }, heard, active.span);
  }

  #hearVote(active: Active, node: NodeId, reply: BranchReply | NoAnswer): void {
    const { io } = this.#context;
    if (reply.kind === 'voted' && reply.vote !== 'doubtful') {
      mark(io, 'c.vote.recv', active.xid, { from: node, vote: reply.vote });
      if (reply.vote === 'abort' && active.state.phase === 'preparing') {
        active.detail = saidBy(node, reply.detail);
        active.earlier ??= reply.earlier;
      }
      if (reply.vote === 'commit') active.marks.set(node, reply.detail);
      this.#post(active, { kind: 'voted', node, vote: reply.vote, reason: reply.reason });
      return;
    }
    if (active.state.phase === 'preparing') active.detail = saidBy(node, wordsOf(reply));
    this.#post(active, { kind: 'silent', node, reason: silenceOf(reply) });
  }

  async #decide(active: Active): Promise<void> {
    const { io, log, metrics, parts } = this.#context;
    const { xid } = active;
    if (active.state.phase !== 'deciding')
      failAssertion('a decision is forced once', xid, active.state.phase);
    metrics.took('prepare', io.clock.nowUs() - active.phaseUs);
    active.phaseUs = io.clock.nowUs();
    mark(io, 'c.decision.beforeLog', xid);
    const decide = (here: LocalBranch | undefined): StoreWrite =>
      writeDecision(xid, decisionOf(active, 'committing', here));
    const then = {
      handedOver: () => mark(io, 'c.decision.written', xid),
      durable: () => mark(io, 'c.decision.synced', xid),
    };
    const own = committers(active.state).includes(parts.self.node);
    const unfit = unfitToDecide(parts);
    const force = (): Promise<LockstepError | undefined> =>
      own ? this.#branches.commitWith(xid, decide, then) : log.force([decide(undefined)], then);
    const forced =
      unfit === undefined ? force() : Promise.resolve(new LockstepError('NoTargets', unfit.detail));
    // Unforced records share the sync of this one.
    log.flush();
    const sync = active.span?.child('sync', io.clock.nowUs());
    const error = await forced;
    sync?.end(io.clock.nowUs(), error?.code);
    if (error?.definite === true) {
      active.detail = `the decision was not taken: ${error.message}`;
      sometimes('transaction.decision-refused');
      io.log.event('warn', 'xa.decision.refused', { xid, detail: error.message });
    } else if (error !== undefined) {
      sometimes('transaction.decision-doubtful');
      io.log.event('error', 'xa.decision.doubted', { xid, detail: error.message });
    }
    const decisionUs = io.clock.nowUs() - active.phaseUs;
    metrics.took('decision', decisionUs);
    active.times?.forced(decisionUs);
    active.phaseUs = io.clock.nowUs();
    this.#post(active, { kind: fateOf(error) });
  }

  #sendCommit(active: Active, node: NodeId): void {
    const { xid } = active;
    if (active.state.phase !== 'committing')
      failAssertion('a commit is sent once the decision is durable', xid, active.state.phase, node);
    mark(this.#context.io, 'c.commit.sent', xid, { to: node });
    const heard = (reply: BranchReply | NoAnswer): void => {
      if (reply.kind === 'told' && waitsFor(active.state, node)) this.#redo(active, node);
      else if (reply.kind === 'noAnswer' && this.#context.lives.isOver(node)) this.#lose(active, node);
      else this.#hearAcknowledgement(active, node, reply);
    };
    this.#ask(node, { kind: 'commit', xid }, heard, active.span);
  }

  #hearAcknowledgement(active: Active, node: NodeId, reply: BranchReply | NoAnswer): void {
    if (reply.kind !== 'ended') return;
    if (!reply.met && !active.unmet.includes(node)) active.unmet.push(node);
    mark(this.#context.io, 'c.ack.recv', active.xid, { from: node });
    this.#post(active, { kind: 'acknowledged', node });
  }

  /**
   * The branch has voted and has no record any more: its disk was lost. Sends its prepare request again, to the node or
   * to its replacement. A coordinator that restarted since has no prepare requests; then the transaction stays in doubt
   * until an operator abandons it.
   */
  #redo(active: Active, node: NodeId, to = node): void {
    const { xid, orders, marks } = active;
    const order = orders.get(node);
    if (order === undefined) return this.#lose(active, node);
    sometimes('transaction.branch-redone');
    this.#context.io.log.event('error', 'xa.branch.lost', { xid, node, redone: true });
    this.#ask(to, { kind: 'redo', xid, order, mark: marks.get(node) ?? '' }, (reply) => {
      // The replacement does not lead these keys any more.
      if (reply.kind === 'told' && reply.state === 'forgotten') this.#lose(active, node);
      else this.#hearAcknowledgement(active, node, reply);
    });
  }

  /**
   * Marks a branch that cannot be completed: its prepare request is gone, or its node is, and other nodes have written
   * its keys since.
   */
  #lose({ xid, lost }: Active, node: NodeId): void {
    if (lost.includes(node)) return;
    lost.push(node);
    sometimes('transaction.branch-lost');
    this.#context.io.log.event('error', 'xa.branch.lost', { xid, node, redone: false });
  }

  #conclude(active: Active, outcome: 'committed' | 'aborted'): void {
    const { xid, state } = active;
    if (answerToBranch(state) !== outcome)
      failAssertion('a client hears the outcome of the protocol', xid, state.phase, outcome);
    if (outcome === 'aborted') {
      this.#settle(active, this.#abortOf(active));
      this.#active.delete(active.xid);
    } else if (active.state.phase === 'ended') {
      // Every branch was read-only.
      this.#settle(active, committedOf(active));
      this.#active.delete(active.xid);
    } else if (active.answersEarly) {
      this.#settle(active, committedOf(active));
    }
  }

  #end(active: Active): void {
    const { io, log, metrics } = this.#context;
    const { xid } = active;
    metrics.took('commit', io.clock.nowUs() - active.phaseUs);
    const outcome = committedOf(active);
    this.#settle(active, outcome);
    const record = decisionOf(active, 'ended', undefined);
    if (this.#active.delete(xid) !== active) failAssertion('a transaction ends once', xid);
    this.remembered.end(outcome);
    log.later(writeDecision(xid, record), {
      handedOver: () => mark(io, 'c.tombstone.written', xid),
      // A coordinator that lost the `ended` record would commit again. Until the record is durable, the branches keep
      // theirs.
      durable: () => {
        mark(io, 'c.forget', xid);
        this.remembered.releaseAll(xid, record);
      },
    });
  }

  #settle(active: Active, outcome: TransactionOutcome): void {
    active.timer?.cancel();
    if (!active.outcome.settled) active.outcome.resolve(outcome);
  }

  #expirePrepare(active: Active): void {
    for (const { node, vote } of active.state.branches) {
      if (vote !== undefined || active.state.phase !== 'preparing') continue;
      active.detail = `${node} has not voted in time`;
      this.#post(active, { kind: 'silent', node, reason: 'prepare_timeout' });
    }
  }

  /** Ends the client's wait with what is certain now. */
  #runOut(active: Active): void {
    if (active.state.phase === 'preparing') this.#expirePrepare(active);
    const decided = active.state.phase === 'committing' || active.state.phase === 'ended';
    this.#settle(active, decided ? committedOf(active) : { kind: 'inDoubt', xid: active.xid });
  }

  #abortOf({ xid, state, detail, earlier }: Active): TransactionOutcome {
    if (earlier !== undefined) return this.remembered.repeated(earlier);
    return { kind: 'aborted', xid, reason: present(state.reason, 'the reason of an abort'), detail };
  }

  #ask(
    node: NodeId,
    request: BranchRequest,
    heard: (reply: BranchReply | NoAnswer) => void,
    trace?: TraceContext,
  ): void {
    askBranch(this.#context, this.#branches, node, request, heard, trace);
  }
}
