/**
 * Runs several reads whose replicas agree, as nearly all do, together: one deadline, and one message to each other
 * replica. Each read still succeeds or fails alone, exactly as in a `ShortRead` of its own.
 *
 * As soon as a replica's answer to a read differs, fails, or describes a large object, or the deadline passes, the batch
 * hands all that it has heard of that read to a `ReadRound`, which goes on as if it had run the read from the beginning.
 *
 * As many targets of each read as must answer are asked at first, the same for all reads where possible
 * (`read-spread.ts`), and the others once a read needs them.
 *
 * What this node holds is read first. The other replicas are told its version, and do not send the object if theirs is
 * of the same version.
 *
 * It is for plans that `isShort` accepts.
 */
import { present } from '../base/assert.ts';
import { BytesError } from '../base/bytes.ts';
import type { Token } from '../base/ids.ts';
import type { PackedKey } from '../base/object-key.ts';
import { sometimes } from '../base/sometimes.ts';
import type { Member } from '../cluster/ring/ring.ts';
import type { Timer } from '../io/clock.ts';
import type { PeerReply } from '../peer/wire/messages.ts';
import { refusal } from '../replica/key-slots.ts';
import type { StoredObject } from '../replica/object/object.ts';
import { decodeObject, resolveToNewest } from '../replica/object/object.ts';
import type { DispatchPlan } from './plan.ts';
import { largeBytes } from './read-budget.ts';
import type { AskedRead, FoundObject } from './read-many.ts';
import { decodeFound, encodeReads, versionToSend } from './read-many.ts';
import type { ReadDependencies, ReadResult } from './read-round.ts';
import { ReadRound, sameBytes, unnamedVersion } from './read-round.ts';
import { everyTarget } from './read-spread.ts';
import type { ReplyFailure } from './round-dependencies.ts';
import { askPeer, replyFailure } from './round-dependencies.ts';

const noVersion = Buffer.alloc(0);

/** One read of a batch; its outcome goes to `resolve` or `reject`. */
export interface BatchedRead extends ReadResult {
  readonly key: PackedKey;
  readonly token: Token;
  readonly plan: DispatchPlan;
  /** `round` goes on with the read, and reports its outcome. Called at most once, perhaps after `resolve`. */
  continuedBy(round: ReadRound): void;
}

/** The reads that one other replica is asked for. */
interface Share {
  readonly member: Member;
  /** Indexes of the reads, and of the member among the targets of each one's plan. */
  readonly indexes: number[];
  readonly targets: number[];
}

/** The reads of one batch. */
export class ReadBatch {
  readonly #parts: ReadDependencies;
  readonly #reads: readonly BatchedRead[];
  /** Per read: bit n: target n has been asked, or is being asked. */
  readonly #asked: Uint32Array;
  /** Per read: bit n: target n has answered, with `#bytes`. */
  readonly #heard: Uint32Array;
  /** Per read: answers that are still needed; 0: it has its outcome, or a round goes on with it. */
  readonly #missing: Uint8Array;
  /** Per read: what the first target has answered. */
  readonly #bytes: (Uint8Array | undefined)[];
  /** Per read: what goes on with it. */
  readonly #rounds: (ReadRound | undefined)[];
  #open: number;
  #deadline: Timer | undefined;
  #timeoutUs = 0;
  #untilUs = 0;

  constructor(parts: ReadDependencies, reads: readonly BatchedRead[]) {
    const count = reads.length;
    this.#parts = parts;
    this.#reads = reads;
    this.#bytes = new Array<Uint8Array | undefined>(count).fill(undefined);
    this.#rounds = new Array<ReadRound | undefined>(count).fill(undefined);
    this.#asked = new Uint32Array(count);
    this.#heard = new Uint32Array(count);
    this.#missing = new Uint8Array(count);
    this.#open = count;
    for (let index = 0; index < count; index++) {
      this.#missing[index] = present(reads[index], 'a read').plan.groups[0]?.needed ?? 0;
    }
  }

