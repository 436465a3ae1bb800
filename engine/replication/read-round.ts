/**
 * Runs one read: asks the plan's replicas, counts their answers, merges their objects, and afterwards brings stale
 * replicas up to date (read repair; source: DeCandia et al., "Dynamo", 2007, section 5).
 *
 * The client's answer is given once, as soon as the tally is decided or the deadline passes. Later answers still count
 * for repair, which waits for all of them (except after `letGo`): each target answers exactly once, by its own deadline
 * at the latest.
 *
 * At a SAFE level the answers that count are equal byte for byte (stored bytes are canonical), in whatever order they
 * arrive, and the client gets exactly what these replicas hold. If enough replicas answer but too few of them agree,
 * the round at once repairs those that have answered, so that the dispatcher can read again (`whenRepaired`).
 */
import { present } from '../base/assert.ts';
import { BytesError } from '../base/bytes.ts';
import { Deferred } from '../base/deferred.ts';
import { LockstepError } from '../base/errors.ts';
import type { Token } from '../base/ids.ts';
import { textOf } from '../base/ids.ts';
import type { OpenSpan } from '../base/request-trace.ts';
import type { PackedKey } from '../base/object-key.ts';
import { unpackKey } from '../base/object-key.ts';
import { sometimes } from '../base/sometimes.ts';
import type { Timer } from '../io/clock.ts';
import type { StoredObject } from '../replica/object/object.ts';
import { decodeObject, encodeObject, mergeObjects, resolveToNewest } from '../replica/object/object.ts';
import type { Member } from '../cluster/ring/ring.ts';
import type { Answer, LargeReader } from './large-answers.ts';
import { LargeAnswers, waitedInVain } from './large-answers.ts';
import type { Asking, RoundDependencies, ReplyFailure } from './round-dependencies.ts';
import { askPeer, replyFailure, roundError, unaskedError } from './round-dependencies.ts';
import type { DispatchPlan } from './plan.ts';
import { largeBytes } from './read-budget.ts';
import { versionToSend } from './read-many.ts';
import { refusal } from '../replica/key-slots.ts';
import { ReplicaSpans } from './replica-spans.ts';
import { Tally } from './tally.ts';

/** What a read needs of the node. */
export type ReadDependencies = Asking &
  Pick<RoundDependencies, 'self' | 'replica' | 'readBudget' | 'spread' | 'clock' | 'settings' | 'rules'>;

/**
 * After 1/patienceShare of a request's time without enough answers, the round asks the targets that are held back. A
 * fetch of a large object that has been silent as long is doubled by another one.
 */
const patienceShare = 4;

/** The failure of a peer that describes an object although the request asked for all of it. */
const evasion: ReplyFailure = { code: 'Internal', message: 'a peer described what it was to send' };

/** The failure of a peer that states to hold a version that it was not told. */
export const unnamedVersion: ReplyFailure = { code: 'Internal', message: 'a peer names no object' };

/** State of the repair after enough replicas have answered and too few of them agree. */
interface Disagreement {
  /** The merged object of those that have answered; undefined if one of their objects does not decode. */
  readonly bytes: Buffer | undefined;
  /** Targets that are sent the merged object. */
  readonly stale: readonly number[];
  /** Repairs that have not ended. */
  repairing: number;
  /** Per target: whether it is known to hold the merged object. */
  readonly holding: boolean[];
  /** Resolved once a new read can succeed, or every repair has ended. */
  readonly enough: Deferred<void>;
}

/** Where the client's answer of a round goes: a `Deferred`, or who waits without a promise. */
export interface ReadResult {
  /** Whether an answer has been given; further ones have no effect. */
  readonly settled: boolean;
  resolve(object: StoredObject | undefined): void;
  reject(error: unknown): void;
}

