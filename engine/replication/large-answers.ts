/**
 * Fetches the large objects of one read. A replica does not send a large object unasked: it describes it by length and
 * SHA-256 digest, and this node's own store by the length alone. Once the read budget admits the read
 * (`read-budget.ts`), it fetches one of the described objects, from its own store if that has one.
 *
 * An object described with the digest of one that has arrived is the same object and is not fetched (as with
 * Cassandra's digest reads, but only where that is cheaper than sending the object at once). Different objects are
 * fetched one after another. If a fetch takes longer than `patienceUs`, the next offer is fetched as well.
 *
 * A target that has described its object counts as silent until that object is here, from it or from another target. It
 * counts as failed once its own fetch has failed and no other target offers the same object.
 */
import { createHash } from 'node:crypto';
import { LockstepError } from '../base/errors.ts';
import { sometimes } from '../base/sometimes.ts';
import type { Clock, Timer } from '../io/clock.ts';
import type { Description } from '../peer/wire/messages.ts';
import type { ReplyFailure } from './round-dependencies.ts';
import type { ReadBudget } from './read-budget.ts';
import { ReadShare } from './read-budget.ts';

/** A target's successful answer: its object's bytes, or undefined when it has none. */
export interface Answer {
  readonly bytes: Uint8Array | undefined;
}

/** The read, as this module needs it. Targets are numbered as in its plan. */
export interface LargeReader {
  /** The answers so far, by target. */
  readonly answers: readonly (Answer | undefined)[];
  /** The read's deadline, on the monotonic clock. */
  readonly untilUs: number;
  /** How long one fetch may be silent before the next offer is fetched as well. */
  readonly patienceUs: number;
  /** Requests the target's whole object; the result goes to `LargeAnswers.arrived`, once. */
  fetch(target: number): void;
  /** Reports the target's final answer or failure to the read. */
  hear(target: number, error: ReplyFailure | undefined, bytes: Uint8Array | undefined): void;
  /** Another read waits for the budget: this read must end with the answers it has. */
  letGo(): void;
}

/** An object that a target has described and that is not here yet. */
interface Offer {
  readonly target: number;
  readonly bytes: number;
  /** Undefined: this node's own store described it. */
  readonly digest: Uint8Array | undefined;
  /** A failure: why its fetch failed. */
  state: 'offered' | 'fetching' | ReplyFailure;
}

/** The large objects of one read, from the first description to the end of the last fetch. */
export class LargeAnswers {
  readonly #clock: Clock;
  readonly #reader: LargeReader;
  readonly #share: ReadShare;
  /** In order of arrival. */
  readonly #offers: Offer[] = [];
  /** Digests of the answers by target, computed when first needed. */
  readonly #digests: (Uint8Array | undefined)[] = [];
  /** Fetches without an answer. Their objects may meanwhile have arrived from other targets. */
  #fetching = 0;
  #state: 'new' | 'waiting' | 'in' | LockstepError = 'new';
  #ended = false;
  /** Bytes reserved in the budget that no fetch uses yet. */
  #roomBytes = 0;
  /** Runs while the read waits for the budget. */
  #limit: Timer | undefined;
  /** Runs while the latest fetch may be silent. */
  #patience: Timer | undefined;

