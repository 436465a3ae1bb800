/**
 * Runs one write at its coordinating replica. The replica gives the object its dot, the round sends it at once to every
 * routable replica of every datacenter, and the write is acknowledged when it is durable at as many of them as the
 * level names.
 *
 * A write that fails before the replica has given it a dot (a failed condition, a full queue) definitely did not
 * happen. A later failure only says that too few replicas are known to hold it.
 *
 * A write that `replaces` counts only replicas at which it is the key's sole value. An earlier write that a client knows
 * of is at a majority, so one of those replicas would have seen it.
 */
import { present } from '../base/assert.ts';
import { LockstepError } from '../base/errors.ts';
import { sometimes } from '../base/sometimes.ts';
import type { Timer } from '../io/clock.ts';
import type { StoredObject } from '../replica/object/object.ts';
import type { PeerReply, PeerRequest } from '../peer/wire/messages.ts';
import type { KeyPlacement } from '../cluster/ring/key-placement.ts';
import type { Member } from '../cluster/ring/ring.ts';
import type { Asking, RoundDependencies, ReplyFailure } from './round-dependencies.ts';
import { askPeer, replyFailure, roundError } from './round-dependencies.ts';
import type { DispatchPlan } from './plan.ts';
import { withLate } from './plan.ts';
import { ReplicaSpans } from './replica-spans.ts';
import type { LocalWrite, WriteListener } from '../replica/replica.ts';
import { NotReplaced } from './requests.ts';
import { refusal } from '../replica/key-slots.ts';
import { Tally } from './tally.ts';

type MergeRequest = Extract<PeerRequest, { kind: 'mergeObject' }>;

/** What a write needs of the node. */
export type WriteDependencies = Asking &
  Pick<RoundDependencies, 'self' | 'ring' | 'pending' | 'clock' | 'hints'> & {
    readonly replica: Pick<RoundDependencies['replica'], 'coordinate'>;
  };

/** Learns how a write has ended. One of the methods is called, once, perhaps before `run` returns. */
export interface WriteEnd {
  /** Enough replicas have it. `object`: as this replica has it. */
  acknowledged(object: StoredObject): void;
  /**
   * With `PreconditionFailed`, `Overloaded`, `NoQuorum`, `Timeout`, `StorageFailed`, `Corrupted` or `ShuttingDown`; or
   * with `NotReplaced`, if the write replaces.
   */
  failed(error: LockstepError): void;
}

/** One write, from its dot to its acknowledgement. */
export class WriteRound implements WriteListener {
  readonly #parts: WriteDependencies;
  readonly #write: LocalWrite;
  readonly #place: KeyPlacement;
  #plan: DispatchPlan;
  #tally: Tally;
  readonly #failures: ReplyFailure[] = [];
  /** Replicas that were not routable when the round began. */
  readonly #away: Member[] = [];
  readonly #end: WriteEnd;
  #ended = false;
  #object: StoredObject | undefined;
  #bytes: Uint8Array | undefined;
  #deadline: Timer | undefined;
  #timeoutUs = 0;
  readonly #spans: ReplicaSpans | undefined;

  constructor(
    parts: WriteDependencies,
    write: LocalWrite,
    place: KeyPlacement,
    plan: DispatchPlan,
    end: WriteEnd,
  ) {
    this.#end = end;
    this.#parts = parts;
    this.#write = write;
    this.#place = place;
    this.#plan = plan;
    this.#tally = new Tally(plan);
    this.#spans = ReplicaSpans.of(write.span, parts.clock);
  }

  /** Runs the write. Called once. */
  run(timeoutUs: number): void {
    this.#timeoutUs = timeoutUs;
    this.#deadline = this.#parts.clock.after(timeoutUs, () => this.expire());
    // Now, not once the key has been read: a member that begins to take it over meanwhile must be asked.
    this.#noteAway();
    const outcome = this.#parts.replica.coordinate(this.#write, this);
    if (outcome !== 'ok') this.failed(refusal(outcome));
  }

  /**
   * Goes on with a write that a batch has begun: every target was asked, and the targets whose bits are set in `heard`
   * have it. `leftUs`: until the deadline.
   */
  resume(object: StoredObject, bytes: Uint8Array, heard: number, timeoutUs: number, leftUs: number): void {
    this.#timeoutUs = timeoutUs;
    this.#deadline = this.#parts.clock.after(leftUs, () => this.expire());
    this.#object = object;
    this.#bytes = bytes;
    const { length } = this.#plan.targets;
    for (let index = 0; index < length; index++)
      if ((heard & (1 << index)) !== 0) this.hear(index, undefined);
  }