/** One read of one key. */
export class ReadRound implements LargeReader {
  readonly #parts: ReadDependencies;
  readonly #key: PackedKey;
  readonly #token: Token;
  readonly #span: OpenSpan | undefined;
  readonly #plan: DispatchPlan;
  readonly #tally: Tally;
  /** As in `LargeReader`: the successful answers, by target. */
  readonly answers: (Answer | undefined)[];
  readonly #failures: ReplyFailure[] = [];
  /** Targets that cannot read their own copy: they are repaired with what the others hold. */
  readonly #corrupt: number[] = [];
  readonly #result: ReadResult;
  /** Targets that are held back, in the plan's order. */
  readonly #held: number[] = [];
  #deadline: Timer | undefined;
  #patience: Timer | undefined;
  #large: LargeAnswers | undefined;
  untilUs = 0;
  patienceUs = 0;
  #repaired = false;
  /** Under `agree`, per target: the class of its answer, numbered by the first target whose answer was equal. */
  readonly #classes: number[] = [];
  /** Set once enough replicas have answered and too few of them agree. */
  #disagreement: Disagreement | undefined;

  /** `result`: where the client's answer goes. */
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
    this.#tally = new Tally(plan);
    this.answers = plan.targets.map(() => undefined);
  }

  /** Members whose answer was a failure so far. */
  readonly failed: Member[] = [];

  /** Whether enough replicas have answered and too few of them agree. */
  get disagrees(): boolean {
    return this.#disagreement !== undefined;
  }

  /**
   * Asks the targets. `nowUs`: the monotonic time, if the caller knows it. The result is the merged object, or
   * `NoQuorum`, `ReplicasDisagree`, `Timeout`, `Corrupted`, or the only target's own error.
   */
  run(timeoutUs: number, nowUs = this.#parts.clock.nowUs()): void {
    const { clock, stats } = this.#parts;
    const { targets, failovers } = this.#plan;
    this.#deadline = clock.after(timeoutUs, () => this.expire());
    this.untilUs = nowUs + timeoutUs;
    this.patienceUs = Math.floor(timeoutUs / patienceShare);
    stats.pool.remote_peer_failover_requests += failovers;
    for (let index = 0; index < targets.length; index++)
      if (targets[index]?.held === true) this.#held.push(index);
    if (this.#held.length > 0) {
      this.#patience = clock.after(this.patienceUs, () => this.#failOver());
    }
    for (let index = 0; index < targets.length; index++) {
      if (targets[index]?.held !== true) this.#ask(index, timeoutUs);
    }
  }

  /** Goes on with a read that another has begun: that one asks every target (`askAgain`), and `deadline` will call `expire`. */
  resume(deadline: Timer | undefined, untilUs: number, timeoutUs: number): void {
    this.#deadline = deadline;
    this.untilUs = untilUs;
    this.patienceUs = Math.floor(timeoutUs / patienceShare);
  }

  /** The targets asked have been silent for `patienceUs`: asks those that were held back. */
  #failOver(): void {
    if (this.#tally.decided) return;
    sometimes('read.failed-over');
    for (const index of this.#held.splice(0)) this.#askHeld(index, true);
  }

  /** Asks held-back targets of a group that can no longer meet its need without them, as many as it takes. */
  #fillIn(group: number, away: boolean): void {
    const { targets } = this.#plan;
    const inGroup = (index: number): boolean => targets[index]?.group === group;
    for (;;) {
      const held = this.#held.filter(inGroup);
      const [next] = held;
      if (next === undefined) return;
      if (this.#tally.missing(group) <= this.#tally.pending(group) - held.length) return;
      this.#held.splice(this.#held.indexOf(next), 1);
      this.#askHeld(next, away);
    }
  }

  #askHeld(index: number, away: boolean): void {
    const { datacenter } = present(this.#plan.targets[index], 'a target').member;
    const isFar = datacenter !== this.#parts.self.datacenter;
    if (away && isFar) this.#parts.stats.pool.remote_peer_failover_requests += 1;
    this.#ask(index, this.#leftUs());
  }

  #leftUs(): number {
    return Math.max(1, this.untilUs - this.#parts.clock.nowUs());
  }

  /** Asks a target; it describes its object if that is large (`large-answers.ts`). */
  #ask(index: number, timeoutUs: number): void {
    this.#request(index, timeoutUs, largeBytes);
  }

  /** Asks a target that was not asked yet, or that a batch had asked and that does not answer there. */
  askAgain(index: number): void {
    this.#ask(index, this.#leftUs());
  }

  /** As in `LargeReader`. */
  fetch(index: number): void {
    this.#request(index, this.#leftUs(), undefined);
  }

  #request(index: number, timeoutUs: number, bytesMax: number | undefined): void {
    const span = this.#span;
    requestObject(this.#parts, this.#key, this.#token, this.#plan, index, timeoutUs, bytesMax, this, span);
  }

  /** The answer of a target that was asked with `bytesMax` (undefined: asked for the whole object). */
  told(
    index: number,
    bytesMax: number | undefined,
    error: ReplyFailure | undefined,
    bytes: Uint8Array | undefined,
    describedBytes?: number,
    digest?: Uint8Array,
  ): void {
    if (bytesMax === undefined) {
      const evasive = describedBytes === undefined ? undefined : evasion;
      present(this.#large, 'who fetches').arrived(index, error ?? evasive, bytes);
    } else if (describedBytes === undefined) {
      this.hear(index, error, bytes);
      this.#large?.settle();
    } else {
      this.#large ??= new LargeAnswers(this.#parts.clock, this.#parts.readBudget, this);
      this.#large.described(index, describedBytes, digest);
    }
  }

  /** As in `LargeReader`: the final answer of a target, or its failure. */
  hear(index: number, error: ReplyFailure | undefined, bytes: Uint8Array | undefined): void {
    if (error === undefined) {
      this.answers[index] = { bytes };
    } else {
      this.#failures.push(error);
      if (error.code === 'Corrupted') this.#corrupt.push(index);
      this.failed.push(present(this.#plan.targets[index], 'a target').member);
    }
    const equality = this.#plan.agree && error === undefined ? this.#classOf(index) : 0;
    const verdict = this.#tally.answer(index, error === undefined, equality);
    if (verdict === 'met') this.#succeed();
    else if (verdict === 'impossible') this.#fall();
    else if (verdict === 'pending' && this.#held.length > 0)
      this.#fillIn(present(this.#plan.targets[index], 'a target').group, error !== undefined);
    if (this.#tally.outstanding === this.#held.length) this.#repairOnce();
    else if (this.#tally.decided) this.#large?.spare();
  }

  /** Another read waits for the budget: ends the repair phase without the targets that are still silent. */
  letGo(): void {
    sometimes('read.given-up-for-others');
    this.#repairOnce();
    this.answers.fill(undefined);
  }

  /**
   * Under `agree`: the class of a target's answer. It has the number of the first target that answered with the same
   * bytes, so that it does not depend on the order in which equal answers arrive.
   */
  #classOf(index: number): number {
    const own = this.answers[index]?.bytes;
    let found = index;
    for (let other = 0; other < this.answers.length; other++) {
      const answer = this.answers[other];
      if (other === index || answer === undefined || !sameBytes(answer.bytes, own)) continue;
      found = this.#classes[other] ?? other;
      break;
    }
    this.#classes[index] = found;
    return found;
  }

  /** The level can no longer be met: fails the read, and under a disagreement starts the repair. */
  #fall(): void {
    const tally = this.#tally.describe();
    const votes = this.#tally.votes();
    if (!this.#tally.disagrees) {
      this.#fail(
        unaskedError(this.#failures) ?? roundError(this.#failures, this.#tally.describeReach(), { votes }),
      );
      return;
    }
    sometimes('read.replicas-disagree');
    this.#disagreement = this.#repairNow();
    const detail = `the copies of ${nameOf(this.#key)} differ (equal ones: ${tally}); their repair has begun, read again`;
    this.#fail(new LockstepError('ReplicasDisagree', detail, { votes }));
  }

  /**
   * Resolves once enough of the disagreeing replicas are equal for a new read to succeed, or every repair has ended.
   */
  whenRepaired(): Promise<void> {
    return this.#disagreement?.enough.promise ?? Promise.resolve();
  }

  #succeed(): void {
    this.#deadline?.cancel();
    this.#patience?.cancel();
    let object: StoredObject | undefined;
    try {
      object = this.#answer();
    } catch (error) {
      if (!(error instanceof BytesError)) throw error;
      this.#result.reject(
        new LockstepError('Corrupted', `a replica's object does not decode: ${error.message}`),
      );
      return;
    }
    this.#result.resolve(object);
  }

  #fail(error: LockstepError): void {
    // Past the deadline the client already has its answer.
    if (this.#result.settled) return;
    this.#deadline?.cancel();
    this.#patience?.cancel();
    this.#result.reject(error);
  }

  /** The deadline has passed. */
  expire(): void {
    if (this.#tally.decided || this.#result.settled) return;
    sometimes('read.deadline-passed');
    const why = this.#large?.waits === true ? `; ${waitedInVain}` : '';
    this.#result.reject(
      new LockstepError('Timeout', `the deadline passed with ${this.#tally.describe()}${why}`),
    );
  }

  /** The client's answer. Under `agree` it is what the agreeing replicas hold; otherwise the merge of all answers. */
  #answer(): StoredObject | undefined {
    if (!this.#plan.agree) return this.#merged(this.answers);
    return this.#merged(
      this.#plan.groups.map(
        (_, group) => this.answers[present(this.#tally.agreed(group), 'an agreed class')],
      ),
    );
  }

  /** Merges the answers. Throws `BytesError` if one of them does not decode. */
  #merged(answers: readonly (Answer | undefined)[]): StoredObject | undefined {
    let merged: StoredObject | undefined;
    let first: Uint8Array | undefined;
    for (const answer of answers) {
      const bytes = answer?.bytes;
      if (bytes === undefined || (first !== undefined && sameBytes(first, bytes))) continue;
      first ??= bytes;
      const object = decodeObject(bytes);
      merged = merged === undefined ? object : mergeObjects(merged, object);
    }
    if (merged === undefined || this.#parts.rules(this.#key).allowMult) return merged;
    return resolveToNewest(merged);
  }

  #repairOnce(): void {
    if (this.#repaired) return;
    this.#repaired = true;
    this.#repair();
    this.#large?.end();
  }

  #repair(): void {
    const first = this.answers.find((answer) => answer !== undefined);
    const agreed = this.answers.every((one) => one === undefined || sameBytes(one.bytes, first?.bytes));
    if (agreed && this.#corrupt.length === 0) return;
    const bytes = this.#repairBytes();
    if (bytes === undefined) return;
    if (this.#corrupt.length > 0) sometimes('read.corrupt-copy-repaired');
    const begun = sameBytes(this.#disagreement?.bytes, bytes) ? this.#disagreement?.stale : undefined;
    this.answers.forEach((answer, index) => {
      const stale = answer !== undefined && !sameBytes(answer.bytes, bytes);
      if (begun?.includes(index) === true) return;
      if (stale || this.#corrupt.includes(index)) this.#repairTarget(index, bytes, nothing);
    });
  }

  /** Sends the merged object to the stale replicas among those that have answered, without waiting for the others. */
  #repairNow(): Disagreement {
    const bytes = this.#repairBytes();
    const holding = this.answers.map((answer) => answer !== undefined && sameBytes(answer.bytes, bytes));
    const stale: number[] = [];
    this.answers.forEach((answer, index) => {
      if (answer !== undefined && holding[index] === false) stale.push(index);
    });
    const disagreement = { bytes, stale, holding, repairing: stale.length, enough: new Deferred<void>() };
    if (bytes === undefined) disagreement.enough.resolve();
    else
      for (const index of stale)
        this.#repairTarget(index, bytes, (repaired) => {
          disagreement.repairing -= 1;
          holding[index] = repaired;
          this.#judgeRepair(disagreement);
        });
    return disagreement;
  }

  #judgeRepair({ repairing, holding, enough }: Disagreement): void {
    const { groups, targets } = this.#plan;
    const agree = groups.every(({ needed }, group) => {
      const equal = targets.filter((target, index) => target.group === group && holding[index] === true);
      return equal.length >= needed;
    });
    if (agree || repairing === 0) enough.resolve();
  }

  #repairBytes(): Buffer | undefined {
    try {
      const merged = this.#merged(this.answers);
      return merged === undefined ? undefined : encodeObject(merged);
    } catch (error) {
      // A replica answers `Corrupted` for its own undecodable copy; anti-entropy repairs it, not a read.
      if (error instanceof BytesError) return undefined;
      throw error;
    }
  }

  /** `ended` is called once, with whether the target now holds the object durably. */
  #repairTarget(index: number, bytes: Buffer, ended: (repaired: boolean) => void): void {
    const { member } = present(this.#plan.targets[index], 'a target');
    const { readRepairs } = this.#parts.stats;
    const done = (error: ReplyFailure | undefined): void => {
      if (error === undefined) readRepairs.done += 1;
      else {
        sometimes('read.repair-failed');
        readRepairs.failed += 1;
      }
      ended(error === undefined);
    };
    readRepairs.started += 1;
    if (member === this.#parts.self) {
      const outcome = this.#parts.replica.merge(this.#key, this.#token, bytes, done);
      if (outcome !== 'ok') done(refusal(outcome));
      return;
    }
    const request = { kind: 'mergeObject', key: this.#key, token: this.#token, object: bytes } as const;
    const timeoutUs = this.#parts.settings.timeoutMs * 1000;
    const error = askPeer(this.#parts, member, request, timeoutUs, (reply) =>
      done(reply.kind === 'written' ? undefined : replyFailure(reply)),
    );
    if (error !== undefined) done(error);
  }
}