  constructor(clock: Clock, budget: ReadBudget, reader: LargeReader) {
    this.#clock = clock;
    this.#reader = reader;
    this.#share = new ReadShare(
      budget,
      (error) => this.#begin(error),
      () => reader.letGo(),
    );
  }

  /** Whether the read waits for the budget, which other reads hold. */
  get waits(): boolean {
    return this.#state === 'waiting';
  }

  /** A target has described a large object of `bytes` bytes. */
  described(target: number, bytes: number, digest: Uint8Array | undefined): void {
    if (this.#ended) return;
    if (this.#state instanceof LockstepError) {
      this.#reader.hear(target, this.#state, undefined);
      return;
    }
    const offer: Offer = { target, bytes, digest, state: 'offered' };
    const same = this.#sameAs(offer);
    if (same !== undefined) {
      this.#reader.hear(target, undefined, same);
      return;
    }
    this.#offers.push(offer);
    if (this.#state === 'new') this.#enter(bytes);
    else this.#fetchUnlessPatient();
  }

  /** The result of a fetch. Called exactly once per call of `LargeReader.fetch`. */
  arrived(target: number, error: ReplyFailure | undefined, bytes: Uint8Array | undefined): void {
    this.#fetching -= 1;
    if (this.#ended) {
      if (this.#fetching === 0) this.#share.leave();
      return;
    }
    this.#patience?.cancel();
    this.#patience = undefined;
    // Undefined: the same object has arrived from another target.
    const offer = this.#offers.find((one) => one.target === target);
    if (offer !== undefined && error === undefined) this.#take(offer, bytes);
    else if (offer !== undefined) offer.state = error ?? offer.state;
    this.settle();
    this.#fetchUnlessPatient();
  }

  /**
   * Reports every offer whose object has arrived from another target, and every failed offer that no other target
   * matches.
   */
  settle(): void {
    // `hear` may ask further targets, which can answer synchronously and change `#offers`: iterate over a copy.
    for (const offer of [...this.#offers]) {
      const same = this.#sameAs(offer);
      if (same !== undefined) this.#hear(offer, undefined, same);
    }
    for (const offer of [...this.#offers]) {
      if (typeof offer.state !== 'string' && !this.#comesFromElsewhere(offer))
        this.#hear(offer, offer.state, undefined);
    }
  }

  /** The client has its answer. If no fetch is under way, the read gives up its budget when other reads need it. */
  spare(): void {
    if (!this.#ended && this.#fetching === 0 && this.#offers.length === 0) this.#share.spare(true);
  }

  /** Every target that the read waits for has answered. */
  end(): void {
    this.#ended = true;
    this.#limit?.cancel();
    this.#patience?.cancel();
    // A fetch under way keeps its share of the budget until it ends.
    if (this.#fetching === 0) this.#share.leave();
  }

  #enter(bytes: number): void {
    this.#state = 'waiting';
    this.#share.enter(bytes);
    if (!this.#share.waits) return;
    sometimes('read.memory-awaited');
    const leftUs = Math.max(1, this.#reader.untilUs - this.#clock.nowUs());
    this.#limit = this.#clock.after(leftUs, () => {
      sometimes('read.memory-never-came');
      this.#share.leave();
      this.#giveUp(new LockstepError('Timeout', waitedInVain));
    });
  }

  #begin(error: LockstepError | undefined): void {
    this.#limit?.cancel();
    if (error !== undefined) {
      this.#giveUp(error);
      return;
    }
    this.#state = 'in';
    this.#roomBytes = this.#share.bytes;
    this.#fetchNext();
  }

  /** Fails all offers that are not being fetched; no further one is fetched. */
  #giveUp(error: LockstepError): void {
    this.#state = error;
    for (const offer of [...this.#offers])
      if (offer.state !== 'fetching') this.#hear(offer, error, undefined);
  }

  #fetchUnlessPatient(): void {
    if (this.#patience === undefined) this.#fetchNext();
  }

  #fetchNext(): void {
    const open = this.#offers.filter(({ state }) => state === 'offered');
    const next = open.find(({ digest }) => digest === undefined) ?? open[0];
    if (next === undefined || this.#state !== 'in') return;
    if (this.#clock.nowUs() >= this.#reader.untilUs) {
      this.#giveUp(new LockstepError('Timeout', 'the deadline passed before it was fetched'));
      return;
    }
    next.state = 'fetching';
    this.#share.spare(false);
    const shortBytes = next.bytes - this.#roomBytes;
    if (shortBytes > 0) this.#share.grow(shortBytes);
    this.#roomBytes = Math.max(0, -shortBytes);
    this.#fetching += 1;
    this.#patience = this.#clock.after(this.#reader.patienceUs, () => {
      this.#patience = undefined;
      this.#fetchNext();
    });
    this.#reader.fetch(next.target);
  }

  #take(offer: Offer, bytes: Uint8Array | undefined): void {
    // The object has grown since it was described.
    const moreBytes = (bytes?.length ?? 0) - offer.bytes;
    if (moreBytes > 0) this.#share.grow(moreBytes);
    this.#hear(offer, undefined, bytes);
  }

  /** Reports an offer to the read, once. */
  #hear(offer: Offer, error: ReplyFailure | undefined, bytes: Uint8Array | undefined): void {
    const at = this.#offers.indexOf(offer);
    if (at < 0) return;
    this.#offers.splice(at, 1);
    this.#reader.hear(offer.target, error, bytes);
  }

  /** The bytes of an answer that equals the offered object; undefined if none does. */
  #sameAs({ bytes, digest }: Offer): Uint8Array | undefined {
    if (digest === undefined) return undefined;
    for (const [target, answer] of this.#reader.answers.entries()) {
      if (answer?.bytes?.length !== bytes) continue;
      const heard = (this.#digests[target] ??= digestOf(answer.bytes));
      if (Buffer.compare(heard, digest) === 0) return answer.bytes;
    }
    return undefined;
  }

  /** Whether another target offers the same object. */
  #comesFromElsewhere({ digest }: Offer): boolean {
    if (digest === undefined) return false;
    return this.#offers.some(({ state, digest: other }) => {
      return typeof state === 'string' && other !== undefined && Buffer.compare(other, digest) === 0;
    });
  }
}

/** The error text of a read that waited for the budget until its deadline. */
export const waitedInVain = 'other reads of large objects hold what they may (client_read_bytes_max)';

/** How a replica describes an object that it does not send: length and SHA-256 digest. */
export function describeObject(object: Uint8Array): Description {
  return { bytes: object.length, digest: digestOf(object) };
}

function digestOf(object: Uint8Array): Uint8Array {
  return createHash('sha256').update(object).digest();
}
