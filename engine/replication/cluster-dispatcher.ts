/**
 * Dispatches a client's request to the replicas and returns their answer. It plans whose answers count, runs the round,
 * and forwards a write to a replica if this node holds none of the key.
 *
 * The dispatcher keeps no state between requests, apart from which peers failed the last forward.
 */
import { LockstepError } from '../base/errors.ts';
import type { NodeId, Token } from '../base/ids.ts';
import type { OpenSpan } from '../base/request-trace.ts';
import type { ObjectKey, PackedKey } from '../base/object-key.ts';
import { unpackKey } from '../base/object-key.ts';
import { Deferred } from '../base/deferred.ts';
import { sometimes } from '../base/sometimes.ts';
import type { StoredObject } from '../replica/object/object.ts';
import { KeyPlacement } from '../cluster/ring/key-placement.ts';
import type { Member } from '../cluster/ring/ring.ts';
import type { FailureMetrics } from '../metrics/failure-metrics.ts';
import { ClientRead } from './client-read.ts';
import type { ReadQuorum, ReplicaTerms, WriteQuorum } from './needs.ts';
import { bucketReadNeed, bucketWriteNeed, nothingAsked } from './needs.ts';
import type { RoundDependencies } from './round-dependencies.ts';
import { fullQueue, lackingAt, termsOf } from './round-dependencies.ts';
import type { DispatchPlan } from './plan.ts';
import { PlanCache } from './plan-cache.ts';
import { Forwarding, isUnreadable, notServing } from './forwarding.ts';
import { admit, began, checkTime, concluded, counted, named } from './request-steps.ts';
import { emptyVector } from '../replica/object/dots.ts';
import type { LocalWrite } from '../replica/replica.ts';
import type {
  ConsistencyLevel,
  Dispatcher,
  GetRequest,
  GetResult,
  JoinedRead,
  JoinedReplacement,
  ReadEnd,
  PutRequest,
  PutResult,
  Replaced,
  ReplaceRequest,
  WriteNeed,
} from './requests.ts';
import { NotReplaced } from './requests.ts';
import { Tally } from './tally.ts';
import { Joining } from './joining.ts';
import { ReadBatch } from './read-batch.ts';
import type { BatchedWrite } from './write-batch.ts';
import { mayJoin, WriteBatch } from './write-batch.ts';
import type { WriteEnd } from './write-round.ts';
import { WriteRound } from './write-round.ts';

