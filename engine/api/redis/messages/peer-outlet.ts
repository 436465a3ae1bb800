/**
 * Sends published messages to one peer, in order, each at most once. Few batches are under way at a time, and the
 * messages that wait form the next one, so that a flood of small messages neither costs a request each nor fills the
 * peer's outbox, which replication uses, too.
 *
 * Every message is answered for within `answerUsMax` of its call, with the number of subscribers that the peer reports:
 * 0 if there is no connection, too much waits, or no answer comes. Such a message is not sent again: it may have
 * arrived.
 */
import type { NodeId } from '../../../base/ids.ts';
import { LockstepError } from '../../../base/errors.ts';
import type { Clock } from '../../../io/clock.ts';
import type { PeerReply } from '../../../peer/wire/messages.ts';
import type { PeerLinks } from '../../../replication/peer-links.ts';
import { decodeCounts, encodeBatch } from './peer-codec.ts';

/** Microseconds in which a peer answers how many subscribers it has. */
export const answerUsMax = 1_000_000;

/** Batches to one peer under way. */
const batchesMax = 4;
/** Messages, and about bytes, of a batch; a longer message is a batch by itself. The configuration may allow less. */
export const batchCountMax = 1000;
const batchBytesMax = 256 * 1024;
/** Bytes that wait for one peer, each message with its overhead. */
const waitingBytesMax = 64 * 1024 * 1024;
const overheadBytes = 64;

/** A message that waits. */
interface Waiting {
  readonly message: Buffer;
  /** When it must have been answered for, on the clock's `nowUs`. */
  readonly endUs: number;
  readonly done: (count: number) => void;
}

/** What an outlet needs. */
export interface OutletDependencies {
  readonly clock: Clock;
  readonly links: PeerLinks;
  /** This node's incarnation number. */
  readonly generation: () => number;
  /** The next `count` places in the order of this node's messages; returns the first. */
  readonly places: (count: number) => number;
  /** Messages of a batch at most. */
  readonly batchCountMax: number;
  /** The peer has not confirmed `count` messages. */
  readonly unconfirmed: (count: number) => void;
}

/** The messages to one peer. */
export class PeerOutlet {
  readonly #parts: OutletDependencies;
  readonly #peer: NodeId;
  readonly #idle: () => void;
  readonly #waiting: Waiting[] = [];
  #waitingBytes = 0;
  #underWay = 0;

  /** `idle` is called whenever nothing waits and nothing is under way. */
  constructor(parts: OutletDependencies, peer: NodeId, idle: () => void) {
    this.#parts = parts;
    this.#peer = peer;
    this.#idle = idle;
  }

  /** Sends a message that `encodeMessage` has encoded. Calls `done` once, perhaps within this call. */
  send(message: Buffer, done: (count: number) => void): void {
    const bytes = message.length + overheadBytes;
    if (this.#waiting.length > 0 && this.#waitingBytes + bytes > waitingBytesMax) {
      this.#parts.unconfirmed(1);
      done(0);
      return;
    }
    this.#waiting.push({ message, endUs: this.#parts.clock.nowUs() + answerUsMax, done });
    this.#waitingBytes += bytes;
    this.#pump();
  }

  #pump(): void {
    const nowUs = this.#parts.clock.nowUs();
    const failed: Waiting[] = [];
    while (this.#underWay < batchesMax && this.#waiting.length > 0) {
      const batch = this.#take();
      const late = batch.filter(({ endUs }) => endUs <= nowUs);
      const rest = late.length === 0 ? batch : batch.slice(late.length);
      const [first] = rest;
      const isSent = first === undefined || this.#request(rest, first.endUs - nowUs);
      failed.push(...(isSent ? late : batch));
    }
    if (failed.length > 0) this.#fail(failed);
    if (this.#underWay === 0 && this.#waiting.length === 0) this.#idle();
  }

  /** Removes the next batch from the messages that wait. */
  #take(): readonly Waiting[] {
    let count = 0;
    let bytes = 0;
    const { batchCountMax: countMax } = this.#parts;
    for (const { message } of this.#waiting) {
      if (count > 0 && (count === countMax || bytes + message.length > batchBytesMax)) break;
      count += 1;
      bytes += message.length;
    }
    this.#waitingBytes -= bytes + count * overheadBytes;
    return this.#waiting.splice(0, count);
  }

  /** Sends a batch; false if the connection does not take it. */
  #request(batch: readonly Waiting[], timeoutUs: number): boolean {
    const { links, generation, places } = this.#parts;
    const messages = batch.map(({ message }) => message);
    const words = encodeBatch(generation(), places(batch.length), messages);
    const outcome = links.request(this.#peer, { kind: 'pubsub', words }, timeoutUs, (reply) => {
      this.#underWay -= 1;
      this.#answered(batch, reply);
      this.#pump();
    });
    if (outcome !== 'ok') return false;
    this.#underWay += 1;
    return true;
  }

  #answered(batch: readonly Waiting[], reply: PeerReply): void {
    const counts = countsOf(reply, batch.length);
    if (counts === undefined) this.#fail(batch);
    else batch.forEach(({ done }, index) => done(counts[index] ?? 0));
  }

  #fail(batch: readonly Waiting[]): void {
    this.#parts.unconfirmed(batch.length);
    for (const { done } of batch) done(0);
  }
}

function countsOf(reply: PeerReply, wanted: number): readonly number[] | undefined {
  if (reply.kind !== 'pubsubAnswered') return undefined;
  try {
    return decodeCounts(reply.words, wanted);
  } catch (error) {
    if (error instanceof LockstepError) return undefined;
    throw error;
  }
}
