/**
 * Spreads one object that this node has given its dot. Each other replica gets it; what a replica misses is stored as a
 * hint. The round reports when the object is durable at as many replicas as its plan requires.
 *
 * The write has happened, or is on its way to this node's disk: the round never fails it. For several objects see
 * `batch-round.ts`; for a client's write, which fails if too few replicas take it, see `write-round.ts`.
 */
import type { TraceContext } from '../base/request-trace.ts';
import type { KeyPlacement } from '../cluster/ring/key-placement.ts';
import type { Member } from '../cluster/ring/ring.ts';
import type { RoundDependencies } from './round-dependencies.ts';
import { askPeer } from './round-dependencies.ts';
import type { DispatchPlan } from './plan.ts';
import type { IncomingObject } from '../replica/replica.ts';
import { Tally } from './tally.ts';

/** One object on its way to the other replicas. */
export class ObjectRound {
  readonly #parts: RoundDependencies;
  readonly #item: IncomingObject;
  readonly #place: KeyPlacement;
  readonly #plan: DispatchPlan | undefined;
  readonly #tally: Tally | undefined;
  readonly #met: (met: boolean) => void;
  /** The span of the dispatch, for the other replicas; undefined if the client's request is not traced. */
  trace: TraceContext | undefined;

  /**
   * `plan` undefined: the level cannot be met now. Calls `met` once: with true once the plan is met, with false once it
   * can no longer be met.
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
    const { ring, pending } = this.#parts;
    const { token } = this.#item;
    if (this.#plan === undefined) this.#met(false);
    for (const member of this.#place.in(ring())) this.#sendTo(member, timeoutUs);
    for (const member of pending(token)) this.#sendTo(member, timeoutUs);
  }

  /** The caller reports that the object is durable on this node. */
  durableHere(): void {
    this.#answer(this.#parts.self, true);
  }

  #sendTo(member: Member, timeoutUs: number): void {
    const { self, view } = this.#parts;
    if (member.node === self.node) return;
    if (!view.isRoutable(member)) {
      this.#heard(member, false);
      return;
    }
    const { key, token, bytes: object } = this.#item;
    const request = { kind: 'mergeObject', key, token, object, trace: this.trace } as const;
    const error = askPeer(this.#parts, member, request, timeoutUs, (reply) => {
      this.#heard(member, reply.kind === 'written');
    });
    if (error !== undefined) this.#heard(member, false);
  }

  #heard(member: Member, success: boolean): void {
    const { key, token, bytes } = this.#item;
    if (!success) this.#parts.hints?.keep(member.node, key, token, bytes);
    this.#answer(member, success);
  }

  #answer(member: Member, success: boolean): void {
    const { targets = [] } = this.#plan ?? {};
    for (let index = 0; index < targets.length; index++) {
      if (targets[index]?.member.node !== member.node) continue;
      const verdict = this.#tally?.answer(index, success);
      if (verdict === 'met') this.#met(true);
      else if (verdict === 'impossible') this.#met(false);
      return;
    }
  }
}