const noMembers: readonly Member[] = [];
/** Larger values do not join others: what is saved is small beside them. */
const joinedBytesMax = 8 * 1024;

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
      read: (request, end) => this.#read(request, false, end),
      readMany: (requests) => this.#readMany(requests, false),
      put: (request) => this.#put(request, false),
      replace: (request, done) => this.#replace(request, false, done),
      replaceMany: (requests) => this.#replaceMany(requests, false),
    };
  }

  get(request: GetRequest): Promise<GetResult> {
    return this.#get(request, true);
  }

  read(request: GetRequest, end: ReadEnd): void {
    this.#read(request, true, end);
  }

  readMany(requests: readonly JoinedRead[]): void {
    this.#readMany(requests, true);
  }

  put(request: PutRequest): Promise<PutResult> {
    return this.#put(request, true);
  }

  replace(request: ReplaceRequest, done: Replaced): void {
    this.#replace(request, true, done);
  }

  replaceMany(requests: readonly JoinedReplacement[]): void {
    this.#replaceMany(requests, true);
  }

  #get(request: GetRequest, isCounted: boolean): Promise<GetResult> {
    const result = new Deferred<GetResult>();
    this.#read(request, isCounted, {
      answered: (object) => result.resolve({ object }),
      failed: (error) => result.reject(error),
    });
    return result.promise;
  }

  #read(request: GetRequest, isCounted: boolean, end: ReadEnd): void {
    const nowUs = this.#parts.clock.nowUs();
    this.#prepared(request, isCounted, end, nowUs)?.run(nowUs);
  }

  /** The request's data with its key in the present epoch of its bucket; perhaps a copy, without methods. */
  #inPresentEpoch<R extends { readonly key: ObjectKey }>(request: R): R {
    const key = this.#parts.router.epochs.present(request.key);
    return key === request.key ? request : { ...request, key };
  }

  /** The read, which knows its replicas; undefined if it has failed. */
  #prepared(request: GetRequest, isCounted: boolean, end: ReadEnd, nowUs: number): ClientRead | undefined {
    let quorum: ReadQuorum;
    try {
      quorum = this.#readQuorum(request);
    } catch (error) {
      end.failed(error);
      return undefined;
    }
    const present = this.#inPresentEpoch(request);
    const read = new ClientRead(this.#parts, this.#readPlans, present, quorum, isCounted, end);
    return read.prepare(nowUs) ? read : undefined;
  }

  /** Runs the reads that may join as batches, and the others on their own. */
  #readMany(requests: readonly JoinedRead[], isCounted: boolean): void {
    const [only] = requests;
    if (only !== undefined && requests.length === 1) {
      this.#read(only, isCounted, only);
      return;
    }
    const nowUs = this.#parts.clock.nowUs();
    const joining = new Joining<ClientRead>(this.#parts, 'readMany', (reads, timeoutUs) => {
      const [alone] = reads;
      if (reads.length === 1) alone?.run(nowUs);
      else {
        for (const read of reads) read.asked(nowUs);
        new ReadBatch(this.#parts, reads).run(timeoutUs, nowUs);
      }
    });
    for (const request of requests) {
      const read = this.#prepared(request, isCounted, request, nowUs);
      if (read === undefined) continue;
      if (read.mayJoin && joining.takes(read.plan)) joining.add(read, read.key.length, read.timeoutUs);
      else read.run(nowUs);
    }
    joining.flush();
  }

  async #put(request: PutRequest, isCounted: boolean): Promise<PutResult> {
    const quorum = this.#writeQuorum(request);
    const isTimed = request.times !== undefined || request.partOf !== undefined;
    const span = isTimed ? began(request, this.#parts.clock.nowUs()) : undefined;
    let failure: unknown;
    try {
      return await this.#write(request, quorum.need, span);
    } catch (error) {
      failure = error;
      const told = named(error, quorum, 'w');
      throw isCounted ? counted(this.#parts, told, 'write') : told;
    } finally {
      concluded(this.#parts, request.times, span, failure);
    }
  }

  /**
   * Writes again if the bucket was flushed meanwhile. What an attempt has written before the flush is gone; a write that
   * states the context that it replaces is not repeated, since that context may be its own by then.
   */
  async #write(given: PutRequest, need: WriteNeed, span: OpenSpan | undefined): Promise<PutResult> {
    const { clock, router, settings } = this.#parts;
    const deadlineUs = clock.nowUs() + (given.timeoutMs ?? settings.timeoutMs) * 1000;
    for (let timeoutMs = given.timeoutMs; ; timeoutMs = Math.floor((deadlineUs - clock.nowUs()) / 1000)) {
      const request = this.#inPresentEpoch(timeoutMs === given.timeoutMs ? given : { ...given, timeoutMs });
      try {
        return await this.#writeOnce(request, need, deadlineUs, span);
      } catch (error) {
        const isFlushed = router.epochs.isFormer(request.key.packed);
        if (!isFlushed || given.ifContext !== undefined || clock.nowUs() >= deadlineUs) throw error;
        sometimes('write.put-again-after-flush');
      }
    }
  }

  async #writeOnce(
    request: PutRequest,
    need: WriteNeed,
    untilUs: number,
    span: OpenSpan | undefined,
  ): Promise<PutResult> {
    const { self, view, router, ring, settings } = this.#parts;
    const place = new KeyPlacement(router.tokenOf(request.key), ring());
    const placement = place.in(ring());
    const timeoutUs = (request.timeoutMs ?? settings.timeoutMs) * 1000;
    checkTime(timeoutUs);
    if (!placement.includes(self) || !view.isRoutable(self)) {
      return { object: await this.#forwarding.run(request, need, place, untilUs, span) };
    }
    const write = localWrite(request, place.token, span);
    try {
      return { object: await this.#coordinated(write, place, settings.writeLevel, need, timeoutUs) };
    } catch (error) {
      // The write's condition can be checked at another replica instead; nothing has been written here.
      if (!isUnreadable(error) || placement.length === 1) throw error;
      return { object: await this.#forwarding.run(request, need, place, untilUs, span) };
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

  #replace(given: ReplaceRequest, isCounted: boolean, done: Replaced): void {
    const request = this.#inPresentEpoch(given);
    const { clock, rules, router, ring, settings } = this.#parts;
    const quorum = bucketWriteNeed(this.#terms, rules(request.key.packed), nothingAsked);
    const span = request.partOf?.child('dispatch', clock.nowUs());
    const end = new Replacement(this.#parts, quorum, span, isCounted, request, this.#replaceAgain, done);
    try {
      const timeoutUs = request.timeoutMs * 1000;
      checkTime(timeoutUs);
      const place = new KeyPlacement(router.tokenOf(request.key), ring());
      if (!this.#mayReplace(place)) throw new NotReplaced([]);
      const write = replacingWrite(request, place.token, span);
      this.#coordinate(write, place, settings.writeLevel, quorum.need, timeoutUs, end);
    } catch (error) {
      end.failed(error);
    }
  }

  /** Runs the requests that may join as batches, and the others on their own. */
  #replaceMany(requests: readonly JoinedReplacement[], isCounted: boolean): void {
    const [only] = requests;
    if (only !== undefined && requests.length === 1) {
      this.#replaceAlone(only, isCounted);
      return;
    }
    const startedUs = this.#parts.clock.nowUs();
    const joining = new Joining<BatchedWrite>(this.#parts, 'mergeMany', (writes, timeoutUs) => {
      if (writes.length > 1) new WriteBatch(this.#parts, writes).run(timeoutUs);
      else for (const one of writes) one.unready();
    });
    for (const request of requests) {
      const joined = this.#joined(request, isCounted, joining, startedUs);
      if (joined !== undefined) {
        const bytes = joined.write.key.length + request.content.value.length;
        joining.add(joined, bytes, request.timeoutMs * 1000);
      } else this.#replaceAlone(request, isCounted);
    }
    joining.flush();
  }

  /** The request as a part of a batch; undefined if it must run on its own, which also reports what is wrong with it. */
  #joined(
    given: JoinedReplacement,
    isCounted: boolean,
    joining: Joining<BatchedWrite>,
    startedUs: number,
  ): BatchedWrite | undefined {
    const request = this.#inPresentEpoch<ReplaceRequest>(given);
    const { key, content, timeoutMs, partOf } = request;
    if (partOf !== undefined || timeoutMs <= 0 || content.value.length > joinedBytesMax) return undefined;
    const { rules, router, settings } = this.#parts;
    const quorum = bucketWriteNeed(this.#terms, rules(key.packed), nothingAsked);
    const ring = this.#parts.ring();
    let place: KeyPlacement;
    try {
      place = new KeyPlacement(router.tokenOf(key), ring);
    } catch {
      return undefined;
    }
    const pending = this.#parts.pending(place.token);
    if (pending.length > 0 || !this.#mayReplace(place)) return undefined;
    const placement = place.in(ring);
    const plan = this.#writePlans.write(placement, settings.writeLevel, quorum.need, pending);
    if (plan.kind !== 'plan' || !mayJoin(plan, placement.length) || !this.#isMajority(plan)) return undefined;
    if (!joining.takes(plan)) return undefined;
    const write = replacingWrite(request, place.token, undefined);
    return new JoinedWrite(write, place, plan, given, {
      end: () => {
        const done = (error: unknown): void => given.replaced(error);
        const again = this.#replaceAgain;
        return new Replacement(this.#parts, quorum, undefined, isCounted, request, again, done, startedUs);
      },
      unready: () => this.#replaceAlone(given, isCounted),
    });
  }

  readonly #replaceAgain: ReplaceAgain = (request, isCounted, done) => {
    sometimes('write.again-after-flush');
    this.#replace(request, isCounted, done);
  };

  #replaceAlone(request: JoinedReplacement, isCounted: boolean): void {
    this.#replace(request, isCounted, (error) => request.replaced(error));
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

  /** Whether the plan waits for a majority of this datacenter's replicas. */
  #isMajority({ groups }: DispatchPlan): boolean {
    const { self, view } = this.#parts;
    const racks = view.rackCount(self.datacenter);
    for (const { datacenter, needed } of groups) {
      if (datacenter === self.datacenter && needed * 2 > racks) return true;
    }
    return false;
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
}

/** One write of a batch. */
class JoinedWrite implements BatchedWrite {
  readonly write: LocalWrite;
  readonly place: KeyPlacement;
  readonly plan: DispatchPlan;
  readonly #request: JoinedReplacement;
  readonly #otherwise: Pick<BatchedWrite, 'end' | 'unready'>;

  constructor(
    write: LocalWrite,
    place: KeyPlacement,
    plan: DispatchPlan,
    request: JoinedReplacement,
    otherwise: Pick<BatchedWrite, 'end' | 'unready'>,
  ) {
    this.write = write;
    this.place = place;
    this.plan = plan;
    this.#request = request;
    this.#otherwise = otherwise;
  }

  acknowledged(): void {
    this.#request.replaced(undefined);
  }

  end(): WriteEnd {
    return this.#otherwise.end();
  }

  unready(): void {
    this.#otherwise.unready();
  }
}

/** Begins a replacement anew. */
type ReplaceAgain = (request: ReplaceRequest, isCounted: boolean, done: Replaced) => void;

/** The end of a replacement. One object instead of functions for each outcome: there is one for every plain SET. */
class Replacement implements WriteEnd {
  readonly #parts: RoundDependencies;
  readonly #quorum: WriteQuorum;
  readonly #span: OpenSpan | undefined;
  readonly #isCounted: boolean;
  readonly #request: ReplaceRequest;
  readonly #again: ReplaceAgain;
  readonly #done: Replaced;
  readonly #startedUs: number;

  constructor(
    parts: RoundDependencies,
    quorum: WriteQuorum,
    span: OpenSpan | undefined,
    isCounted: boolean,
    request: ReplaceRequest,
    again: ReplaceAgain,
    done: Replaced,
    startedUs = parts.clock.nowUs(),
  ) {
    this.#request = request;
    this.#again = again;
    this.#startedUs = startedUs;
    this.#parts = parts;
    this.#quorum = quorum;
    this.#span = span;
    this.#isCounted = isCounted;
    this.#done = done;
  }

  acknowledged(): void {
    concluded(this.#parts, undefined, this.#span, undefined);
    this.#done(undefined);
  }

  failed(failure: unknown): void {
    concluded(this.#parts, undefined, this.#span, failure);
    if (this.#isFlushed() && this.#replaceInPresentEpoch()) return;
    if (failure instanceof NotReplaced) {
      this.#done(failure);
      return;
    }
    const told = named(failure, this.#quorum, 'w');
    this.#done(this.#isCounted ? counted(this.#parts, told, 'write') : told);
  }

  /** The bucket was flushed meanwhile: what was written of it is gone. */
  #isFlushed(): boolean {
    return this.#parts.router.epochs.isFormer(this.#request.key.packed);
  }

  /** False if the time is over. */
  #replaceInPresentEpoch(): boolean {
    const spentMs = Math.ceil((this.#parts.clock.nowUs() - this.#startedUs) / 1000);
    const timeoutMs = this.#request.timeoutMs - spentMs;
    if (timeoutMs <= 0) return false;
    this.#again({ ...this.#request, timeoutMs }, this.#isCounted, this.#done);
    return true;
  }
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
