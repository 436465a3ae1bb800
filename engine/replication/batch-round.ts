/**
 * Spreads a batch that this node has already given its dots. Each other replica gets its objects of the batch in one
 * atomic message. What a replica misses is stored as hints. The round reports when the batch is durable at as many
 * replicas of every key as the level requires.
 *
 * The batch has already happened here: the round never undoes it and never fails it.
 */
import { present } from '../base/assert.ts';
import { Deferred } from '../base/deferred.ts';
import type { NodeId } from '../base/ids.ts';
import type { TraceContext } from '../base/request-trace.ts';
import { sometimes } from '../base/sometimes.ts';
import type { BucketProperties } from '../buckets/properties.ts';
import type { Member, Placement, Ring } from '../cluster/ring/ring.ts';
import type { PeerRequest } from '../peer/wire/messages.ts';
import { encodeBatch } from './batch-codec.ts';
import { writeNeed } from './needs.ts';
import type { RoundDependencies } from './round-dependencies.ts';
import { askPeer } from './round-dependencies.ts';
import type { DispatchPlan, Refusal } from './plan.ts';
import { planWrite, withLate } from './plan.ts';
import type { IncomingObject } from '../replica/replica.ts';
import type { ConsistencyLevel, WriteNeed } from './requests.ts';
import type { Place } from '../replica/key-slots.ts';
import { Tally } from './tally.ts';

/** The consistency level of a batch, and where it is counted. */
export interface BatchLevel {
  readonly level: ConsistencyLevel;
  /** The node that the client asked: its datacenter is the local one, even if another node applies the batch. */
  readonly coordinator: NodeId;
  /** The client's idempotency key of the batch; empty for none. A retry looks for it at a majority near the primary. */
  readonly clientId: string;
}

/** Objects of a batch with the same replicas and the same bucket properties: one tally counts them together. */
export interface ReplicaGroup {
  readonly placement: Placement;
  readonly rules: BucketProperties;
  /** No member is a pending owner of these objects' tokens. */
  readonly calm: boolean;
  /** Whose answers are counted; a refusal if the level cannot be met now. */
  readonly plan: DispatchPlan | Refusal;
  /** The objects' positions in the batch. */
  readonly indexes: number[];
}

/**
 * A replica group and its tally: a replica that has stored one object of the group has stored all. Undefined tally: the
 * level cannot be met.
 */
interface Vote {
  readonly group: ReplicaGroup;
  /** The group's plan, with members that have begun to take over its objects since. */
  plan: DispatchPlan | undefined;
  tally: Tally | undefined;
  isMet: boolean;
}

/** What one member gets: objects by position in the batch. */
interface Share {
  readonly member: Member;
  readonly indexes: number[];
  isAnswered: boolean;
}

/** One batch on its way to the other replicas. */
export class BatchRound {
  readonly #parts: RoundDependencies;
  readonly #places: readonly Place[];
  readonly #objects: readonly Uint8Array[];
  readonly #votes: readonly Vote[];
  readonly #shares: Share[];
  /** The ring when the round began. */
  readonly #ring: Ring;
  #timeoutUs = 0;
  #isDurableHere = false;
  #verdict: boolean | undefined;
  #heardMet: ((met: boolean) => void) | undefined;
  /** Undefined until a caller asks for `spread`. */
  #spread: Deferred<void> | undefined;
  #unmet: number;
  #silent: number;
  /**
   * While owners change: members that may soon be read as the primary and have not answered. The level is not reported
   * as met before all of them have.
   */
  #nextPrimaries: Set<NodeId> | undefined;
  readonly #clientName: Uint8Array | undefined;
  readonly #holders = new Set<NodeId>();
  /** The span of the dispatch, for the other replicas; undefined if the client's request is not traced. */
  trace: TraceContext | undefined;

  /**
   * `objects`: the bytes at each position. `groups`: the replica groups of the positions at this instant, if the caller
   * has them. `clientName`: the encoded idempotency key under which the batch was written, for its replicas to store.
   */
  constructor(
    parts: RoundDependencies,
    places: readonly Place[],
    objects: readonly Uint8Array[],
    level: BatchLevel,
    groups = replicaGroupOf(parts, places, level),
    clientName: Uint8Array | undefined = undefined,
  ) {
    this.#clientName = clientName;
    this.#parts = parts;
    this.#ring = parts.ring();
    this.#places = places;
    this.#objects = objects;
    this.#votes = groups.map(voteOf);
    this.#shares = sharesOf(parts, places, groups);
    this.#unmet = groups.length;
    this.#silent = this.#shares.length;
    this.#nextPrimaries = groups.every(({ calm }) => calm) ? undefined : nextPrimariesOf(parts, places);
  }

