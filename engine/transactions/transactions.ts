/**
 * The transactions of one node, as listeners and peers use them: run a transaction, look one up, list those in doubt,
 * resolve one by an operator's decision. Ties the coordinator, the branches, the inquiries and the recovery together,
 * and drives all of them with one timer.
 */
import { assert } from '../base/assert.ts';
import { Pauses } from '../io/pauses.ts';
import { BytesError } from '../base/bytes.ts';
import { Deferred } from '../base/deferred.ts';
import { LockstepError } from '../base/errors.ts';
import type { NodeId, Token } from '../base/ids.ts';
import type { PackedKey } from '../base/object-key.ts';
import type { RoundDependencies } from '../replication/round-dependencies.ts';
import type { Timer } from '../io/clock.ts';
import type { Io } from '../io/io.ts';
import type { LostDiskState } from '../cluster/membership/lost-disk-state.ts';
import { answerInTask } from '../peer/wire/answer.ts';
import type { PeerReply } from '../peer/wire/messages.ts';
import type { Active } from './coordinator/active-transaction.ts';
import { clientOf, knowledgeOf } from './coordinator/active-transaction.ts';
import { RemotePuts } from './one-phase/remote-puts.ts';
import { adopt, BatchReplication } from './one-phase/batch-replication.ts';
import type { Branch } from './participant/branch.ts';
import type { DoubtfulAttempt } from './participant/finished-branches.ts';
import { Branches } from './participant/branches.ts';
import { waits } from './protocol/branch-protocol.ts';
import { IdempotencyKeys } from './idempotency/idempotency-keys.ts';
import type { TransactionContext, TransactionOptions } from './context.ts';
import { askNode } from './context.ts';
import { Coordinator } from './coordinator/coordinator.ts';
import { inDoubtOf, unsettledOf } from './coordinator/in-doubt.ts';
import { Inquiries } from './participant/inquiries.ts';
import { AppliedBranchCleanup } from './participant/applied-branch-cleanup.ts';
import type { Memories } from './recovery/lost-disk-state.ts';
import { askTakeover, askLostDiskState, legacyOf } from './recovery/lost-disk-state.ts';
import type { RecordStore } from './recovery/transaction-log.ts';
import { TransactionLog } from './recovery/transaction-log.ts';
import type { Incarnations } from './recovery/log-horizon.ts';
import { TransactionMetrics } from './metrics.ts';
import type { OpenAttempt } from './idempotency/key-service.ts';
import { IdempotencyService } from './idempotency/key-service.ts';
import { KeyReplication } from './idempotency/key-replication.ts';
import type {
  InDoubtEntry,
  Knowledge,
  MemberKnowledge,
  OperatorDecision,
  TransactionOutcome,
  TransactionRequest,
} from './formats/outcomes.ts';
import { UnrecordedWrites } from './one-phase/unrecorded-writes.ts';
import { recoverTransactions } from './recovery/recovery.ts';
import { RetentionClock } from '../base/retention-clock.ts';
import { carryOut, spreadBranch } from './coordinator/branch-requests.ts';
import { surveyOf } from './coordinator/survey.ts';
import type { BranchReply, BranchRequest, ReportedState } from './formats/messages.ts';
import { decodeRequest, encodeReply, hasPrepareRequest, orderBytesOf } from './formats/messages.ts';
import type { Xid } from './formats/xid.ts';
import { XidSource, coordinatorOf } from './formats/xid.ts';

