/**
 * Runs several plain writes at their coordinating replica together: one store batch here, one message to each other
 * replica, one deadline. Each write still succeeds or fails alone, exactly as in a `WriteRound` of its own.
 *
 * A batch handles only what nearly always happens: a replica has the write, and it is the key's sole value there. As
 * soon as anything else happens to a write (a failure, a deadline, a ring that has changed), a `WriteRound` goes on with
 * that write, as if it had run it from the beginning.
 *
 * It is for writes that `mayJoin` accepts: they replace all, and their plan asks every replica of one datacenter.
 */
import { present } from '../base/assert.ts';
import { BytesError } from '../base/bytes.ts';
import type { LockstepError } from '../base/errors.ts';
import { sometimes } from '../base/sometimes.ts';
import type { KeyPlacement } from '../cluster/ring/key-placement.ts';
import type { Member, Ring } from '../cluster/ring/ring.ts';
import type { Timer } from '../io/clock.ts';
import type { PeerReply } from '../peer/wire/messages.ts';
import type { StoredObject } from '../replica/object/object.ts';
import type { LocalWrite, Replica } from '../replica/replica.ts';
import type { ManyListener } from '../replica/one-of-many.ts';
import { encodeBatch } from './batch-codec.ts';
import type { Merged } from './merge-many.ts';
import { areAllSole, decodeEnds } from './merge-many.ts';
import type { DispatchPlan } from './plan.ts';
import type { ReplyFailure } from './round-dependencies.ts';
import { askPeer, replyFailure } from './round-dependencies.ts';
import { NotReplaced } from './requests.ts';
import type { WriteDependencies, WriteEnd } from './write-round.ts';
import { WriteRound } from './write-round.ts';

/** Most targets of a plan, so that their answers are bits of a byte. */
const targetsMax = 8;

/** What a batch needs of the node. */
export type BatchDependencies = WriteDependencies & {
  readonly replica: Pick<Replica, 'coordinate' | 'coordinateMany'>;
};

/** One write of a batch. */
export interface BatchedWrite {
  readonly write: LocalWrite;
  readonly place: KeyPlacement;
  readonly plan: DispatchPlan;
  /** The write is known to have succeeded, as nearly all do. Called at most once. */
  acknowledged(): void;
  /** Where the outcome goes if it is not as simple as that. Called at most once, and never after `acknowledged`. */
  end(): WriteEnd;
  /** The write would have to wait before it begins: nothing was done, and the caller runs it on its own. */
  unready(): void;
}

/** Whether a batch may run a plan: all replicas are asked, and all are counted together. */
export function mayJoin({ agree, groups, targets, failovers }: DispatchPlan, replicaCount: number): boolean {
  if (agree || groups.length !== 1 || failovers > 0) return false;
  if (targets.length !== replicaCount || targets.length > targetsMax) return false;
  for (const { group, held } of targets) if (group !== 0 || held === true) return false;
  return true;
}

/** The writes that one other replica gets. */
interface Share {
  readonly member: Member;
  /** Indexes of the writes, and of the member among the targets of each one's plan. */
  readonly indexes: number[];
  readonly targets: number[];
}

/** The writes of one batch. */
export class WriteBatch implements ManyListener {
  readonly #parts: BatchDependencies;
  readonly #writes: readonly BatchedWrite[];
  /** Per write: its object and bytes once it has its dot. */
  readonly #objects: (StoredObject | undefined)[];
  readonly #bytes: (Uint8Array | undefined)[];
  /** Per write: a bit for each target that has it. */
  readonly #heard: Uint8Array;
  /** Per write: successes that are still needed; 0: it is acknowledged or failed. */
  readonly #missing: Uint8Array;
  /** Per write: what goes on with it. */
  readonly #rounds: (WriteRound | undefined)[];
  readonly #ring: Ring;
  #open: number;
  #deadline: Timer | undefined;
  #timeoutUs = 0;
  #untilUs = 0;

