/**
 * The large objects of one read. Replicas do not send those unasked: they describe them by length and digest, this node's
 * own by its length alone. Then the read has one of them fetched, once there is room for it (read-budget.ts): its own
 * where it has one. Whatever was described with the same digest is the same object and travels no more, as with the
 * digest reads of Cassandra, though only where that is cheaper than to send it at once. What differs is fetched too, one
 * after the other; a fetch that takes long is not waited for when somebody else has something to offer.
 *
 * A target that has described what it holds counts as silent until that is here, from it or from another one. It has
 * failed when it was asked, did not send it, and nobody else has the same on offer.
 */
import { createHash } from 'node:crypto';
import { LockstepError } from '../base/errors.ts';
import type { Clock, Timer } from '../io/clock.ts';
import type { Description } from '../peer/wire/messages.ts';
import type { ReplyFailure } from './round-dependencies.ts';
import type { ReadBudget } from './read-budget.ts';
import { ReadShare } from './read-budget.ts';

/** A target's successful answer: its object's bytes, or undefined when it has none. */
export interface Answer {
  readonly bytes: Uint8Array | undefined;
}

/** The read, as this needs it; targets are numbered. */
export interface LargeReader {
  /** What has been heard so far, by target. */
  readonly answers: readonly (Answer | undefined)[];
  /** Until when the read may wait. */
  readonly untilUs: number;
  /** After that long another target is asked beside the one that is silent. */
  readonly patienceUs: number;
  /** Asks the target for all that it has; what comes goes to `arrived`, once. */
  fetch(target: number): void;
  /** That is the target's answer. */
  hear(target: number, error: ReplyFailure | undefined, bytes: Uint8Array | undefined): void;
  /** Its room is wanted: it is to end with what it has heard. */
  letGo(): void;
}

/** Something that a target has described and that is not here. */
interface Offer {
  readonly target: number;
  readonly bytes: number;
  /** Undefined: it is this node's own. */
  readonly digest: Uint8Array | undefined;
  /** Or why it did not come when it was fetched. */
  state: 'offered' | 'fetching' | ReplyFailure;
}

export class LargeAnswers {
  readonly #clock: Clock;
  readonly #reader: LargeReader;
  readonly #share: ReadShare;
  /** In the order in which they came. */
  readonly #offers: Offer[] = [];
  /** Of what has been heard, by target, where it was asked for. */
  readonly #digests: (Uint8Array | undefined)[] = [];
  /** Fetches without an answer; what they are about may have been heard from others meanwhile. */
  #fetching = 0;
  #state: 'new' | 'waiting' | 'in' | LockstepError = 'new';
  #ended = false;
  /** Taken, and not spoken for. */
  #roomBytes = 0;
  /** Of those that wait for room. */
  #limit: Timer | undefined;
  /** While a fetch may take its time. */
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

  /** Other reads hold the room that this one needs. */
  get waits(): boolean {
    return this.#state === 'waiting';
  }

  /** The target has something large. */
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

  /** What was fetched of a target. */
  arrived(target: number, error: ReplyFailure | undefined, bytes: Uint8Array | undefined): void {
    this.#fetching -= 1;
    if (this.#ended) {
      if (this.#fetching === 0) this.#share.leave();
      return;
    }
    this.#patience?.cancel();
    this.#patience = undefined;
    // Undefined: the same came from another one.
    const offer = this.#offers.find((one) => one.target === target);
    if (offer !== undefined && error === undefined) this.#take(offer, bytes);
    else if (offer !== undefined) offer.state = error ?? offer.state;
    this.settle();
    this.#fetchUnlessPatient();
  }

  /** What is on offer and has been heard of another target, or can come from nobody any more, is heard. */
  settle(): void {
    // Whoever hears may ask further targets, which answer at once.
    for (const offer of [...this.#offers]) {
      const same = this.#sameAs(offer);
      if (same !== undefined) this.#hear(offer, undefined, same);
    }
    for (const offer of [...this.#offers]) {
      if (typeof offer.state !== 'string' && !this.#comesFromElsewhere(offer))
        this.#hear(offer, offer.state, undefined);
    }
  }

  /** The client has its answer: when nothing is on its way any more, the rest is worth no more than others' reads. */
  spare(): void {
    if (!this.#ended && this.#fetching === 0 && this.#offers.length === 0) this.#share.spare(true);
  }

  /** Every target that is waited for has been heard. */
  end(): void {
    this.#ended = true;
    this.#limit?.cancel();
    this.#patience?.cancel();
    // What is still under way takes its room until it is here.
    if (this.#fetching === 0) this.#share.leave();
  }

  #enter(bytes: number): void {
    this.#state = 'waiting';
    this.#share.enter(bytes);
    if (!this.#share.waits) return;
    const leftUs = Math.max(1, this.#reader.untilUs - this.#clock.nowUs());
    this.#limit = this.#clock.after(leftUs, () => {
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

  /** Nothing more is fetched. */
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
    // It has changed since it was described.
    const moreBytes = (bytes?.length ?? 0) - offer.bytes;
    if (moreBytes > 0) this.#share.grow(moreBytes);
    this.#hear(offer, undefined, bytes);
  }

  /** Tells the read, once. */
  #hear(offer: Offer, error: ReplyFailure | undefined, bytes: Uint8Array | undefined): void {
    const at = this.#offers.indexOf(offer);
    if (at < 0) return;
    this.#offers.splice(at, 1);
    this.#reader.hear(offer.target, error, bytes);
  }

  /** The object on offer, where it has been heard already. */
  #sameAs({ bytes, digest }: Offer): Uint8Array | undefined {
    if (digest === undefined) return undefined;
    for (const [target, answer] of this.#reader.answers.entries()) {
      if (answer?.bytes?.length !== bytes) continue;
      const heard = (this.#digests[target] ??= digestOf(answer.bytes));
      if (Buffer.compare(heard, digest) === 0) return answer.bytes;
    }
    return undefined;
  }

  /** Another target has the same on offer. */
  #comesFromElsewhere({ digest }: Offer): boolean {
    if (digest === undefined) return false;
    return this.#offers.some(({ state, digest: other }) => {
      return typeof state === 'string' && other !== undefined && Buffer.compare(other, digest) === 0;
    });
  }
}

export const waitedInVain = 'other reads of large objects hold what they may (client_read_bytes_max)';

/** What a replica says of an object that it does not send. */
export function describeObject(object: Uint8Array): Description {
  return { bytes: object.length, digest: digestOf(object) };
}

function digestOf(object: Uint8Array): Uint8Array {
  return createHash('sha256').update(object).digest();
}
