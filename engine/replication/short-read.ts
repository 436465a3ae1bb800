/**
 * Runs one read whose replicas agree, as nearly all do: it counts equal answers, decodes one of them, and keeps nothing
 * else. As soon as an answer differs, fails, or describes a large object, or the deadline passes, it hands all that it
 * has heard to a `ReadRound`, which goes on as if it had run the read from the beginning.
 *
 * It asks at first as many targets as must answer (`read-spread.ts`), and the others once it needs them.
 *
 * It is for plans with one datacenter, none of whose targets is held back, and whose answers may be merged (`isShort`).
 * Its result is then that of `ReadRound`: the merge of equal objects is one of them, and there is nothing to repair.
 */
import { BytesError } from '../base/bytes.ts';
import type { Token } from '../base/ids.ts';
import type { OpenSpan } from '../base/request-trace.ts';
import type { PackedKey } from '../base/object-key.ts';
import { sometimes } from '../base/sometimes.ts';
import type { Timer } from '../io/clock.ts';
import type { Member } from '../cluster/ring/ring.ts';
import type { StoredObject } from '../replica/object/object.ts';
import { decodeObject, resolveToNewest } from '../replica/object/object.ts';
import type { DispatchPlan } from './plan.ts';
import type { ReadDependencies, ReadResult } from './read-round.ts';
import { ReadRound, requestObject, sameBytes } from './read-round.ts';
import { largeBytes } from './read-budget.ts';
import { everyTarget } from './read-spread.ts';
import type { ReplyFailure } from './round-dependencies.ts';

const noMembers: readonly Member[] = [];

/** Most targets whose answers are noted as bits of a small integer. */
const targetsMax = 30;

/** Whether a `ShortRead` may run the plan. */
export function isShort({ agree, groups, targets, failovers }: DispatchPlan): boolean {
  if (agree || groups.length !== 1 || failovers > 0 || targets.length > targetsMax) return false;
  for (const { group, held } of targets) if (group !== 0 || held === true) return false;
  return true;
}

/** One read of one key. */
export class ShortRead {
  readonly #parts: ReadDependencies;
  readonly #key: PackedKey;
  readonly #token: Token;
  readonly #plan: DispatchPlan;
  readonly #span: OpenSpan | undefined;
  readonly #result: ReadResult;
  #untilUs = 0;
  #timeoutUs = 0;
  #deadline: Timer | undefined;
  /** Bit n: target n has been asked, or is being asked. */
  #asked = 0;
  /** Answers that are still needed. */
  #missing: number;
  /** Bit n: target n has answered, with `#bytes`. */
  #heard = 0;
  #bytes: Uint8Array | undefined;
  /** Runs the rest of the read, once replicas do not simply agree. */
  #round: ReadRound | undefined;

  /**
   * The plan must be one that `isShort` accepts. `result`: where the client's answer goes. `span`: the dispatch, if the
   * request is traced.
   */
  constructor(
    parts: ReadDependencies,
    key: PackedKey,
    token: Token,
    plan: DispatchPlan,
    result: ReadResult,
    span?: OpenSpan,
  ) {
    this.#span = span;
    this.#result = result;
    this.#parts = parts;
    this.#key = key;
    this.#token = token;
    this.#plan = plan;
    this.#missing = plan.groups[0]?.needed ?? 0;
  }

  /** As in `ReadRound`. */
  get failed(): readonly Member[] {
    return this.#round?.failed ?? noMembers;
  }

  /** As in `ReadRound`: answers of these plans need not be equal. */
  get disagrees(): boolean {
    return false;
  }

  /** As in `ReadRound`. */
  whenRepaired(): Promise<void> {
    return Promise.resolve();
  }

