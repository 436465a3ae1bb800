/**
 * Transactions of this node, as the listeners and the peers see them: run one, ask for one, list those in doubt,
 * resolve one by hand. Ties the coordinator, the branches, the inquiries and the recovery together and gives them
 * their one clock.
 */
import { BytesError } from '../base/bytes.ts';
import { LockstepError, asLockstepError } from '../base/errors.ts';
import type { NodeId, Token } from '../base/ids.ts';
import type { RoundDependencies } from '../replication/round-dependencies.ts';
import type { Timer } from '../io/clock.ts';
import type { Io } from '../io/io.ts';
import type { LostDiskState } from '../cluster/membership/lost-disk-state.ts';
import type { PeerReply } from '../peer/wire/messages.ts';
import type { Active } from './coordinator/active-transaction.ts';
import { clientOf, knowledgeOf } from './coordinator/active-transaction.ts';
import { RemotePuts } from './one-phase/remote-puts.ts';
import { adopt, BatchReplication } from './one-phase/batch-replication.ts';
import type { Branch } from './participant/branch.ts';
import { Branches } from './participant/branches.ts';
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
import { LocalPuts } from './one-phase/local-puts.ts';
import { recoverTransactions } from './recovery/recovery.ts';
import { carryOut, spreadBranch } from './coordinator/branch-requests.ts';
import { surveyOf } from './coordinator/survey.ts';
import type { BranchReply, BranchRequest, ReportedState } from './formats/messages.ts';
import { decodeRequest, encodeReply, hasPrepareRequest, orderBytesOf } from './formats/messages.ts';
import type { Xid } from './formats/xid.ts';
import { XidSource, coordinatorOf } from './formats/xid.ts';

/** What the listeners need. */
export interface TransactionService {
  /** Never rejects for what a transaction can end in. */
  run(request: TransactionRequest): Promise<TransactionOutcome>;
  /** Undefined: nobody has a record of it. */
  find(xid: Xid): Promise<Knowledge | undefined>;
  /** What the coordinator and every member know of it; a member without a part in it knows nothing. */
  survey(xid: Xid): Promise<readonly MemberKnowledge[]>;
  inDoubt(): readonly InDoubtEntry[];
  /** An operator's decision over what waits on this node; false when nothing does. Rejects with `Conflict`. */
  resolve(xid: Xid, decision: OperatorDecision): Promise<boolean>;
}

export class Transactions implements TransactionService {
  readonly metrics = new TransactionMetrics();
  /** Of clients. */
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
  /** Branches that an earlier life carried out, as long as this one has not spread them again. */
  readonly #recovered = new Set<Branch>();
  #released: () => void = () => undefined;
  #timer: Timer | undefined;
  #stopped = false;
  #closed = false;