  /** The writes are of distinct keys. */
  constructor(parts: BatchDependencies, writes: readonly BatchedWrite[]) {
    const count = writes.length;
    this.#parts = parts;
    this.#writes = writes;
    this.#ring = parts.ring();
    this.#objects = new Array<StoredObject | undefined>(count).fill(undefined);
    this.#bytes = new Array<Uint8Array | undefined>(count).fill(undefined);
    this.#rounds = new Array<WriteRound | undefined>(count).fill(undefined);
    this.#heard = new Uint8Array(count);
    this.#missing = new Uint8Array(count);
    this.#open = count;
    for (let index = 0; index < count; index++) {
      this.#missing[index] = present(writes[index], 'a write').plan.groups[0]?.needed ?? 0;
    }
  }

  /** Runs the writes. Called once. */
  run(timeoutUs: number): void {
    const { clock, replica } = this.#parts;
    this.#timeoutUs = timeoutUs;
    this.#untilUs = clock.nowUs() + timeoutUs;
    this.#deadline = clock.after(timeoutUs, () => this.#expire());
    replica.coordinateMany(
      this.#writes.map(({ write }) => write),
      this,
    );
    this.#send();
  }

  /** As in `ManyListener`. */
  unready(index: number): void {
    this.#close(index);
    this.#at(index).unready();
  }

  /** As in `ManyListener`: the write has its dot. */
  applied(index: number, object: StoredObject, bytes: Uint8Array): void {
    this.#objects[index] = object;
    this.#bytes[index] = bytes;
  }

  /** As in `ManyListener`: the write is durable on this node. */
  durable(index: number): void {
    const { targets } = this.#at(index).plan;
    for (let target = 0; target < targets.length; target++)
      if (targets[target]?.member === this.#parts.self) this.#has(index, target);
  }

  /** As in `ManyListener`: the write failed on this node. */
  failed(index: number, error: LockstepError): void {
    if (this.#objects[index] !== undefined) {
      const round = this.#roundOf(index);
      if (round !== undefined) round.failed(error);
      return;
    }
    const isUnread = error.code === 'PreconditionFailed';
    this.#close(index);
    this.#at(index)
      .end()
      .failed(isUnread ? new NotReplaced([]) : error);
  }

  /** Sends every other replica its share in one message. */
  #send(): void {
    const shares = this.#shares();
    let shared: { readonly of: Share; readonly words: Uint8Array } | undefined;
    for (const share of shares) {
      // Mostly all replicas get the same writes.
      const words = shared !== undefined && isSame(shared.of, share) ? shared.words : this.#encode(share);
      shared ??= { of: share, words };
      const request = { kind: 'mergeMany', words } as const;
      const error = askPeer(this.#parts, share.member, request, this.#timeoutUs, (reply) =>
        this.#answered(share, reply),
      );
      if (error !== undefined) this.#unasked(share, error);
    }
  }

