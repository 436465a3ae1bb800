/**
 * A request on its way, and the pool of such records (the plane's message structs): they live as long as a round trip,
 * too long to die young, so they are used again.
 *
 *     taken -> queued -> sent -> answered, timed out or lost -> given back
 *                 \-> timed out (`void`, its place in the outbox is passed over) -> given back
 */
import { assert } from '../base/assert.ts';
import type { PeerReply, PeerRequest } from './wire/messages.ts';
import type { Deadlined } from './deadlines.ts';

/** Gets the answer to a request, or why there is none, exactly once. */
export type ReplyHandler = (reply: PeerReply) => void;

/** Who is told when a request's deadline has passed. */
export interface PendingOwner {
  expire(pending: Pending): void;
}

export type PendingState = 'free' | 'queued' | 'sent' | 'void';

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

/** Records kept for reuse at most. */
const freeCountMax = 4096;

export class PendingPool {
  readonly #free: Pending[] = [];
  #allocated = 0;

  /** Records that exist, in use or free. */
  get allocated(): number {
    return this.#allocated;
  }

  /** Records that wait to be used again. */
  get free(): number {
    return this.#free.length;
  }

  take(): Pending {
    const reused = this.#free.pop();
    if (reused === undefined) this.#allocated += 1;
    const pending = reused ?? new Pending();
    pending.state = 'queued';
    return pending;
  }

  /** Takes a record back; nobody may hold it any more. */
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