  /** Runs the reads. Called once. `nowUs`: the monotonic time. */
  run(timeoutUs: number, nowUs: number): void {
    const { clock, self, spread } = this.#parts;
    this.#timeoutUs = timeoutUs;
    this.#untilUs = nowUs + timeoutUs;
    const turn = spread.turn();
    let isEveryAsked = true;
    for (let index = 0; index < this.#reads.length; index++) {
      const { plan } = this.#at(index);
      const first = spread.first(plan, turn, nowUs);
      this.#asked[index] = first;
      isEveryAsked &&= first === everyTarget(plan);
    }
    this.#deadline = isEveryAsked
      ? clock.after(timeoutUs, () => this.#expire())
      : clock.after(Math.min(spread.hedgeUs, timeoutUs), () => this.#hedge());
    const shares = this.#shares(this.#asked);
    const own = shares.find(({ member }) => member === self);
    if (own !== undefined) this.#readHere(own);
    this.#ask(shares, timeoutUs);
  }

  /** Some replicas that were asked are silent: asks the others for the reads that still wait. */
  #hedge(): void {
    sometimes('read.batch-hedged');
    const { clock, self, spread } = this.#parts;
    const nowUs = clock.nowUs();
    const leftUs = Math.max(1, this.#untilUs - nowUs);
    this.#deadline = clock.after(leftUs, () => this.#expire());
    const rest = new Uint32Array(this.#reads.length);
    for (let index = 0; index < this.#reads.length; index++) {
      if (this.#missing[index] === 0) continue;
      const { plan } = this.#at(index);
      const [asked, heard] = [this.#asked[index] ?? 0, this.#heard[index] ?? 0];
      plan.targets.forEach(({ member }, target) => {
        if ((asked & ~heard & (1 << target)) !== 0 && member !== self) spread.noteSilent(member, nowUs);
      });
      rest[index] = everyTarget(plan) & ~asked;
      this.#asked[index] = everyTarget(plan);
    }
    this.#ask(this.#shares(rest), leftUs);
  }

  /** Groups the targets by member. `chosen`, per read: bit n: with target n. */
  #shares(chosen: Uint32Array): readonly Share[] {
    const shares: Share[] = [];
    for (let index = 0; index < this.#reads.length; index++) {
      const { targets } = this.#at(index).plan;
      for (let target = 0; target < targets.length; target++) {
        if (((chosen[index] ?? 0) & (1 << target)) === 0) continue;
        const { member } = present(targets[target], 'a target');
        let share = shares.find((one) => one.member === member);
        if (share === undefined) shares.push((share = { member, indexes: [], targets: [] }));
        share.indexes.push(index);
        share.targets.push(target);
      }
    }
    return shares;
  }

  #readHere({ indexes, targets }: Share): void {
    const { replica } = this.#parts;
    for (let at = 0; at < indexes.length; at++) {
      const index = indexes[at] ?? 0;
      const target = targets[at] ?? 0;
      const outcome = replica.read(
        this.#at(index).key,
        (error, bytes, withheldBytes) => this.#told(index, target, error, bytes, withheldBytes),
        largeBytes,
      );
      if (outcome !== 'ok') this.#told(index, target, refusal(outcome), undefined);
    }
  }

  /** Asks every other replica for its share in one message. */
  #ask(shares: readonly Share[], timeoutUs: number): void {
    let shared: { readonly of: Share; readonly words: Uint8Array } | undefined;
    for (const share of shares) {
      if (share.member === this.#parts.self) continue;
      // Mostly all replicas are asked for the same reads.
      const words = shared !== undefined && isSame(shared.of, share) ? shared.words : this.#encode(share);
      shared ??= { of: share, words };
      const request = { kind: 'readMany', words } as const;
      const error = askPeer(this.#parts, share.member, request, timeoutUs, (reply) =>
        this.#answered(share, reply),
      );
      if (error !== undefined) this.#unasked(share, 0, error);
    }
  }

  #encode({ indexes }: Share): Uint8Array {
    return encodeReads(
      indexes.map((index): AskedRead => {
        const { key, token } = this.#at(index);
        const held = this.#bytes[index];
        const version = held === undefined ? undefined : versionToSend(held);
        return { key, token, version: version ?? noVersion };
      }),
    );
  }

  #answered(share: Share, reply: PeerReply): void {
    if (reply.kind !== 'readManyAnswered') {
      this.#unasked(share, 0, replyFailure(reply));
      return;
    }
    const { indexes, targets } = share;
    let toldCount = 0;
    try {
      decodeFound(reply.words, indexes.length, (at, object) => {
        toldCount = at + 1;
        this.#found(indexes[at] ?? 0, targets[at] ?? 0, object);
      });
    } catch (error) {
      if (!(error instanceof BytesError)) throw error;
      const message = `a peer's answer does not decode: ${error.message}`;
      this.#unasked(share, toldCount, { code: 'Internal', message });
    }
  }

  /** A replica has answered one of the reads. */
  #found(index: number, target: number, object: FoundObject): void {
    switch (object.kind) {
      case 'object':
        this.#told(index, target, undefined, object.bytes);
        return;
      case 'same':
        this.#told(
          index,
          target,
          this.#bytes[index] === undefined ? unnamedVersion : undefined,
          this.#bytes[index],
        );
        return;
      case 'failed':
        this.#told(index, target, object, undefined);
        return;
      case 'unanswered':
        this.#roundOf(index).askAgain(target);
    }
  }

  /** A replica was not asked for its share, or does not say, from the share's read `from` on. */
  #unasked({ indexes, targets }: Share, from: number, failure: ReplyFailure): void {
    for (let at = from; at < indexes.length; at++)
      this.#told(indexes[at] ?? 0, targets[at] ?? 0, failure, undefined);
  }

  #told(
    index: number,
    target: number,
    error: ReplyFailure | undefined,
    bytes: Uint8Array | undefined,
    describedBytes?: number,
  ): void {
    const isPlain = this.#rounds[index] === undefined && error === undefined && describedBytes === undefined;
    if (isPlain && (this.#heard[index] === 0 || sameBytes(bytes, this.#bytes[index])))
      this.#count(index, target, bytes);
    else this.#roundOf(index).told(target, largeBytes, error, bytes, describedBytes);
  }

  #count(index: number, target: number, bytes: Uint8Array | undefined): void {
    if (this.#heard[index] === 0) this.#bytes[index] = bytes;
    this.#heard[index] = (this.#heard[index] ?? 0) | (1 << target);
    const missing = this.#missing[index] ?? 0;
    if (missing > 1) this.#missing[index] = missing - 1;
    else if (missing === 1) this.#succeed(index);
  }

  #succeed(index: number): void {
    const bytes = this.#bytes[index];
    const read = this.#at(index);
    let object: StoredObject | undefined;
    try {
      object = bytes === undefined ? undefined : decodeObject(bytes);
    } catch (error) {
      if (!(error instanceof BytesError)) throw error;
      this.#roundOf(index);
      return;
    }
    this.#close(index);
    if (object !== undefined && !this.#parts.rules(read.key).allowMult) object = resolveToNewest(object);
    read.resolve(object);
  }

  /** The read has its outcome, or a round has taken it over. */
  #close(index: number): void {
    if (this.#missing[index] === 0) return;
    this.#missing[index] = 0;
    this.#open -= 1;
    if (this.#open > 0) return;
    this.#deadline?.cancel();
    this.#deadline = undefined;
  }

  /** The round that goes on with a read. It is made with all that was heard, and all targets are asked. */
  #roundOf(index: number): ReadRound {
    const known = this.#rounds[index];
    if (known !== undefined) return known;
    sometimes('read.left-batch');
    const { clock } = this.#parts;
    const read = this.#at(index);
    const round = new ReadRound(this.#parts, read.key, read.token, read.plan, read);
    this.#rounds[index] = round;
    const leftUs = Math.max(1, this.#untilUs - clock.nowUs());
    const deadline = this.#missing[index] === 0 ? undefined : clock.after(leftUs, () => round.expire());
    this.#close(index);
    read.continuedBy(round);
    round.resume(deadline, this.#untilUs, this.#timeoutUs);
    const heard = this.#heard[index] ?? 0;
    for (let target = 0; target < read.plan.targets.length; target++)
      if ((heard & (1 << target)) !== 0) round.told(target, largeBytes, undefined, this.#bytes[index]);
    const rest = everyTarget(read.plan) & ~(this.#asked[index] ?? 0);
    this.#asked[index] = everyTarget(read.plan);
    for (let target = 0; target < read.plan.targets.length; target++)
      if ((rest & (1 << target)) !== 0) round.askAgain(target);
    return round;
  }

  #expire(): void {
    this.#deadline = undefined;
    for (let index = 0; index < this.#reads.length; index++)
      if (this.#missing[index] !== 0) this.#roundOf(index).expire();
  }

  #at(index: number): BatchedRead {
    return present(this.#reads[index], 'a read of the batch');
  }
}

function isSame(one: Share, other: Share): boolean {
  if (one.indexes.length !== other.indexes.length) return false;
  for (let at = 0; at < one.indexes.length; at++) if (one.indexes[at] !== other.indexes[at]) return false;
  return true;
}