  /** As in `WriteListener`: the replica has given the object its dot. */
  applied(object: StoredObject, bytes: Uint8Array): void {
    this.#object = object;
    this.#bytes = bytes;
    this.#spans?.applied();
    this.#hintUnreachable();
    const request = this.#requestOf(bytes);
    for (let index = 0; index < this.#plan.targets.length; index++) this.#send(index, request);
  }

  /** As in `WriteListener`: the write is durable on this node. */
  durable(): void {
    if (!this.#ended) this.#write.times?.synced(this.#parts.clock.nowUs());
    this.#spans?.ended();
    this.hear(this.#selfIndex(), undefined);
  }

  /** As in `WriteListener`: the write failed on this node. */
  failed(error: LockstepError): void {
    this.#spans?.ended(error.code);
    const isUnread = this.#write.replaces === true && error.code === 'PreconditionFailed';
    if (this.#object === undefined) {
      this.#fail(isUnread ? new NotReplaced([]) : error);
      return;
    }
    sometimes('write.local-disk-failed');
    this.hear(this.#selfIndex(), error);
  }

  /** The request that all replicas get. */
  #requestOf(bytes: Uint8Array): MergeRequest {
    const { key, token, span: trace } = this.#write;
    return { kind: 'mergeObject', key, token, object: bytes, trace };
  }

  #send(index: number, request: MergeRequest): void {
    const { member } = present(this.#plan.targets[index], 'a target');
    if (member === this.#parts.self) return;
    const error = askPeer(this.#parts, member, request, this.#timeoutUs, (reply) =>
      this.answered(index, reply),
    );
    if (error !== undefined) this.hear(index, error);
  }

  /** The answer of a target that was asked. */
  answered(index: number, reply: PeerReply): void {
    if (reply.kind !== 'written') this.hear(index, replyFailure(reply));
    else if (this.#write.replaces === true && reply.sole !== true) this.#giveUpReplacing();
    else this.hear(index, undefined);
  }

  /** A replica holds something that this write may not have replaced, or does not say. */
  #giveUpReplacing(): void {
    this.#fail(new NotReplaced(present(this.#object, 'the object of a sent write').context));
  }

  /** A target has the write durably, or `error` says why it is not known to. Called once for each target. */
  hear(index: number, error: ReplyFailure | undefined): void {
    if (error !== undefined) {
      this.#failures.push(error);
      this.#hint(present(this.#plan.targets[index], 'a target').member);
    }
    const verdict = this.#tally.answer(index, error === undefined);
    if (verdict === 'met') this.#settle();
    else if (verdict === 'impossible')
      this.#fail(roundError(this.#failures, this.#tally.describeReach(), { votes: this.#tally.votes() }));
  }

  /** Notes the replicas that the plan does not ask. */
  #noteAway(): void {
    const { ring, pending } = this.#parts;
    for (const member of this.#place.in(ring())) if (!this.#asked(member)) this.#away.push(member);
    for (const member of pending(this.#write.token)) if (!this.#asked(member)) this.#away.push(member);
  }

  /** Stores hints for the replicas that the plan does not ask. */
  #hintUnreachable(): void {
    const { ring, pending } = this.#parts;
    for (const member of this.#place.in(ring())) if (!this.#asked(member)) this.#hint(member);
    for (const member of pending(this.#write.token)) if (!this.#asked(member)) this.#hint(member);
  }

  #asked(member: Member): boolean {
    for (const target of this.#plan.targets) if (target.member === member) return true;
    return false;
  }

  /** Stores a hint: the replica is not known to have the write. */
  #hint(member: Member): void {
    if (this.#bytes === undefined || member === this.#parts.self) return;
    this.#parts.hints?.keep(member.node, this.#write.key, this.#write.token, this.#bytes);
  }

  #selfIndex(): number {
    const { self } = this.#parts;
    const { targets } = this.#plan;
    for (let index = 0; index < targets.length; index++) if (targets[index]?.member === self) return index;
    return -1;
  }

  /**
   * The plan is met. If members have started to take over the key since the round began, asks them too and raises the
   * need (`planWrite`); otherwise acknowledges.
   */
  #settle(): void {
    const { ring, pending } = this.#parts;
    const { token } = this.#write;
    const late: Member[] = [];
    for (const member of this.#place.in(ring())) if (this.#isLate(member)) late.push(member);
    for (const member of pending(token)) if (this.#isLate(member)) late.push(member);
    if (late.length === 0) {
      this.#succeed();
      return;
    }
    sometimes('write.owner-joined-meanwhile');
    const first = this.#plan.targets.length;
    this.#plan = withLate(this.#plan, late);
    this.#tally = this.#tally.extended(this.#plan);
    const request = this.#requestOf(present(this.#bytes, 'the bytes of a met write'));
    for (let index = 0; index < late.length; index++) this.#send(first + index, request);
  }

  #isLate(member: Member): boolean {
    return !this.#asked(member) && this.#isCounted(member);
  }

  /**
   * Whether the level counts the member's datacenter, and the member is not one that was unroutable at the beginning.
   */
  #isCounted(member: Member): boolean {
    const { groups } = this.#plan;
    return !this.#away.includes(member) && groups.some((group) => group.datacenter === member.datacenter);
  }

  #succeed(): void {
    // Past the deadline the client has its answer.
    if (this.#ended) return;
    this.#ended = true;
    this.#deadline?.cancel();
    this.#end.acknowledged(present(this.#object, 'the object of a met write'));
  }

  #fail(error: LockstepError): void {
    // Past the deadline the client has its answer.
    if (this.#ended) return;
    this.#ended = true;
    this.#deadline?.cancel();
    this.#end.failed(error);
  }

  /** The deadline has passed. */
  expire(): void {
    if (this.#ended) return;
    sometimes('write.deadline-passed');
    this.#ended = true;
    this.#deadline?.cancel();
    this.#end.failed(new LockstepError('Timeout', `the deadline passed with ${this.#tally.describe()}`));
  }
}