  /** Calls `heard` once: with true once the level is met for every object, with false once it can no longer be met. */
  whenMet(heard: (met: boolean) => void): void {
    if (this.#verdict === undefined) this.#heardMet = heard;
    else heard(this.#verdict);
  }

  /** The caller waits no longer: unless the level is met already, it counts as not met. The batch goes on its way. */
  expire(): void {
    this.#settle(false);
  }

  /** `whenMet` as a promise. */
  get met(): Promise<boolean> {
    const met = new Deferred<boolean>();
    this.whenMet((verdict) => met.resolve(verdict));
    return met.promise;
  }

  /** Resolves when every other replica has answered: it has the batch, or this node has stored hints for it. */
  get spread(): Promise<void> {
    this.#spread ??= new Deferred();
    if (this.#silent === 0) this.#spread.resolve();
    return this.#spread.promise;
  }

  /** No pending owner has been met for any key, neither when the round began nor when it became durable here. */
  get isCalm(): boolean {
    return this.#nextPrimaries === undefined;
  }

  /** The objects of the batch with their keys and tokens. */
  get items(): readonly IncomingObject[] {
    return this.#places.map((_, index) => this.#item(index));
  }

  /** The other nodes that have confirmed that their share is durable. */
  get holders(): ReadonlySet<NodeId> {
    return this.#holders;
  }

  /** Sends the batch. `timeoutUs` bounds the wait for each replica. Called once. */
  send(timeoutUs: number): void {
    this.#timeoutUs = timeoutUs;
    if (this.#votes.some(({ tally }) => tally === undefined)) this.#settle(false);
    for (const share of this.#shares) this.#sendShare(share, timeoutUs);
  }

  /** The caller reports that the batch is durable on this node, once it is sent. */
  durableHere(): void {
    this.#isDurableHere = true;
    if (!this.#isStill()) this.#sendToNewOwners();
    this.#answer(this.#parts.self, true);
  }

  /** Whether no member takes over a key, or has begun to since the round began. */
  #isStill(): boolean {
    const { pending, ring } = this.#parts;
    if (!this.isCalm || ring() !== this.#ring) return false;
    return this.#places.every(({ token }) => pending(token).length === 0);
  }

  /**
   * A member that has begun to take over keys since the round began may have fetched them from this node before the batch
   * could be read here. It raises the need, as a member does that takes them over when the round begins (`planWrite`).
   */
  #sendToNewOwners(): void {
    const { pending, ring, self } = this.#parts;
    const late: Share[] = [];
    for (const [index, { token }] of this.#places.entries())
      for (const member of [...ring().placement(token), ...pending(token)])
        if (member.node !== self.node && !this.#isShared(member, index)) enter(late, member, [index]);
    const next = nextPrimariesOf(this.#parts, this.#places) ?? new Set<NodeId>();
    this.#nextPrimaries ??= new Set();
    for (const { member } of late) if (next.has(member.node)) this.#nextPrimaries.add(member.node);
    if (late.length > 0) sometimes('transaction.owner-joined-meanwhile');
    if (this.#verdict === undefined) for (const vote of this.#votes) this.#raise(vote, late);
    this.#shares.push(...late);
    this.#silent += late.length;
    for (const share of late) this.#sendShare(share, this.#timeoutUs);
  }

  #raise(vote: Vote, late: readonly Share[]): void {
    const { group, plan, tally } = vote;
    if (plan === undefined || tally === undefined) return;
    const counted = late.filter(
      ({ member, indexes }) =>
        indexes.some((index) => group.indexes.includes(index)) &&
        plan.groups.some(({ datacenter }) => datacenter === member.datacenter),
    );
    if (counted.length === 0) return;
    vote.plan = withLate(
      plan,
      counted.map(({ member }) => member),
    );
    vote.tally = tally.extended(vote.plan);
    if (vote.isMet) this.#unmet += 1;
    vote.isMet = false;
  }

  #isShared(member: Member, index: number): boolean {
    return this.#shares.some((share) => share.member.node === member.node && share.indexes.includes(index));
  }

  #sendShare(share: Share, timeoutUs: number): void {
    const { member, indexes } = share;
    if (!this.#parts.view.isRoutable(member)) {
      this.#heard(share, false);
      return;
    }
    const request = requestOf(
      indexes.map((index) => this.#item(index)),
      this.#clientName,
      this.trace,
    );
    const error = askPeer(this.#parts, member, request, timeoutUs, (reply) => {
      this.#heard(share, reply.kind === 'written');
    });
    if (error !== undefined) this.#heard(share, false);
  }

  #heard(share: Share, success: boolean): void {
    const { member, indexes } = share;
    share.isAnswered = true;
    if (success) this.#holders.add(member.node);
    else this.#hint(share);
    // A member that has begun to take over another key of the batch has a second share.
    if (this.#shares.every((one) => one.member.node !== member.node || one.isAnswered))
      this.#nextPrimaries?.delete(member.node);
    this.#answer(member, success, indexes);
    this.#silent -= 1;
    if (this.#silent === 0) this.#spread?.resolve();
  }

  #hint({ member, indexes }: Share): void {
    for (const index of indexes) {
      const { key, token, bytes } = this.#item(index);
      this.#parts.hints?.keep(member.node, key, token, bytes);
    }
  }

  /** `indexes`: the objects that the member has answered for; undefined: all of the batch. */
  #answer(member: Member, success: boolean, indexes?: readonly number[]): void {
    for (const vote of this.#votes) {
      if (indexes !== undefined && !vote.group.indexes.some((index) => indexes.includes(index))) continue;
      const target = vote.plan?.targets.findIndex((one) => one.member.node === member.node) ?? -1;
      if (target < 0) continue;
      const verdict = vote.tally?.answer(target, success);
      if (verdict === 'impossible') this.#settle(false);
      if (verdict !== 'met') continue;
      vote.isMet = true;
      this.#unmet -= 1;
    }
    if (this.#unmet > 0 || (this.#nextPrimaries?.size ?? 0) > 0) return;
    if (this.#isDurableHere || this.#isStill()) this.#settle(true);
  }

  #settle(met: boolean): void {
    if (this.#verdict !== undefined) return;
    this.#verdict = met;
    this.#heardMet?.(met);
  }

  #item(index: number): IncomingObject {
    const { key, token } = present(this.#places[index], 'a place of the batch');
    return { key, token, bytes: present(this.#objects[index], 'an object of the batch') };
  }
}

/**
 * While owners change: the primary by this node's ring, and all pending owners. Nodes with a newer ring view read one
 * of them as the primary, and a majority without it does not help those readers. An unreachable member leaves the set
 * too: its request fails.
 */
function nextPrimariesOf(parts: RoundDependencies, places: readonly Place[]): Set<NodeId> | undefined {
  let nextPrimaries: Set<NodeId> | undefined;
  for (const { token } of places) {
    const pending = parts.pending(token);
    if (pending.length === 0) continue;
    nextPrimaries ??= new Set();
    const [primary] = parts.ring().placement(token);
    if (primary !== undefined) nextPrimaries.add(primary.node);
    for (const { node } of pending) nextPrimaries.add(node);
  }
  nextPrimaries?.delete(parts.self.node);
  return nextPrimaries;
}

function voteOf(group: ReplicaGroup): Vote {
  const plan = group.plan.kind === 'plan' ? group.plan : undefined;
  return { group, plan, tally: plan === undefined ? undefined : new Tally(plan), isMet: false };
}

/** Groups the positions of a batch by replicas and properties. Most batches form one group. */
export function replicaGroupOf(
  parts: RoundDependencies,
  places: readonly Place[],
  level: BatchLevel,
): readonly ReplicaGroup[] {
  const all: ReplicaGroup[] = [];
  const ring = parts.ring();
  for (let index = 0; index < places.length; index++) {
    const place = present(places[index], 'a place of the batch');
    const calm = parts.pending(place.token).length === 0;
    enterReplicaGroup(parts, all, place, index, ring.placement(place.token), calm, level);
  }
  return all;
}

/** Adds the object at position `index` to a group in `all`, or adds a group. `calm`: its token has no pending owner. */
export function enterReplicaGroup(
  parts: RoundDependencies,
  all: ReplicaGroup[],
  place: Place,
  index: number,
  placement: Placement,
  calm: boolean,
  level: BatchLevel,
): void {
  const rules = parts.rules(place.key);
  // While owners change, each object is counted by itself.
  const known = calm ? groupAmong(all, placement, rules) : undefined;
  if (known !== undefined) known.indexes.push(index);
  else
    all.push({ placement, rules, calm, plan: batchPlan(parts, place, placement, level), indexes: [index] });
}

function groupAmong(
  all: readonly ReplicaGroup[],
  placement: Placement,
  rules: BucketProperties,
): ReplicaGroup | undefined {
  for (const one of all)
    if (one.calm && one.rules === rules && areAlike(one.placement, placement)) return one;
  return undefined;
}

function areAlike(left: Placement, right: Placement): boolean {
  if (left === right) return true;
  if (left.length !== right.length) return false;
  for (let index = 0; index < left.length; index++) if (left[index] !== right[index]) return false;
  return true;
}

/** The plan for one key of a batch, with its replicas by the present ring: whose durability the batch waits for. */
export function batchPlan(
  parts: RoundDependencies,
  { key, token }: Place,
  placement: Placement,
  batch: BatchLevel,
): DispatchPlan | Refusal {
  const { level } = batch;
  const counted = countedIn(parts, batch);
  const need = raisedNeed(parts, parts.rules(key), level, counted.local);
  return planWrite(parts.view, placement, level, need, parts.pending(token), counted);
}

/**
 * Where the level is counted. The local datacenter is that of the node that the client asked, so that a later quorum
 * read there sees the batch. A retry looks up its idempotency key near the primary
 * (`transactions/idempotency/lookup.ts`), so a majority of that datacenter must have the batch as well (`beside`). If
 * the coordinator is no longer a member, no client waits for the answer, and this node's datacenter counts.
 */
function countedIn(
  { self, member, view }: RoundDependencies,
  { level, coordinator, clientId }: BatchLevel,
): { readonly local: string; readonly beside?: string } {
  const asked = coordinator === self.node ? self : member(coordinator);
  const local = asked === undefined || view.rackCount(asked.datacenter) === 0 ? self : asked;
  const isNear = clientId === '' || level === 'DC_ONE' || local.datacenter === self.datacenter;
  return isNear ? { local: local.datacenter } : { local: local.datacenter, beside: self.datacenter };
}

/** The batch's level, raised to what the bucket's `w`, `dw` and `pw` require. */
function raisedNeed(
  { settings, view }: RoundDependencies,
  { w, dw, pw }: BucketProperties,
  level: ConsistencyLevel,
  local: string,
): WriteNeed {
  const replicaCount = (): number => view.rackCount(local);
  return writeNeed({ readLevel: settings.readLevel, writeLevel: level, replicaCount }, 'default', w, dw, pw);
}

function sharesOf(
  { self, pending }: RoundDependencies,
  places: readonly Place[],
  groups: readonly ReplicaGroup[],
): Share[] {
  const shares: Share[] = [];
  for (const { placement, indexes, calm } of groups) {
    for (const member of placement) if (member.node !== self.node) enter(shares, member, indexes);
    if (calm) continue;
    for (const index of indexes)
      for (const member of pending(present(places[index], 'a place of the batch').token))
        if (member.node !== self.node) enter(shares, member, [index]);
  }
  return shares;
}

function enter(shares: Share[], member: Member, indexes: readonly number[]): void {
  const known = shares.find((share) => share.member.node === member.node);
  if (known === undefined) shares.push({ member, indexes: [...indexes], isAnswered: false });
  else known.indexes.push(...indexes);
}

function requestOf(
  items: readonly IncomingObject[],
  clientName: Uint8Array | undefined,
  trace: TraceContext | undefined,
): PeerRequest {
  const [only] = items;
  const named = clientName === undefined ? {} : { clientName };
  if (items.length === 1 && only !== undefined)
    return { kind: 'mergeObject', key: only.key, token: only.token, object: only.bytes, trace, ...named };
  return { kind: 'mergeBatch', words: encodeBatch(items), trace, ...named };
}