/** Who gets the answer of a target; see `ReadRound.told`. */
interface AnswerTaker {
  told(
    index: number,
    bytesMax: number | undefined,
    error: ReplyFailure | undefined,
    bytes: Uint8Array | undefined,
    describedBytes?: number,
    digest?: Uint8Array,
  ): void;
}

/**
 * Asks target `index` of the plan for its object; `taker` gets the answer once, perhaps within this call. `span`: the
 * dispatch, if the request is traced. `held`: an object that the taker has already; a peer does not send another one of
 * its version.
 */
export function requestObject(
  parts: ReadDependencies,
  key: PackedKey,
  token: Token,
  plan: DispatchPlan,
  index: number,
  timeoutUs: number,
  bytesMax: number | undefined,
  taker: AnswerTaker,
  span?: OpenSpan,
  held?: Uint8Array,
): void {
  const { member } = present(plan.targets[index], 'a target');
  if (member === parts.self) {
    const spans = ReplicaSpans.of(span, parts.clock);
    const outcome = parts.replica.read(
      key,
      (error, bytes, withheldBytes) => {
        spans?.ended(error?.code);
        taker.told(index, bytesMax, error, bytes, withheldBytes);
      },
      bytesMax,
    );
    if (outcome === 'ok') return;
    const refused = refusal(outcome);
    spans?.ended(refused.code);
    taker.told(index, bytesMax, refused, undefined);
    return;
  }
  const version = held === undefined ? undefined : versionToSend(held);
  const request = { kind: 'readObject', key, token, bytesMax, version, trace: span } as const;
  const error = askPeer(parts, member, request, timeoutUs, (reply) => {
    if (reply.kind !== 'object') taker.told(index, bytesMax, replyFailure(reply), undefined);
    else if (reply.same === true)
      taker.told(index, bytesMax, version === undefined ? unnamedVersion : undefined, held);
    else
      taker.told(index, bytesMax, undefined, reply.object, reply.described?.bytes, reply.described?.digest);
  });
  if (error !== undefined) taker.told(index, bytesMax, error, undefined);
}

/** `bucket/key`, for error texts. */
function nameOf(key: PackedKey): string {
  const name = unpackKey(key);
  return name === undefined ? 'a key' : `${textOf(name.bucket)}/${textOf(name.key)}`;
}

function nothing(): void {
  // No caller waits for this repair.
}

/** Whether both are absent, or equal. */
export function sameBytes(left: Uint8Array | undefined, right: Uint8Array | undefined): boolean {
  if (left === right) return true;
  if (left === undefined || right === undefined) return false;
  return left.length === right.length && Buffer.compare(left, right) === 0;
}