  #shares(): readonly Share[] {
    const shares: Share[] = [];
    for (let index = 0; index < this.#writes.length; index++) {
      if (this.#objects[index] === undefined) continue;
      const { targets } = this.#at(index).plan;
      for (let target = 0; target < targets.length; target++) {
        const { member } = present(targets[target], 'a target');
        if (member === this.#parts.self) continue;
        let share = shares.find((one) => one.member === member);
        if (share === undefined) shares.push((share = { member, indexes: [], targets: [] }));
        share.indexes.push(index);
        share.targets.push(target);
      }
    }
    return shares;
  }

  #encode({ indexes }: Share): Uint8Array {
    return encodeBatch(
      indexes.map((index) => {
        const { key, token } = this.#at(index).write;
        return { key, token, bytes: present(this.#bytes[index], 'the bytes of an applied write') };
      }),
    );
  }

  #answered(share: Share, reply: PeerReply): void {
    const { indexes, targets } = share;
    if (reply.kind !== 'mergedMany') {
      this.#unasked(share, replyFailure(reply));
      return;
    }
    if (areAllSole(reply.words, indexes.length)) {
      for (let at = 0; at < indexes.length; at++) this.#has(indexes[at] ?? 0, targets[at] ?? 0);
      return;
    }
    let ends: readonly Merged[];
    try {
      ends = decodeEnds(reply.words, indexes.length);
    } catch (error) {
      if (!(error instanceof BytesError)) throw error;
      this.#unasked(share, {
        code: 'Internal',
        message: `a peer's answer does not decode: ${error.message}`,
      });
      return;
    }
    for (let at = 0; at < indexes.length; at++)
      this.#merged(indexes[at] ?? 0, targets[at] ?? 0, present(ends[at], 'the end of a merge'));
  }

  /** One of the writes has ended at a replica. */
  #merged(index: number, target: number, end: Merged): void {
    if (end.kind === 'written' && end.sole === true) this.#has(index, target);
    else if (this.#missing[index] !== 0 || this.#rounds[index] !== undefined)
      this.#roundOf(index)?.answered(target, end);
    else if (end.kind === 'failed') this.#missed(index, target);
  }

  /** A replica has none of the writes, or does not say. */
  #unasked({ indexes, targets }: Share, failure: ReplyFailure): void {
    for (let at = 0; at < indexes.length; at++) {
      const index = indexes[at] ?? 0;
      const target = targets[at] ?? 0;
      if (this.#missing[index] === 0 && this.#rounds[index] === undefined) this.#missed(index, target);
      else this.#roundOf(index)?.hear(target, failure);
    }
  }

  /** A replica is not known to have a write that the client has its answer to: it gets a hint. */
  #missed(index: number, target: number): void {
    const { write, plan } = this.#at(index);
    const { member } = present(plan.targets[target], 'a target');
    const bytes = present(this.#bytes[index], 'the bytes of a sent write');
    this.#parts.hints?.keep(member.node, write.key, write.token, bytes);
  }

  /** A target has the write, as the only value of its key. */
  #has(index: number, target: number): void {
    const round = this.#rounds[index];
    if (round !== undefined) {
      round.hear(target, undefined);
      return;
    }
    const missing = this.#missing[index] ?? 0;
    if (missing === 0) return;
    this.#heard[index] = (this.#heard[index] ?? 0) | (1 << target);
    if (missing > 1) this.#missing[index] = missing - 1;
    else if (this.#isCalm(index)) {
      this.#close(index);
      this.#at(index).acknowledged();
    } else this.#roundOf(index);
  }

  /** Whether nobody has begun to take over the key since the batch began (`WriteRound`). */
  #isCalm(index: number): boolean {
    const { ring, pending } = this.#parts;
    return ring() === this.#ring && pending(this.#at(index).write.token).length === 0;
  }

  /** The write has its outcome, or something else has taken it over. */
  #close(index: number): void {
    this.#missing[index] = 0;
    this.#open -= 1;
    if (this.#open > 0) return;
    this.#deadline?.cancel();
    this.#deadline = undefined;
  }

  /** What goes on with a write; undefined if its client has its answer. */
  #roundOf(index: number): WriteRound | undefined {
    const known = this.#rounds[index];
    if (known !== undefined || this.#missing[index] === 0) return known;
    sometimes('write.left-batch');
    const one = this.#at(index);
    const round = new WriteRound(this.#parts, one.write, one.place, one.plan, one.end());
    this.#rounds[index] = round;
    this.#close(index);
    const leftUs = Math.max(1, this.#untilUs - this.#parts.clock.nowUs());
    const object = present(this.#objects[index], 'the object of a write that was applied');
    const bytes = present(this.#bytes[index], 'its bytes');
    round.resume(object, bytes, this.#heard[index] ?? 0, this.#timeoutUs, leftUs);
    return round;
  }

  #expire(): void {
    this.#deadline = undefined;
    for (let index = 0; index < this.#writes.length; index++)
      if (this.#missing[index] !== 0) this.#roundOf(index)?.expire();
  }

  #at(index: number): BatchedWrite {
    return present(this.#writes[index], 'a write of the batch');
  }
}

function isSame(one: Share, other: Share): boolean {
  if (one.indexes.length !== other.indexes.length) return false;
  for (let at = 0; at < one.indexes.length; at++) if (one.indexes[at] !== other.indexes[at]) return false;
  return true;
}
