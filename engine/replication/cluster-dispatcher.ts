/**
 * Dispatches a client's request to the replicas and returns their answer. It plans whose answers count, runs the round,
 * and forwards a write to a replica if this node holds none of the key.
 *
 * The dispatcher keeps no state between requests, apart from which peers failed the last forward.
 */
import { LockstepError } from '../base/errors.ts';
import type { NodeId, Token } from '../base/ids.ts';
import type { RequestTimes } from '../base/request-times.ts';
import type { OpenSpan } from '../base/request-trace.ts';
import type { ObjectKey, PackedKey } from '../base/object-key.ts';
import { unpackKey } from '../base/object-key.ts';
import { Deferred } from '../base/deferred.ts';
import type { StoredObject } from '../replica/object/object.ts';
import { KeyPlacement } from '../cluster/ring/key-placement.ts';
import type { Member, Placement } from '../cluster/ring/ring.ts';
import type { FailureMetrics } from '../metrics/failure-metrics.ts';
import { countCause } from './failure-causes.ts';
import type { ReadQuorum, ReplicaTerms, WriteQuorum } from './needs.ts';
import { bucketReadNeed, bucketWriteNeed, nothingAsked } from './needs.ts';
import type { RoundDependencies } from './round-dependencies.ts';
import { fullQueue, lackingAt, termsOf } from './round-dependencies.ts';
import type { DispatchPlan, Refusal, Viewpoint } from './plan.ts';
import { planRead } from './plan.ts';
import { PlanCache } from './plan-cache.ts';
import { Forwarding, isUnreadable, notServing } from './forwarding.ts';
import { ReadRound } from './read-round.ts';
import { ShortRead, isShort } from './short-read.ts';
import { emptyVector } from '../replica/object/dots.ts';
import type { LocalWrite } from '../replica/replica.ts';
import type {
  ConsistencyLevel,
  Dispatcher,
  GetRequest,
  GetResult,
  ReadNeed,
  PutRequest,
  PutResult,
  Replaced,
  ReplaceRequest,
  WriteNeed,
} from './requests.ts';
import { NotReplaced } from './requests.ts';
import { Tally } from './tally.ts';
import type { WriteEnd } from './write-round.ts';
import { WriteRound } from './write-round.ts';

const noMembers: readonly Member[] = [];

/** A read whose first round is under way. */
interface BegunRead {
  readonly token: Token;
  readonly placement: Placement;
  readonly deadlineUs: number;
  /** Replicas that are not asked. */
  readonly away: readonly Member[];
  readonly plan: DispatchPlan;
  readonly round: ReadRound | ShortRead;
  readonly answer: Promise<StoredObject | undefined>;
  /** The dispatch, if the request is traced. */
  readonly span: OpenSpan | undefined;
}

/** The dispatcher of one node; see `Dispatcher` for the errors. */
export class ClusterDispatcher implements Dispatcher {
  readonly #parts: RoundDependencies;
  readonly #terms: ReplicaTerms;
  readonly #writePlans: PlanCache;
  readonly #readPlans: PlanCache;
  readonly #forwarding: Forwarding;

  constructor(parts: RoundDependencies) {
    this.#parts = parts;
    this.#terms = termsOf(parts);
    this.#writePlans = new PlanCache(parts.view);
    this.#readPlans = new PlanCache(parts.readView);
    this.#forwarding = new Forwarding(parts);
  }

  /** Counts failures into `metrics` too, beside this node's own. A `GossipHandler` may share them. Returns itself. */
  withFailureMetrics(metrics: FailureMetrics): this {
    this.#parts.stats.failures.copyDispatchTo(metrics);
    return this;
  }

  /** How many peers refused, or did not answer, the last write forwarded to them. */
  get failingForwards(): number {
    return this.#forwarding.failingCount;
  }

  /** The key's token and its replicas now, the primary first. Throws what `Router.tokenOf` throws. */
  locate(key: ObjectKey): { readonly token: Token; readonly nodes: readonly NodeId[] } {
    const token = this.#parts.router.tokenOf(key);
    return {
      token,
      nodes: this.#parts
        .ring()
        .placement(token)
        .map(({ node }) => node),
    };
  }