/** Transactions as the listeners use them. */
export interface TransactionService {
  /**
   * Runs a transaction and resolves with its outcome. Rejects with `ShuttingDown` while the node stops, and with the
   * router's errors; no outcome of a transaction is a rejection.
   */
  run(request: TransactionRequest): Promise<TransactionOutcome>;
  /** What this node or the coordinator knows of the transaction. Undefined if neither has a record of it. */
  find(xid: Xid): Promise<Knowledge | undefined>;
  /** What the coordinator and every member know of the transaction. A member without a branch knows nothing. */
  survey(xid: Xid): Promise<readonly MemberKnowledge[]>;
  /** Transactions in doubt on this node, as coordinator or as branch. */
  inDoubt(): readonly InDoubtEntry[];
  /**
   * Carries out an operator's decision over a transaction that waits on this node. Resolves with false if none waits.
   * Rejects with `Conflict` if the transaction's state does not allow the decision.
   */
  resolve(xid: Xid, decision: OperatorDecision): Promise<boolean>;
}

/** The transactions of one node. Lifecycle: `recover`, `start`, then `close` (no new transactions), then `stop`. */
export class Transactions implements TransactionService {
  readonly metrics = new TransactionMetrics();
  /** Answers peers' questions about idempotency keys. */
  readonly names: IdempotencyService;
  readonly #context: TransactionContext;
  readonly #branches: Branches;
  readonly #coordinator: Coordinator;
  readonly #inquiries: Inquiries;
  readonly #leftovers: AppliedBranchCleanup;
  readonly #askedPuts: RemotePuts;
  readonly #memories: Memories;
  readonly #spread: KeyReplication;
  readonly #handed: BatchReplication;
  /** Applied branches of an earlier incarnation that this incarnation has not yet sent to the other replicas again. */
  readonly #recovered = new Set<Branch>();
  /** Resolves once this node has heard its peers, has waited for that, or stops. */
  readonly #acquainted = new Deferred<void>();
  #released: () => void = () => undefined;
  #timer: Timer | undefined;
  #stopped = false;
  #closed = false;

