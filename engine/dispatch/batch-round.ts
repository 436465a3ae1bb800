/**
 * The other replicas of a batch that this node has given its dots: each gets its objects of the batch in one atomic
 * message, what it misses is kept as hints, and the round says when the batch is durable at as many replicas of every
 * key as the level names. The batch has happened; the round only spreads it, and never fails it.
 */
import { present } from '../base/assert.ts';
import { Deferred } from '../base/deferred.ts';
import type { NodeId } from '../base/ids.ts';
import type { BucketProperties } from '../props/properties.ts';
import type { Member } from '../ring/ring.ts';
import type { PeerRequest } from '../wire/messages.ts';
import { encodeBatch } from './batch-words.ts';
import { writeNeed } from './needs.ts';
import type { DispatchParts } from './parts.ts';
import { askPeer, termsOf } from './parts.ts';
import type { DispatchPlan, Refusal } from './plan.ts';
import { planWrite } from './plan.ts';
import type { IncomingObject } from './replica.ts';
import type { ConsistencyLevel, Need } from './requests.ts';
import type { Place } from './slots.ts';
import { Tally } from './tally.ts';

/** One object's vote. */
interface Vote {
  readonly plan: DispatchPlan;
  readonly tally: Tally;
}

/** What one member gets, by place in the batch. */
interface Share {
  readonly member: Member;
  readonly indexes: number[];
}

export class BatchRound {
  readonly #parts: DispatchParts;
  readonly #items: readonly IncomingObject[];
  readonly #votes: readonly (Vote | undefined)[];
  readonly #shares: readonly Share[];
  readonly #met = new Deferred<boolean>();
  /** Undefined: nobody has asked. */
  #spread: Deferred<void> | undefined;
  #unmet: number;
  #silent: number;
  /** Who may be read as the primary before long, and has not answered: nobody hears of the batch before. */
  readonly #heirs: Set<NodeId> | undefined;

  constructor(parts: DispatchParts, items: readonly IncomingObject[], level: ConsistencyLevel) {
    this.#parts = parts;
    this.#items = items;
    this.#votes = items.map((item) => voteOf(parts, item, level));
    this.#shares = sharesOf(parts, items);
    this.#unmet = items.length;
    this.#silent = this.#shares.length;
    this.#heirs = heirsOf(parts, items);
  }

  /** True once the level is met for every object; false once it cannot be any more. */
  get met(): Promise<boolean> {
    return this.#met.promise;
  }

  /** Resolves when every other replica has the batch or a hint for it. */
  get spread(): Promise<void> {
    this.#spread ??= new Deferred();
    if (this.#silent === 0) this.#spread.resolve();
    return this.#spread.promise;
  }

  /** Sends the batch. `timeoutUs` bounds the wait for each replica. */
  send(timeoutUs: number): void {
    if (this.#votes.includes(undefined)) this.#met.resolve(false);
    for (const share of this.#shares) this.#sendShare(share, timeoutUs);
  }

  /** The batch is durable on this node. */
  durableHere(): void {
    this.#answer(this.#parts.self, this.#items.keys(), true);
  }

  #sendShare(share: Share, timeoutUs: number): void {
    const { member, indexes } = share;
    if (!this.#parts.view.isRoutable(member)) {
      this.#heard(share, false);
      return;
    }
    const request = requestOf(indexes.map((index) => this.#item(index)));
    const error = askPeer(this.#parts, member, request, timeoutUs, (reply) => {
      this.#heard(share, reply.kind === 'written');
    });
    if (error !== undefined) this.#heard(share, false);
  }

  #heard(share: Share, success: boolean): void {
    if (!success) this.#hint(share);
    this.#heirs?.delete(share.member.node);
    this.#answer(share.member, share.indexes, success);
    this.#silent -= 1;
    if (this.#silent === 0) this.#spread?.resolve();
  }

  #hint({ member, indexes }: Share): void {
    for (const index of indexes) {
      const { key, token, bytes } = this.#item(index);
      this.#parts.hints?.keep(member.node, key, token, bytes);
    }
  }

  #answer(member: Member, indexes: Iterable<number>, success: boolean): void {
    for (const index of indexes) {
      const vote = this.#votes[index];
      const target = vote?.plan.targets.findIndex((one) => one.member.node === member.node) ?? -1;
      if (vote === undefined || target < 0) continue;
      const verdict = vote.tally.answer(target, success);
      if (verdict === 'impossible') this.#met.resolve(false);
      if (verdict === 'met') this.#unmet -= 1;
    }
    if (this.#unmet === 0 && (this.#heirs?.size ?? 0) === 0) this.#met.resolve(true);
  }

  #item(index: number): IncomingObject {
    return present(this.#items[index], 'an object of the batch');
  }
}

/**
 * While owners change: the primary of the ring as it is here, and who is written to besides. One of them is read as the
 * primary by nodes that are a step ahead, and a majority without it is no help to them. (Who cannot be reached answers
 * too: with a failure.)
 */
function heirsOf(parts: DispatchParts, items: readonly IncomingObject[]): Set<NodeId> | undefined {
  let heirs: Set<NodeId> | undefined;
  for (const { token } of items) {
    const pending = parts.pending(token);
    if (pending.length === 0) continue;
    heirs ??= new Set();
    const [primary] = parts.ring().placement(token);
    if (primary !== undefined) heirs.add(primary.node);
    for (const { node } of pending) heirs.add(node);
  }
  heirs?.delete(parts.self.node);
  return heirs;
}

/** Undefined: the level cannot be met now. */
function voteOf(parts: DispatchParts, place: Place, level: ConsistencyLevel): Vote | undefined {
  const plan = batchPlan(parts, place, level);
  return plan.kind === 'plan' ? { plan, tally: new Tally(plan) } : undefined;
}

/** Whose durability a batch waits for, of one of its keys. */
export function batchPlan(
  parts: DispatchParts,
  { key, token }: Place,
  level: ConsistencyLevel,
): DispatchPlan | Refusal {
  const placement = parts.ring().placement(token);
  const need = raisedNeed(parts, parts.rules(key), level);
  return planWrite(parts.view, placement, level, need, parts.pending(token));
}

/** A batch waits for its own level, and for what the bucket's `w`, `dw` and `pw` ask beyond it. */
function raisedNeed(parts: DispatchParts, bucket: BucketProperties, level: ConsistencyLevel): Need {
  // Numbers are of the local datacenter: they would take the others' majorities away.
  if (level === 'DC_EACH_SAFE_QUORUM') return 'default';
  const { w, dw, pw } = bucket;
  return writeNeed({ ...termsOf(parts), writeLevel: level }, 'default', w, dw, pw);
}

function sharesOf(parts: DispatchParts, items: readonly IncomingObject[]): readonly Share[] {
  const { self, ring, pending } = parts;
  const shares: Share[] = [];
  items.forEach(({ token }, index) => {
    for (const member of ring().placement(token)) if (member.node !== self.node) enter(shares, member, index);
    for (const member of pending(token)) if (member.node !== self.node) enter(shares, member, index);
  });
  return shares;
}

function enter(shares: Share[], member: Member, index: number): void {
  const known = shares.find((share) => share.member.node === member.node);
  if (known === undefined) shares.push({ member, indexes: [index] });
  else known.indexes.push(index);
}

function requestOf(items: readonly IncomingObject[]): PeerRequest {
  const [only] = items;
  if (items.length === 1 && only !== undefined)
    return { kind: 'mergeObject', key: only.key, token: only.token, object: only.bytes };
  return { kind: 'mergeBatch', words: encodeBatch(items) };
}