  /**
   * Checks a write that a peer forwards. Throws `Overloaded` if this node computes another token for the key: one of
   * the two nodes has not yet received the bucket's latest routing properties.
   */
  checkRoute(packed: PackedKey, token: Token): void {
    const key = unpackKey(packed);
    if (key === undefined || this.#parts.router.tokenOf(key) === token) return;
    const detail = 'nodes do not agree yet about chash_keyfun of the bucket; try again later';
    throw new LockstepError('Overloaded', detail);
  }

  /**
   * The same dispatcher without counting of failures, for parts of a larger request and for listeners: the module that
   * answers the client counts the failure (`failure-causes.ts`).
   */
  get uncounted(): Dispatcher {
    return {
      get: (request) => this.#get(request, false),
      put: (request) => this.#put(request, false),
      replace: (request, done) => this.#replace(request, false, done),
    };
  }

  get(request: GetRequest): Promise<GetResult> {
    return this.#get(request, true);
  }

  put(request: PutRequest): Promise<PutResult> {
    return this.#put(request, true);
  }

  replace(request: ReplaceRequest, done: Replaced): void {
    this.#replace(request, true, done);
  }

  async #get(request: GetRequest, isCounted: boolean): Promise<GetResult> {
    const quorum = this.#readQuorum(request);
    const startUs = this.#parts.clock.nowUs();
    const span = this.#began(request, startUs);
    let failure: unknown;
    try {
      const read = this.#beginRead(request, quorum.need, startUs, span);
      try {
        return { object: await read.answer };
      } catch (error) {
        return { object: await this.#readAgain(request, quorum.need, read, error) };
      }
    } catch (error) {
      failure = error;
      const told = named(error, quorum, 'r');
      throw isCounted ? this.#counted(told, 'read') : told;
    } finally {
      this.#concluded(request.times, span, failure);
    }
  }

  async #put(request: PutRequest, isCounted: boolean): Promise<PutResult> {
    const quorum = this.#writeQuorum(request);
    const isTimed = request.times !== undefined || request.partOf !== undefined;
    const span = isTimed ? this.#began(request, this.#parts.clock.nowUs()) : undefined;
    let failure: unknown;
    try {
      return await this.#write(request, quorum.need, span);
    } catch (error) {
      failure = error;
      const told = named(error, quorum, 'w');
      throw isCounted ? this.#counted(told, 'write') : told;
    } finally {
      this.#concluded(request.times, span, failure);
    }
  }