  /** `epoch`: 12 hexadecimal digits, the incarnation id that this node puts into the ids of its transactions. */
  constructor(
    io: Pick<Io, 'clock' | 'log' | 'spawn'>,
    parts: RoundDependencies,
    store: RecordStore,
    options: TransactionOptions,
    epoch: string,
    lives: Incarnations,
    memories: Memories,
  ) {
    const names = new IdempotencyKeys(options.rememberedMax);
    const spread = new KeyReplication(io, parts, options.pageItems);
    const log = new TransactionLog(store);
    const startedUs = io.clock.nowUs();
    const mayHaveGoneBack = (): boolean =>
      !this.#coordinator.memory.isFirst && io.clock.nowUs() - startedUs < options.retentionMs * 1000;
    const { metrics } = this;
    const batches = new BatchReplication(io, parts, options.pageItems);
    const retention = new RetentionClock(io.clock);
    const drivers = { names, retention, spread, batches };
    this.#context = {
      io,
      parts,
      log,
      metrics,
      options,
      lives,
      ...drivers,
      mayHaveGoneBack,
      pauses: new Pauses(io.clock),
    };
    this.#spread = spread;
    this.#handed = batches;
    this.names = new IdempotencyService(this.#context, spread, {
      all: () => this.#openAttempts(),
      named: (clientId) => this.#openUnder(clientId),
      branches: (clientId) => this.#branches.named(clientId).map(attemptIn),
    });
    this.#memories = memories;
    this.#branches = new Branches(this.#context);
    const unrecorded = new UnrecordedWrites(this.#context, this.#branches.locks);
    this.#coordinator = new Coordinator(
      this.#context,
      this.#branches,
      unrecorded,
      this.names,
      new XidSource(parts.self.node, epoch),
    );
    this.#askedPuts = new RemotePuts(this.#context, this.#branches, unrecorded);
    this.#coordinator.remembered.onForget((xids) => this.#branches.forget(xids));
    this.#inquiries = new Inquiries(this.#context, this.#branches, this.#coordinator);
    this.#branches.inquireWith(this.#inquiries);
    this.#leftovers = new AppliedBranchCleanup(this.#context, this.#branches, this.#coordinator);
  }

  /** Reads the log and restores every transaction in it. Must resolve before the node serves any request. */
  async recover(): Promise<void> {
    await this.#coordinator.memory.recover();
    await recoverTransactions(this.#context, this.#branches, this.#coordinator);
    for (const branch of this.#branches.all)
      if (branch.phase === 'applied' || branch.phase === 'heuristicCommitted') this.#recovered.add(branch);
  }

  /** Starts the timer. Recovered branches wait for `acquainted`. */
  start(): void {
    for (const branch of this.#recovered)
      this.#context.io.spawn('xa.spread', () => this.#spreadAgain(branch));
    this.#arm();
  }

  /** This node has heard its peers, or waited for that: sends recovered branches to the other replicas. */
  acquainted(): void {
    this.#acquainted.resolve();
  }

  /** Sends the branch's writes to the other replicas again. Repeats that while the owners change. */
  async #spreadAgain(branch: Branch): Promise<void> {
    let owners = '';
    let isSent: boolean;
    const onBegun = (): void => {
      owners = this.#ownersOf(branch);
      if (this.#recovered.delete(branch)) this.#released();
    };
    do {
      const { promise: acquainted } = this.#acquainted;
      isSent = await spreadBranch(this.#context, branch, { acquainted, onBegun });
    } while (isSent && owners !== this.#ownersOf(branch) && !this.#stopped);
    // A branch that was not sent before the node stops holds back its ring view to the end.
    if (!this.#stopped) onBegun();
  }

  /** The nodes that are to hold what the branch wrote, as one comparable string. */
  #ownersOf({ places }: Branch): string {
    const { ring, pending } = this.#context.parts;
    const owners = places.map(({ token }) => [...ring().placement(token), ...pending(token)]);
    return owners.map((members) => members.map(({ node }) => node).join(' ')).join(',');
  }

  /**
   * Returns a function that lists transactions which hold this node back from publishing its new ring view. A
   * transaction is listed if it holds a key whose primary is another node by the current ring, and
   *
   * - it still locks that key, or
   * - the new primary does not have its writes yet, or
   * - too few owners know its idempotency key.
   *
   * It is also listed if it holds a key that a member which joins or leaves is about to take over or give away, and its
   * coordinator is away. Such a change could not end before the coordinator is back, and once it is in its last step, the
   * coordinator could not be replaced either.
   *
   * Recovered branches are listed until their writes are sent again, since until then no node knows which replicas
   * have them. Calls `released` whenever a transaction may have left the list.
   */
  givenAway(released: () => void): () => readonly Xid[] {
    const { locks } = this.#branches;
    this.#released = released;
    locks.onRelease(released);
    this.#spread.onSettled(released);
    this.#handed.onSettled(released);
    return () => [
      ...locks.holdersOf(({ token }) => !this.#leads(token)),
      ...locks.holdersOf(({ token }) => this.#mayMove(token)).filter((xid) => this.#lacksCoordinator(xid)),
      ...this.#unspread(),
      ...this.#spread.astray((token) => this.#leads(token)),
      ...this.#handed.astray((token) => this.#leads(token)),
    ];
  }

  /** Cancels every timer and releases every waiting reader. What is in doubt stays in the log. */
  stop(): void {
    this.#stopped = true;
    this.#acquainted.resolve();
    this.#timer?.cancel();
    this.#coordinator.stop();
    this.#context.pauses.stop();
    this.#context.log.flush();
    this.#branches.locks.close();
  }

  /** Refuses new transactions with `ShuttingDown`. Transactions under way go on. */
  close(): void {
    this.#closed = true;
  }

  /**
   * How many transactions still need this node. Branches with a heuristic decision are not counted: nothing waits for
   * them.
   */
  get underWay(): number {
    const { self } = this.#context.parts;
    // A remote coordinator may still send the commit of an applied branch. The own coordinator's transactions are
    // counted above.
    const branches = this.#branches.all.filter(({ phase, order }) => {
      return phase === 'applied' ? order.coordinator !== self.node : !phase.startsWith('heuristic');
    });
    return (
      this.#coordinator.running +
      this.#askedPuts.running +
      unsettledOf(this.#coordinator).length +
      this.#coordinator.singles.lost.length +
      branches.length
    );
  }

  run(request: TransactionRequest): Promise<TransactionOutcome> {
    if (this.#stopped || this.#closed) return Promise.reject(new LockstepError('ShuttingDown'));
    assert(!this.#context.lives.hasLeft(), 'a node that has left begins no transaction');
    return this.#coordinator.run(request);
  }

  async find(xid: Xid): Promise<Knowledge | undefined> {
    const here = this.#known(xid);
    if (here !== undefined) return here;
    const coordinator = coordinatorOf(xid);
    if (coordinator === undefined) return undefined;
    const { self, settings } = this.#context.parts;
    if (coordinator === self.node) return knowledgeOf(xid, await this.#statusHere(xid));
    const request = { kind: 'status', xid } as const;
    const reply = await askNode(this.#context, coordinator, request, settings.timeoutMs * 1000);
    return reply.kind === 'told' ? knowledgeOf(xid, reply.state) : { kind: 'inDoubt', xid };
  }

  survey(xid: Xid): Promise<readonly MemberKnowledge[]> {
    return surveyOf(this.#context, xid, () => this.#statusHere(xid));
  }

  inDoubt(): readonly InDoubtEntry[] {
    const { io, parts } = this.#context;
    return inDoubtOf(parts.self.node, this.#coordinator, this.#branches, io.clock.wallMs());
  }

  async resolve(xid: Xid, decision: OperatorDecision): Promise<boolean> {
    if (decision !== 'abandon') return this.#branches.decide(xid, decision);
    if (this.#coordinator.find(xid) !== undefined) return this.#coordinator.abandon(xid);
    if (!this.#coordinator.singles.abandon(xid) && !(await this.#branches.forgetHeuristic(xid))) return false;
    this.metrics.decidedByOperator('abandon');
    return true;
  }

  /** Asks a peer what it knows of this node's earlier incarnations. Undefined if it does not answer. */
  legacyAt(peer: NodeId): Promise<LostDiskState | undefined> {
    return askLostDiskState(this.#context, peer);
  }

  /**
   * Asks a peer whether it coordinates a transaction that waits for a branch of `dead`, the node that this one
   * replaces. Undefined if it does not answer.
   */
  inheritanceAt(peer: NodeId, dead: NodeId): Promise<boolean | undefined> {
    return askTakeover(this.#context, peer, dead);
  }

  /** Handles a peer's `transact` message. Calls `reply` once. */
  handle(words: Uint8Array, reply: (reply: PeerReply) => void): void {
    let request: BranchRequest;
    // Copies a prepare request: the branch keeps it, with values that are views of the bytes, for longer than the frame
    // lives.
    const kept = hasPrepareRequest(words) ? Buffer.from(words) : words;
    try {
      request = decodeRequest(kept);
    } catch (error) {
      if (!(error instanceof BytesError)) throw error;
      reply({ kind: 'failed', code: 'BadRequest', detail: error.message });
      return;
    }
    this.#context.parts.replica.epochs.admit(keysAsked(request), (error) => {
      if (error !== undefined) {
        reply({ kind: 'failed', code: error.code, detail: error.message });
        return;
      }
      answerInTask(this.#context.io, 'xa.handle', reply, async () => {
        return { kind: 'transacted', words: encodeReply(await this.#answer(request, kept)) };
      });
    });
  }

  /** The metric families of transactions on this node. */
  families(): ReturnType<TransactionMetrics['families']> {
    return this.metrics.families({
      prepared: () => this.#branches.all.filter(({ phase }) => phase === 'prepared').length,
      inDoubt: () => unsettledOf(this.#coordinator).length + this.#coordinator.singles.lost.length,
      oldestAgeMs: () => Math.max(0, ...this.inDoubt().map(({ ageMs }) => ageMs)),
      locks: () => this.#branches.locks.size,
    });
  }

  #answer(request: BranchRequest, words: Uint8Array): BranchReply | Promise<BranchReply> {
    switch (request.kind) {
      case 'prepare':
        return this.#branches.prepare(request.xid, request.order, orderBytesOf(words, request.xid));
      case 'commitAlone':
        return this.#branches.commitAlone(request.xid, request.order, true);
      case 'put':
        return this.#askedPuts.run(request.xid, request.order);
      case 'inquirePut':
        return { kind: 'told', state: this.#askedPuts.inquire(request.xid, request.life) };
      case 'commit':
      case 'redo':
        return this.#carryOut(request);
      case 'rollback':
        this.#branches.rollback(request.xid);
        return { kind: 'told', state: 'aborted' };
      case 'inquire':
        return toldOf(this.#inquired(request.xid, request.life));
      case 'status':
        return toldOf(this.#statusHere(request.xid));
      case 'waits':
        return { kind: 'told', state: this.#branches.waits(request.xid) ? 'undecided' : 'none' };
      case 'forget':
        this.#branches.forget(request.xids);
        return { kind: 'told', state: 'none' };
      case 'needed':
        return this.#dropUnneeded(request.node, request.xids);
      case 'reborn':
        return this.#lostDiskState(request.node, request.life);
      case 'inherit':
        return openOr(this.#coordinator.handOver(request.node, request.replacement));
      case 'adopt':
        return adopt(this.#context, request.batch);
      case 'recall':
      case 'names':
      case 'learn':
      case 'claim':
      case 'fence':
      case 'open':
        return this.names.answer(request);
    }
  }

  #lostDiskState(node: NodeId, life: number): BranchReply {
    return { kind: 'bequeathed', ...legacyOf(this.#coordinator, this.#memories, node, life) };
  }

  async #dropUnneeded(node: NodeId, xids: readonly Xid[]): Promise<BranchReply> {
    const lost = await this.#leftovers.letGo(node, xids);
    return { kind: 'told', state: lost.length === 0 ? 'none' : 'forgotten' };
  }

  async #carryOut(request: Extract<BranchRequest, { kind: 'commit' | 'redo' }>): Promise<BranchReply> {
    const ended = await carryOut(this.#branches, request);
    if (ended instanceof LockstepError) throw ended;
    return ended;
  }

  async #inquired(xid: Xid, life: number): Promise<ReportedState> {
    if (coordinatorOf(xid) === this.#context.parts.self.node) return this.#coordinator.inquire(xid);
    const state = this.#branches.inquire(xid);
    return state === 'none' && !this.#coordinator.memory.reachesBackTo(life) ? 'forgotten' : state;
  }

  async #statusHere(xid: Xid): Promise<ReportedState> {
    const known = this.#known(xid);
    if (known?.kind === 'committed' || known?.kind === 'aborted') return known.kind;
    if (known !== undefined) return 'undecided';
    return this.#coordinator.status(xid);
  }

  #known(xid: Xid): Knowledge | undefined {
    const active = this.#coordinator.find(xid);
    const remembered = this.#coordinator.remembered.outcome(xid);
    if (remembered !== undefined && active === undefined) return remembered;
    if (active !== undefined) return this.#coordinator.outcomeOf(active);
    if (this.#coordinator.singles.has(xid) || this.#coordinator.fences.has(xid))
      return { kind: 'inDoubt', xid };
    const branch = this.#branches.find(xid);
    const { self } = this.#context.parts;
    switch (branch?.phase) {
      case 'prepared':
      case 'committing':
      case 'committingOnePhase':
      case 'heuristicCommitting':
      case 'heuristicRollingBack': {
        const ageMs = Math.max(0, this.#context.io.clock.wallMs() - branch.sinceMs);
        const { coordinator } = branch.order;
        const keyCount = branch.places.length;
        return { kind: 'prepared', xid, node: self.node, coordinator, keyCount, ageMs };
      }
      case 'heuristicCommitted':
        return { kind: 'heuristic', xid, node: self.node, decided: 'commit' };
      case 'heuristicRolledBack':
      case 'heuristicMixed':
        return { kind: 'heuristic', xid, node: self.node, decided: 'rollback' };
      case 'applied':
        return { kind: 'committed', xid, branches: [] };
      default:
        return undefined;
    }
  }

  /** Open attempts under an idempotency key: branches here, and transactions that this node coordinates. */
  #openUnder(clientId: string): readonly OpenAttempt[] {
    const branches = this.#branches.named(clientId).map(attemptIn);
    return [...branches, ...this.#coordinator.named(clientId).flatMap(attemptAt)];
  }

  /** Open attempts under any idempotency key, and applied transactions whose key too few owners may know. */
  #openAttempts(): readonly OpenAttempt[] {
    const branches = this.#branches.allNamed.map(attemptIn);
    const carried = this.#spread.unsafe.map(({ xid, clientId, digest }) => {
      return { xid, clientId, clientDigest: digest };
    });
    return [...branches, ...this.#coordinator.all.flatMap(attemptAt), ...carried];
  }

  #arm(): void {
    const { io, options } = this.#context;
    this.#timer = io.clock.after(options.inquiryIntervalUs, () => {
      this.#arm();
      this.#inquiries.tick();
      this.#leftovers.tick();
      this.#coordinator.tick();
      this.names.tick();
      this.#handed.tick();
      this.#coordinator.memory.tick();
      this.#context.log.flush();
    });
  }

  #unspread(): readonly Xid[] {
    const xids: Xid[] = [];
    for (const { xid, places } of this.#recovered)
      if (places.some(({ token }) => !this.#leads(token))) xids.push(xid);
    return xids;
  }

  /** True if a member that joins or leaves copies what it takes over or gives away, and the token has new owners then. */
  #mayMove(token: Token): boolean {
    const { parts, lives } = this.#context;
    return lives.isCopying() && parts.pending(token).length > 0;
  }

  /** True if the branch waits for a coordinator that may come back, or may be replaced, and is not there. */
  #lacksCoordinator(xid: Xid): boolean {
    const { parts, lives } = this.#context;
    const branch = this.#branches.find(xid);
    if (branch === undefined || !waits(branch.phase)) return false;
    const { coordinator } = branch.order;
    const member = parts.member(coordinator);
    const isThere =
      coordinator === parts.self.node || (member !== undefined && parts.view.isRoutable(member));
    return !isThere && !lives.isOver(coordinator);
  }

  /** True if this node is the token's primary by the current ring. */
  #leads(token: Token): boolean {
    const { ring, self } = this.#context.parts;
    return ring().placement(token)[0]?.node === self.node;
  }
}

const noKeys: readonly PackedKey[] = [];

/**
 * The keys of a transaction that this node has not voted for: it votes for none in a former epoch. What it has voted
 * for, or another node has decided, is carried out whatever its epoch.
 */
function keysAsked(request: BranchRequest): readonly PackedKey[] {
  const isNew = request.kind === 'prepare' || request.kind === 'commitAlone' || request.kind === 'put';
  return isNew ? request.order.operations.map(({ key }) => key) : noKeys;
}

function attemptIn({ xid, order: { clientId, clientDigest } }: DoubtfulAttempt): OpenAttempt {
  return { xid, clientId, clientDigest };
}

function attemptAt(active: Active): readonly OpenAttempt[] {
  const client = clientOf(active);
  return client === undefined
    ? []
    : [{ xid: active.xid, clientId: client.clientId, clientDigest: client.clientDigest }];
}

async function toldOf(state: Promise<ReportedState>): Promise<BranchReply> {
  return { kind: 'told', state: await state };
}

function openOr(open: boolean): BranchReply {
  return { kind: 'told', state: open ? 'undecided' : 'none' };
}