  /** `epoch`: 12 hexadecimal digits of this life, in the names of its transactions. */
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
    const spread = new KeyReplication(io, parts);
    const log = new TransactionLog(store);
    const startedUs = io.clock.nowUs();
    const mayHaveGoneBack = (): boolean =>
      !this.#coordinator.memory.isFirst && io.clock.nowUs() - startedUs < options.retentionMs * 1000;
    const { metrics } = this;
    const batches = new BatchReplication(io, parts);
    this.#context = { io, parts, log, metrics, options, lives, names, spread, batches, mayHaveGoneBack };
    this.#spread = spread;
    this.#handed = batches;
    this.names = new IdempotencyService(this.#context, spread, {
      all: () => this.#openAttempts(),
      named: (clientId) => this.#openUnder(clientId),
      branches: (clientId) => this.#branches.named(clientId).map(attemptIn),
    });
    this.#memories = memories;
    this.#branches = new Branches(this.#context);
    const ownPuts = new LocalPuts(this.#context, this.#branches.locks);
    this.#coordinator = new Coordinator(
      this.#context,
      this.#branches,
      ownPuts,
      this.names,
      new XidSource(parts.self.node, epoch),
    );
    this.#askedPuts = new RemotePuts(this.#context, this.#branches, ownPuts);
    this.#coordinator.remembered.onForget((xids) => this.#branches.forget(xids));
    this.#inquiries = new Inquiries(this.#context, this.#branches, this.#coordinator);
    this.#leftovers = new AppliedBranchCleanup(this.#context, this.#branches, this.#coordinator);
  }

  /** Takes up what the log holds; before anybody is served. */
  async recover(): Promise<void> {
    await this.#coordinator.memory.recover();
    await recoverTransactions(this.#context, this.#branches, this.#coordinator);
    for (const branch of this.#branches.all)
      if (branch.phase === 'applied' || branch.phase === 'heuristicCommitted') this.#recovered.add(branch);
  }

  /** Begins to ask, remind and spread. */
  start(): void {
    for (const branch of this.#recovered)
      this.#context.io.spawn('xa.spread', () => this.#spreadAgain(branch));
    this.#arm();
  }

  /** The ring that this life begins with may be an old one: what changes meanwhile has other owners hear of it, too. */
  async #spreadAgain(branch: Branch): Promise<void> {
    let owners: string;
    do {
      owners = this.#ownersOf(branch);
      await spreadBranch(this.#context, branch);
    } while (owners !== this.#ownersOf(branch) && !this.#stopped);
    this.#recovered.delete(branch);
    this.#released();
  }

  /** Who is to hold what the branch wrote, by name. */
  #ownersOf({ places }: Branch): string {
    const { ring, pending } = this.#context.parts;
    const owners = places.map(({ token }) => [...ring().placement(token), ...pending(token)]);
    return owners.map((members) => members.map(({ node }) => node).join(' ')).join(',');
  }

  /**
   * Those that hold a key that is another node's by the ring of now, or that it does not have yet, or whose clients' names
   * it does not know; `released` hears when one does no more. Of what an earlier life has carried out it is not known who
   * has it before that is spread again.
   */
  givenAway(released: () => void): () => readonly Xid[] {
    const { locks } = this.#branches;
    this.#released = released;
    locks.onRelease(released);
    this.#spread.onSettled(released);
    this.#handed.onSettled(released);
    return () => [
      ...locks.holdersOf(({ token }) => !this.#leads(token)),
      ...this.#unspread(),
      ...this.#spread.astray((token) => this.#leads(token)),
      ...this.#handed.astray((token) => this.#leads(token)),
    ];
  }

  /** No timer is left and nobody waits; what is in doubt is in the log. */
  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
    this.#coordinator.stop();
    this.#context.log.flush();
    this.#branches.locks.close();
  }

  /** Begins none any more; those under way go on. */
  close(): void {
    this.#closed = true;
  }

  /** Transactions in which this node has a part that is not over; those that an operator decided wait for nobody. */
  get underWay(): number {
    const { self } = this.#context.parts;
    // Another coordinator may have to hear of an applied branch once more; this node's own is not asked about.
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
    if (!this.#coordinator.singles.abandon(xid) && !this.#branches.forgetByHand(xid)) return false;
    this.metrics.decidedByOperator('abandon');
    return true;
  }

  /** What a peer knows of this node's earlier lives; undefined when it does not answer. */
  legacyAt(peer: NodeId): Promise<LostDiskState | undefined> {
    return askLostDiskState(this.#context, peer);
  }

  /** Whether a peer waits for a branch of the dead node's that this one replaces; undefined when it does not answer. */
  inheritanceAt(peer: NodeId, dead: NodeId): Promise<boolean | undefined> {
    return askTakeover(this.#context, peer, dead);
  }

  /** A peer's words; `reply` is called once. */
  handle(words: Uint8Array, reply: (reply: PeerReply) => void): void {
    let request: BranchRequest;
    // A branch keeps its order, whose values are views of the bytes, for longer than the frame lives.
    const kept = hasPrepareRequest(words) ? Buffer.from(words) : words;
    try {
      request = decodeRequest(kept);
    } catch (error) {
      if (!(error instanceof BytesError)) throw error;
      reply({ kind: 'failed', code: 'BadRequest', detail: error.message });
      return;
    }
    this.#context.io.spawn('xa.handle', async () => {
      try {
        reply({ kind: 'transacted', words: encodeReply(await this.#answer(request, kept)) });
      } catch (caught) {
        const error = asLockstepError(caught);
        reply({ kind: 'failed', code: error.code, detail: error.message });
      }
    });
  }

  /** Registers what is counted here. */
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
      case 'forget':
        this.#branches.forget(request.xids);
        return { kind: 'told', state: 'none' };
      case 'needed':
        return this.#letGo(request.node, request.xids);
      case 'reborn':
        return this.#bequeath(request.node, request.life);
      case 'inherit':
        return openOr(this.#coordinator.handOver(request.node, request.heir));
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

  #bequeath(node: NodeId, life: number): BranchReply {
    return { kind: 'bequeathed', ...legacyOf(this.#coordinator, this.#memories, node, life) };
  }

  async #letGo(node: NodeId, xids: readonly Xid[]): Promise<BranchReply> {
    await this.#leftovers.letGo(node, xids);
    return { kind: 'told', state: 'none' };
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

  /** Attempts under a client's id: branches here, and what this node coordinates. */
  #openUnder(clientId: string): readonly OpenAttempt[] {
    const branches = this.#branches.named(clientId).map(attemptIn);
    return [...branches, ...this.#coordinator.named(clientId).flatMap(attemptAt)];
  }

  /** The same under any id, and what was carried out here and too few others may know. */
  #openAttempts(): readonly OpenAttempt[] {
    const branches = this.#branches.all.filter(({ order }) => order.clientId !== '').map(attemptIn);
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

  /** This node is the token's primary as the ring is now. */
  #leads(token: Token): boolean {
    const { ring, self } = this.#context.parts;
    return ring().placement(token)[0]?.node === self.node;
  }
}

function attemptIn({ xid, order: { clientId, clientDigest } }: Branch): OpenAttempt {
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