  /** Notes the begin of a dispatch. Its span; undefined if the request is not traced. */
  #began({ times, partOf }: Pick<GetRequest, 'times' | 'partOf'>, nowUs: number): OpenSpan | undefined {
    if (times === undefined) return partOf?.child('dispatch', nowUs);
    times.dispatched(nowUs);
    return times.dispatchSpan(nowUs);
  }

  #concluded(times: RequestTimes | undefined, span: OpenSpan | undefined, error: unknown): void {
    if (times === undefined && span === undefined) return;
    const nowUs = this.#parts.clock.nowUs();
    times?.concluded(nowUs);
    if (span === undefined) return;
    const failure = error instanceof LockstepError ? error.code : undefined;
    if (times !== undefined) times.failure = failure;
    span.end(nowUs, failure);
  }

  async #write(request: PutRequest, need: WriteNeed, span: OpenSpan | undefined): Promise<PutResult> {
    const { self, view, router, ring, settings } = this.#parts;
    const place = new KeyPlacement(router.tokenOf(request.key), ring());
    const placement = place.in(ring());
    const timeoutUs = (request.timeoutMs ?? settings.timeoutMs) * 1000;
    checkTime(timeoutUs);
    if (!placement.includes(self) || !view.isRoutable(self)) {
      return { object: await this.#forwarding.run(request, need, place, timeoutUs, span) };
    }
    const write = localWrite(request, place.token, span);
    try {
      return { object: await this.#coordinated(write, place, settings.writeLevel, need, timeoutUs) };
    } catch (error) {
      // The write's condition can be checked at another replica instead; nothing has been written here.
      if (!isUnreadable(error) || placement.length === 1) throw error;
      return { object: await this.#forwarding.run(request, need, place, timeoutUs, span) };
    }
  }

  /**
   * Coordinates a write as a replica of its key. Also the entry point for writes that peers forward. Rejects with
   * `NoTargets`, `NoQuorum`, `BadRequest` and what `WriteRound.run` rejects with.
   */
  coordinate(
    write: LocalWrite,
    level: ConsistencyLevel,
    need: WriteNeed,
    timeoutUs: number,
  ): Promise<StoredObject> {
    return this.#coordinated(
      write,
      new KeyPlacement(write.token, this.#parts.ring()),
      level,
      need,
      timeoutUs,
    );
  }

  #coordinated(
    write: LocalWrite,
    place: KeyPlacement,
    level: ConsistencyLevel,
    need: WriteNeed,
    timeoutUs: number,
  ): Promise<StoredObject> {
    const result = new Deferred<StoredObject>();
    const end = {
      acknowledged: (object: StoredObject): void => result.resolve(object),
      failed: (error: LockstepError): void => result.reject(error),
    };
    try {
      this.#coordinate(write, place, level, need, timeoutUs, end);
    } catch (error) {
      result.reject(error);
    }
    return result.promise;
  }

  #replace(request: ReplaceRequest, isCounted: boolean, done: Replaced): void {
    const { clock, rules, router, ring, settings } = this.#parts;
    const quorum = bucketWriteNeed(this.#terms, rules(request.key.packed), nothingAsked);
    const span = request.partOf?.child('dispatch', clock.nowUs());
    const end = (failure: unknown): void => {
      this.#concluded(undefined, span, failure);
      if (failure === undefined || failure instanceof NotReplaced) {
        done(failure);
        return;
      }
      const told = named(failure, quorum, 'w');
      done(isCounted ? this.#counted(told, 'write') : told);
    };
    try {
      const timeoutUs = request.timeoutMs * 1000;
      checkTime(timeoutUs);
      const place = new KeyPlacement(router.tokenOf(request.key), ring());
      if (!this.#mayReplace(place)) throw new NotReplaced([]);
      const write = replacingWrite(request, place.token, span);
      const { writeLevel } = settings;
      this.#coordinate(write, place, writeLevel, quorum.need, timeoutUs, {
        acknowledged: () => end(undefined),
        failed: end,
      });
    } catch (error) {
      end(error);
    }
  }

  /** Whether this node can tell what the key holds: it holds a replica that is whole, and serves. */
  #mayReplace(place: KeyPlacement): boolean {
    const { self, view, ring } = this.#parts;
    if (!place.in(ring()).includes(self) || !view.isRoutable(self)) return false;
    return lackingAt(this.#parts, place.token) === undefined;
  }

  /** Begins the round of a write at this replica. Throws if nothing was begun. */
  #coordinate(
    write: LocalWrite,
    place: KeyPlacement,
    level: ConsistencyLevel,
    need: WriteNeed,
    timeoutUs: number,
    end: WriteEnd,
  ): void {
    const placement = place.in(this.#parts.ring());
    const { self, view } = this.#parts;
    // The ring may have changed since a peer chose this node.
    if (!placement.includes(self)) {
      const detail = `${self.node} holds no replica of the key any more`;
      throw new LockstepError('NoTargets', detail);
    }
    if (!view.isRoutable(self)) throw new LockstepError('NoTargets', notServing(self));
    const pending = this.#parts.pending(write.token);
    const plan = admit(this.#writePlans.write(placement, level, need, pending), 'write');
    if (write.replaces === true && !this.#isMajority(plan)) throw new NotReplaced([]);
    const refusal = this.#fullFor(plan, write.content.value.length);
    if (refusal !== undefined) throw refusal;
    write.times?.asked(this.#parts.clock.nowUs());
    new WriteRound(this.#parts, write, place, plan, end).run(timeoutUs);
  }

  /** Asks the replicas. `nowUs`: the monotonic time. Throws if they cannot be asked. */
  #beginRead(request: GetRequest, need: ReadNeed, nowUs: number, span: OpenSpan | undefined): BegunRead {
    const { ring, router, settings } = this.#parts;
    const token = router.tokenOf(request.key);
    const placement = ring().placement(token);
    const timeoutUs = (request.timeoutMs ?? settings.timeoutMs) * 1000;
    checkTime(timeoutUs);
    // Before its rebuild is complete this node is not read as the key's primary; it tells peers the same.
    const lacking = lackingAt(this.#parts, token);
    if (need === 'primary' && lacking !== undefined) throw notWhole(lacking);
    // The previous primary may still be applying a transaction on the key.
    if (need === 'primary' && !this.#parts.handedOver(token)) throw changingHands();
    const away: readonly Member[] = lacking === undefined ? noMembers : [this.#parts.self];
    const plan = admit(this.#planRead(placement, settings.readLevel, need, away), 'read');
    const deadlineUs = nowUs + timeoutUs;
    const { round, answer } = this.#runRound(request, token, plan, deadlineUs, span);
    return { token, placement, deadlineUs, away, plan, round, answer, span };
  }

  #runRound(
    request: GetRequest,
    token: Token,
    plan: DispatchPlan,
    deadlineUs: number,
    span: OpenSpan | undefined,
  ): Pick<BegunRead, 'round' | 'answer'> {
    const { packed } = request.key;
    const round = isShort(plan)
      ? new ShortRead(this.#parts, packed, token, plan, span)
      : new ReadRound(this.#parts, packed, token, plan, undefined, span);
    const nowUs = this.#parts.clock.nowUs();
    request.times?.asked(nowUs);
    return { round, answer: round.run(deadlineUs - nowUs, nowUs) };
  }

  /**
   * The first round of a read has failed with `error`: repairs the replicas, or asks others, as long as that helps and
   * time is left. Rejects with the last round's error.
   */
  async #readAgain(
    request: GetRequest,
    need: ReadNeed,
    { token, placement, deadlineUs, span, ...first }: BegunRead,
    failure: unknown,
  ): Promise<StoredObject | undefined> {
    const { clock, settings, stats } = this.#parts;
    const { readDisagreements } = stats;
    let { away, plan, round } = first;
    let error = failure;
    let disagreement: unknown;
    for (;;) {
      let isRepaired = false;
      if (round.disagrees && disagreement === undefined) {
        disagreement = error;
        isRepaired = await this.#isRepaired(round, deadlineUs);
      }
      if (!isRepaired) {
        if (disagreement !== undefined) {
          if (round.disagrees) readDisagreements.refused += 1;
          else readDisagreements.failed += 1;
          throw error;
        }
        // If the only target failed, the next nearest replica is asked.
        const last = plan.targets.length > 1 || round.failed.length === 0 || clock.nowUs() >= deadlineUs;
        if (last) throw error;
        away = [...away, ...round.failed];
        const next = this.#planRead(placement, settings.readLevel, need, away);
        if (next.kind === 'refused') throw error;
        plan = next;
      }
      const again = this.#runRound(request, token, plan, deadlineUs, span);
      round = again.round;
      try {
        const object = await again.answer;
        if (disagreement !== undefined) readDisagreements.answered += 1;
        return object;
      } catch (caught) {
        error = caught;
      }
    }
  }

  /** As `planRead`, without the members `away`. */
  #planRead(
    placement: Placement,
    level: ConsistencyLevel,
    need: ReadNeed,
    away: readonly Member[],
  ): DispatchPlan | Refusal {
    if (away.length === 0) return this.#readPlans.read(placement, level, need);
    return planRead(without(this.#parts.readView, away), placement, level, need);
  }

  /**
   * Waits until the replicas whose copies differ are repaired, or the deadline passes. True: a new read may find them
   * equal.
   */
  async #isRepaired(round: Pick<ReadRound, 'whenRepaired'>, deadlineUs: number): Promise<boolean> {
    const { clock } = this.#parts;
    const late = new Deferred<void>();
    const timer = clock.after(Math.max(1, deadlineUs - clock.nowUs()), () => late.resolve());
    await Promise.race([round.whenRepaired(), late.promise]);
    timer.cancel();
    return clock.nowUs() < deadlineUs;
  }

  /** Whether the plan waits for a majority of this datacenter's replicas. */
  #isMajority({ groups }: DispatchPlan): boolean {
    const { self, view } = this.#parts;
    const racks = view.rackCount(self.datacenter);
    return groups.some(({ datacenter, needed }) => datacenter === self.datacenter && needed * 2 > racks);
  }

  /** The request's need, or that of the bucket's properties if the request names none. */
  #readQuorum({ key, need, quorum = 'r' }: GetRequest): ReadQuorum {
    if (need !== 'default') return { need, quorum };
    return bucketReadNeed(this.#terms, this.#parts.rules(key.packed), nothingAsked);
  }

  #writeQuorum({ key, need, quorum = 'w' }: PutRequest): WriteQuorum {
    if (need !== 'default') return { need, quorum };
    return bucketWriteNeed(this.#terms, this.#parts.rules(key.packed), nothingAsked);
  }

  /**
   * The error if so many queues toward replicas are full that the plan cannot be met; undefined otherwise. Nothing is
   * sent or written in that case.
   */
  #fullFor(plan: DispatchPlan, bytes: number): LockstepError | undefined {
    const { self, queueFull } = this.#parts;
    let full = noMembers;
    for (const { member } of plan.targets) {
      if (member.node !== self.node && queueFull(member.node, bytes)) full = [...full, member];
    }
    if (full.length === 0) return undefined;
    const tally = new Tally(plan);
    const verdicts = plan.targets.map(({ member }, index) =>
      full.includes(member) ? tally.answer(index, false) : 'pending',
    );
    if (!verdicts.includes('impossible')) return undefined;
    return new LockstepError('Overloaded', fullQueue(full), { definite: true });
  }

  /** Counts why a request failed; returns `error`. */
  #counted(error: unknown, what: 'read' | 'write'): unknown {
    if (!(error instanceof LockstepError)) return error;
    const { readLevel, writeLevel } = this.#parts.settings;
    countCause(this.#parts, error.code, what, what === 'read' ? readLevel : writeLevel);
    return error;
  }
}

/** Returns the plan; throws the refusal as a definite error. */
function admit(plan: DispatchPlan | Refusal, what: 'read' | 'write'): DispatchPlan {
  if (plan.kind === 'plan') return plan;
  // Nothing has been sent: the request definitely did not happen, whatever the code alone would leave open.
  const votes = plan.votes === undefined ? {} : { votes: plan.votes };
  const detail = `the ${what} was refused: ${plan.detail}`;
  throw new LockstepError(plan.code, detail, { definite: true, ...votes });
}

/** Adds to the error of a request with too few answers the parameter that asked for them. */
function named(error: unknown, { need, quorum }: ReadQuorum, level: 'r' | 'w'): unknown {
  if (!(error instanceof LockstepError) || error.facts.votes === undefined) return error;
  const { votes } = error.facts;
  // Only the level asks for a majority of another datacenter.
  const isLevels = typeof need === 'object' && votes.needed < need.atLeast;
  const told = { ...votes, quorum: isLevels ? level : quorum };
  return new LockstepError(error.code, error.message, { ...error.facts, votes: told, cause: error });
}

/** Throws `Timeout` if the earlier steps of a request have used up its time. Nothing has been sent for this step. */
function checkTime(leftUs: number): void {
  if (leftUs > 0) return;
  throw new LockstepError('Timeout', 'the timeout of the request passed between two steps', {
    definite: true,
  });
}

function notWhole(lacking: string): LockstepError {
  return new LockstepError('Overloaded', lacking, { definite: true });
}

function changingHands(): LockstepError {
  const detail = 'the key is changing hands; try again later';
  return new LockstepError('Overloaded', detail, { definite: true });
}

function localWrite(request: PutRequest, token: Token, span: OpenSpan | undefined): LocalWrite {
  return {
    key: request.key.packed,
    token,
    seen: request.context,
    content: request.content,
    ifNoneMatch: request.ifNoneMatch ?? false,
    ifContext: request.ifContext,
    replaces: false,
    fromRead: false,
    times: request.times,
    span,
  };
}

/** With the fields of `localWrite` in the same order, so that all writes have one hidden class. */
function replacingWrite(request: ReplaceRequest, token: Token, span: OpenSpan | undefined): LocalWrite {
  return {
    key: request.key.packed,
    token,
    seen: emptyVector,
    content: request.content,
    ifNoneMatch: false,
    ifContext: undefined,
    replaces: true,
    fromRead: false,
    times: undefined,
    span,
  };
}

function without(view: Viewpoint, away: readonly Member[]): Viewpoint {
  return {
    self: view.self,
    rackCount: (datacenter) => view.rackCount(datacenter),
    isRoutable: (member) => !away.includes(member) && view.isRoutable(member),
    isStandby: (member) => view.isStandby(member),
  };
}
