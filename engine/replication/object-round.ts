/**
 * Spreads one object that this node has given its dot. Each other replica gets it; what a replica misses is stored as a
 * hint. The round reports when the object is durable at as many replicas as its plan requires.
 *
 * A member that begins to take over the key while the object is on its way to this node's disk may have fetched the key
 * before the object could be read here. It gets the object then and raises the need, and the level counts as met only
 * once it has answered.
 *
 * The write has happened, or is on its way to this node's disk: the round never fails it. For several objects see
 * `batch-round.ts`; for a client's write, which fails if too few replicas take it, see `write-round.ts`.
 */
import { Deferred } from '../base/deferred.ts';
import type { NodeId } from '../base/ids.ts';
import type { TraceContext } from '../base/request-trace.ts';
import { sometimes } from '../base/sometimes.ts';
import type { KeyPlacement } from '../cluster/ring/key-placement.ts';
import type { Member } from '../cluster/ring/ring.ts';
import type { RoundDependencies } from './round-dependencies.ts';
import { askPeer } from './round-dependencies.ts';
import type { DispatchPlan } from './plan.ts';
import { withLate } from './plan.ts';
import type { IncomingObject } from '../replica/replica.ts';
import { Tally } from './tally.ts';

/** One object on its way to the other replicas. */
export class ObjectRound {
  readonly #parts: RoundDependencies;
  readonly #item: IncomingObject;
  readonly #place: KeyPlacement;
  /** With the members that have begun to take over the key since. */
  #plan: DispatchPlan | undefined;
  #tally: Tally | undefined;
  readonly #met: (met: boolean) => void;
  /** The replicas and pending owners when the object was sent. */
  #sent: readonly Member[] = [];
  /** The other nodes that have confirmed that the object is durable there. */
  readonly holders = new Set<NodeId>();
  #silent = 0;
  /** Undefined until a caller asks for `spread`. */
  #spread: Deferred<void> | undefined;
  /** No member takes over the key, as far as this node had heard when the object became durable here. */
  isCalm = true;
  /** Members that take over the key, and have not answered. */
  #late: Set<NodeId> | undefined;
  #timeoutUs = 0;
  #isDurableHere = false;
  /** How the tally has decided. */
  #verdict: boolean | undefined;
  #isReported = false;
  /** The span of the dispatch, for the other replicas; undefined if the client's request is not traced. */
  trace: TraceContext | undefined;

  /**
   * `plan` undefined: the level cannot be met now. Calls `met` once: with true once the object is durable here and the
   * plan is met, with false once it can no longer be met.
   */
  constructor(
    parts: RoundDependencies,
    item: IncomingObject,
    place: KeyPlacement,
    plan: DispatchPlan | undefined,
    met: (met: boolean) => void,
  ) {
    this.#parts = parts;
    this.#item = item;
    this.#place = place;
    this.#plan = plan;
    this.#tally = plan === undefined ? undefined : new Tally(plan);
    this.#met = met;
  }

  /** Sends the object. `timeoutUs` bounds the wait for each replica. Called once. */
  send(timeoutUs: number): void {
    this.#timeoutUs = timeoutUs;
    if (this.#plan === undefined) this.#decide(false);
    const { ring, pending } = this.#parts;
    this.#sent = this.#owners();
    for (const member of this.#place.in(ring())) this.#sendTo(member);
    for (const member of pending(this.#item.token)) this.#sendLate(member);
  }

  /** The caller reports that the object is durable on this node, once it is sent. */
  durableHere(): void {
    this.#isDurableHere = true;
    for (const member of this.#owners())
      if (!this.#sent.some(({ node }) => node === member.node)) this.#sendLate(member);
    this.#answer(this.#parts.self, true);
    this.#report();
  }

  #sendLate(member: Member): void {
    if (member.node === this.#parts.self.node) return;
    sometimes('transaction.owner-joined-amid-put');
    this.isCalm = false;
    this.#late ??= new Set();
    this.#late.add(member.node);
    this.#raise(member);
    this.#sendTo(member);
  }

  /** The member raises the need, as one does that takes over the key when the plan is made (`planWrite`). */
  #raise(member: Member): void {
    const plan = this.#plan;
    if (plan === undefined || this.#verdict === false || this.#isReported) return;
    if (plan.targets.some((target) => target.member.node === member.node)) return;
    if (!plan.groups.some(({ datacenter }) => datacenter === member.datacenter)) return;
    this.#plan = withLate(plan, [member]);
    this.#tally = this.#tally?.extended(this.#plan);
    // The member's own answer decides it anew.
    this.#verdict = undefined;
  }

  /** The object with its key and token. */
  get items(): readonly IncomingObject[] {
    return [this.#item];
  }

  /** Resolves when every other replica has answered: it has the object, or this node has stored a hint for it. */
  get spread(): Promise<void> {
    this.#spread ??= new Deferred();
    if (this.#silent === 0) this.#spread.resolve();
    return this.#spread.promise;
  }

  /** The replicas of the key and its pending owners now. */
  #owners(): readonly Member[] {
    const { ring, pending } = this.#parts;
    const placement = this.#place.in(ring());
    const late = pending(this.#item.token);
    return late.length === 0 ? placement : [...placement, ...late];
  }

  #sendTo(member: Member): void {
    const { self, view } = this.#parts;
    if (member.node === self.node) return;
    this.#silent += 1;
    if (!view.isRoutable(member)) {
      this.#heard(member, false);
      return;
    }
    const { key, token, bytes: object } = this.#item;
    const request = { kind: 'mergeObject', key, token, object, trace: this.trace } as const;
    const error = askPeer(this.#parts, member, request, this.#timeoutUs, (reply) => {
      this.#heard(member, reply.kind === 'written');
    });
    if (error !== undefined) this.#heard(member, false);
  }

  #heard(member: Member, success: boolean): void {
    const { key, token, bytes } = this.#item;
    if (success) this.holders.add(member.node);
    else this.#parts.hints?.keep(member.node, key, token, bytes);
    this.#late?.delete(member.node);
    this.#answer(member, success);
    this.#report();
    this.#silent -= 1;
    if (this.#silent === 0) this.#spread?.resolve();
  }

  #answer(member: Member, success: boolean): void {
    const { targets = [] } = this.#plan ?? {};
    for (let index = 0; index < targets.length; index++) {
      if (targets[index]?.member.node !== member.node) continue;
      const verdict = this.#tally?.answer(index, success);
      if (verdict === 'met') this.#decide(true);
      else if (verdict === 'impossible') this.#decide(false);
      return;
    }
  }

  #decide(verdict: boolean): void {
    this.#verdict = verdict;
    this.#report();
  }

  #report(): void {
    if (this.#verdict === undefined || this.#isReported) return;
    if (this.#verdict && (!this.#isDurableHere || (this.#late?.size ?? 0) > 0)) return;
    this.#isReported = true;
    this.#met(this.#verdict);
  }
}