  /** As in `ReadRound`. */
  run(timeoutUs: number, nowUs = this.#parts.clock.nowUs()): void {
    const { clock, spread } = this.#parts;
    const { targets } = this.#plan;
    const first = spread.first(this.#plan, spread.turn(), nowUs);
    this.#asked = first;
    this.#timeoutUs = timeoutUs;
    this.#untilUs = nowUs + timeoutUs;
    this.#deadline = this.#isEveryAsked
      ? clock.after(timeoutUs, () => this.#general().expire())
      : clock.after(Math.min(spread.hedgeUs, timeoutUs), () => this.#hedge());
    // This node first: a peer does not send an object that is held here already.
    const own = targets.findIndex(({ member }) => member === this.#parts.self);
    if (own >= 0) this.#ask(own, timeoutUs);
    for (let index = 0; index < targets.length; index++)
      if (index !== own && (first & (1 << index)) !== 0) this.#ask(index, timeoutUs);
  }

  get #isEveryAsked(): boolean {
    return this.#asked === everyTarget(this.#plan);
  }

  /** Targets that were asked are silent: asks the others, too. */
  #hedge(): void {
    sometimes('read.hedged');
    const { clock, spread, self } = this.#parts;
    const nowUs = clock.nowUs();
    const leftUs = Math.max(1, this.#untilUs - nowUs);
    this.#deadline = clock.after(leftUs, () => this.#general().expire());
    this.#plan.targets.forEach(({ member }, index) => {
      const isSilent = (this.#asked & ~this.#heard & (1 << index)) !== 0;
      if (isSilent && member !== self) spread.noteSilent(member, nowUs);
    });
    for (const index of this.#rest()) this.#ask(index, leftUs);
  }

  /** The targets that have not been asked; they count as asked from now on. */
  #rest(): readonly number[] {
    const rest: number[] = [];
    for (let index = 0; index < this.#plan.targets.length; index++)
      if ((this.#asked & (1 << index)) === 0) rest.push(index);
    this.#asked = everyTarget(this.#plan);
    return rest;
  }

  #ask(index: number, timeoutUs: number): void {
    const span = this.#span;
    const held = this.#bytes;
    requestObject(
      this.#parts,
      this.#key,
      this.#token,
      this.#plan,
      index,
      timeoutUs,
      largeBytes,
      this,
      span,
      held,
    );
  }

  /** As in `ReadRound`: the answer of a target. */
  told(
    index: number,
    bytesMax: number | undefined,
    error: ReplyFailure | undefined,
    bytes: Uint8Array | undefined,
    describedBytes?: number,
    digest?: Uint8Array,
  ): void {
    const isPlain = this.#round === undefined && error === undefined && describedBytes === undefined;
    if (isPlain && (this.#heard === 0 || sameBytes(bytes, this.#bytes))) this.#count(index, bytes);
    else this.#general().told(index, bytesMax, error, bytes, describedBytes, digest);
  }

  #count(index: number, bytes: Uint8Array | undefined): void {
    const isKnown = (this.#heard & (1 << index)) !== 0;
    if (isKnown) return;
    if (this.#heard === 0) this.#bytes = bytes;
    this.#heard |= 1 << index;
    this.#missing -= 1;
    if (this.#missing === 0 && !this.#result.settled) this.#succeed();
  }

  #succeed(): void {
    let object: StoredObject | undefined;
    try {
      object = this.#bytes === undefined ? undefined : decodeObject(this.#bytes);
    } catch (error) {
      if (!(error instanceof BytesError)) throw error;
      this.#general();
      return;
    }
    this.#deadline?.cancel();
    if (object !== undefined && !this.#parts.rules(this.#key).allowMult) object = resolveToNewest(object);
    this.#result.resolve(object);
  }

  /** The round that goes on with what was heard, and asks all targets. */
  #general(): ReadRound {
    if (this.#round !== undefined) return this.#round;
    const { clock } = this.#parts;
    const round = new ReadRound(this.#parts, this.#key, this.#token, this.#plan, this.#result, this.#span);
    this.#round = round;
    if (!this.#isEveryAsked && !this.#result.settled) {
      this.#deadline?.cancel();
      this.#deadline = clock.after(Math.max(1, this.#untilUs - clock.nowUs()), () => round.expire());
    }
    round.resume(this.#deadline, this.#untilUs, this.#timeoutUs);
    for (let index = 0; index < this.#plan.targets.length; index++) {
      if ((this.#heard & (1 << index)) !== 0) round.told(index, largeBytes, undefined, this.#bytes);
    }
    for (const index of this.#rest()) round.askAgain(index);
    return round;
  }
}
