/**
 * A request under way, and the pool of such records. A record lives for a round trip, too long for the garbage
 * collector's young generation, so it is reused.
 *
 *     taken -> queued -> sent -> answered, timed out or lost -> given back
 *                 \-> timed out (`void`, skipped in the outbox) -> given back
 */
import { assert } from '../base/assert.ts';
import type { PeerReply, PeerRequest } from './wire/messages.ts';
import type { Deadlined } from './deadlines.ts';

/** Gets the answer to a request, or a `failed` reply, exactly once. */
export type ReplyHandler = (reply: PeerReply) => void;

/** Is called when a request's deadline has passed. */
export interface PendingOwner {
  /** Fails the request with `Timeout`. */
  expire(pending: Pending): void;
}

/** `void`: the request timed out while it was in the outbox. */
export type PendingState = 'free' | 'queued' | 'sent' | 'void';

/** A request under way. The link session writes its fields, and the wheel those of `Deadlined`. */
export class Pending implements Deadlined<Pending> {
  state: PendingState = 'free';
  id = 0;
  kind: PeerRequest['kind'] = 'ping';
  owner: PendingOwner = nobody;
  handler: ReplyHandler = ignore;
  /** The encoded request until it is sent, then no bytes. */
  frame: Buffer = noBytes;
  frameBytes = 0;
  queuedUs = 0;
  sentUs = 0;
  deadlineTick = 0;
  dueAfter: Pending | undefined = undefined;
  dueBefore: Pending | undefined = undefined;
}

/** The most records that are kept for reuse. */
const freeCountMax = 4096;

/** The pool of records, one per node. */
export class PendingPool {
  readonly #free: Pending[] = [];
  #allocated = 0;

  /** How many records exist, in use or free. */
  get allocated(): number {
    return this.#allocated;
  }

  /** How many records are free. */
  get free(): number {
    return this.#free.length;
  }

  /** A record in state `queued`, whose other fields the caller sets. */
  take(): Pending {
    const reused = this.#free.pop();
    if (reused === undefined) this.#allocated += 1;
    const pending = reused ?? new Pending();
    pending.state = 'queued';
    return pending;
  }

  /** Takes a record back. The caller must not use it any more. */
  give(pending: Pending): void {
    assert(pending.state !== 'free', 'a record is given back once');
    pending.state = 'free';
    pending.owner = nobody;
    pending.handler = ignore;
    pending.frame = noBytes;
    if (this.#free.length < freeCountMax) this.#free.push(pending);
    else this.#allocated -= 1;
  }
}

const noBytes = Buffer.alloc(0);
const nobody: PendingOwner = { expire: () => undefined };
const ignore: ReplyHandler = () => undefined;
