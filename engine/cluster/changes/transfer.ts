/**
 * Moves ranges of tokens between this node and others: pulls what it takes over, pushes what it gives away. One batch
 * is under way at a time and its bytes are paid for by rest, so that clients keep their share of the disk and the link.
 *
 * Everything may be done again from the start: objects are merged by causality, so a batch that comes twice, or after a
 * newer write, changes nothing.
 */
import { Deferred } from '../../base/deferred.ts';
import { LockstepError } from '../../base/errors.ts';
import type { NodeId } from '../../base/ids.ts';
import type { PeerLinks } from '../../replication/peer-links.ts';
import type { Replica } from '../../replica/replica.ts';
import { sleep } from '../../io/clock.ts';
import type { Clock } from '../../io/clock.ts';
import type { TokenRange } from '../ring/arc.ts';
import type { Member } from '../ring/ring.ts';
import type { PeerReply, PeerRequest } from '../../peer/wire/messages.ts';
import type { RangeSource } from './range-source.ts';
import type { Cursor, MovedObject } from './range-messages.ts';
import { decodeRangeAnswer, encodeRangeRequest } from './range-messages.ts';

export interface TransferOptions {
  /** Bytes of objects in one batch, about. */
  readonly batchBytes: number;
  readonly bytesPerSecond: number;
  readonly timeoutUs: number;
}

export interface TransferCounts {
  keysIn: number;
  bytesIn: number;
  keysOut: number;
  bytesOut: number;
}

/** The names of clients under which the objects of a range were written (engine/transactions/idempotency/key-service.ts): they go with them. */
export interface RangeNames {
  /** Takes those that the node has; durable here when this resolves. */
  pull(node: NodeId, range: TokenRange): Promise<void>;
  /** Gives those of this node to the owners of the range, of now and of the next moment. */
  push(range: TokenRange): Promise<void>;
}

export interface TransferDependencies {
  readonly clock: Clock;
  readonly links: PeerLinks;
  readonly replica: Pick<Replica, 'merge'>;
  readonly source: RangeSource;
  readonly names: RangeNames;
}

const usPerSecond = 1_000_000;

export class Transfer {
  readonly counts: TransferCounts = { keysIn: 0, bytesIn: 0, keysOut: 0, bytesOut: 0 };
  readonly #parts: TransferDependencies;
  readonly #options: TransferOptions;

  constructor(parts: TransferDependencies, options: TransferOptions) {
    this.#parts = parts;
    this.#options = options;
  }

  /**
   * Takes everything that `from` holds of the range; durable here when this resolves with true. False: `goOn` said no.
   * Rejects with `PeerGone`, `Timeout`, `Overloaded`, `StorageFailed`: nothing is lost by trying again.
   */
  async pull(from: Member, range: TokenRange, goOn: () => boolean): Promise<boolean> {
    let after: Cursor | undefined;
    do {
      if (!goOn()) return false;
      const words = encodeRangeRequest({ ...range, after, bytesMax: this.#options.batchBytes });
      const reply = await this.#ask(from, { kind: 'transferRange', words });
      if (reply.kind !== 'rangeTransferred') throw failureOf(reply);
      const { objects, next } = decodeRangeAnswer(reply.words);
      await Promise.all(objects.map((object) => this.#mergeHere(object)));
      const bytes = sizeOf(objects);
      this.counts.keysIn += objects.length;
      this.counts.bytesIn += bytes;
      after = next;
      await this.#rest(bytes);
    } while (after !== undefined);
    await this.#parts.names.pull(from.node, range);
    return true;
  }

  /** Gives everything that this node holds of the range to its `takers`; the rest as `pull`. */
  async push(
    range: TokenRange,
    takers: (object: MovedObject) => readonly Member[],
    goOn: () => boolean,
  ): Promise<boolean> {
    let after: Cursor | undefined;
    do {
      if (!goOn()) return false;
      const answer = await this.#parts.source.read({ ...range, after, bytesMax: this.#options.batchBytes });
      const gifts = answer.objects.flatMap((object) =>
        takers(object).map((taker) => this.#mergeThere(taker, object)),
      );
      await Promise.all(gifts);
      const bytes = sizeOf(answer.objects);
      this.counts.keysOut += answer.objects.length;
      this.counts.bytesOut += bytes;
      after = answer.next;
      await this.#rest(bytes);
    } while (after !== undefined);
    await this.#parts.names.push(range);
    return true;
  }

  async #mergeHere({ key, token, bytes }: MovedObject): Promise<void> {
    const done = new Deferred<void>();
    const outcome = this.#parts.replica.merge(key, token, bytes, (error) => {
      if (error === undefined) done.resolve();
      else done.reject(error);
    });
    if (outcome !== 'ok') throw new LockstepError('Overloaded', `the store's queue is ${outcome}`);
    return done.promise;
  }

  async #mergeThere(taker: Member, { key, token, bytes }: MovedObject): Promise<void> {
    const reply = await this.#ask(taker, { kind: 'mergeObject', key, token, object: bytes });
    if (reply.kind !== 'written') throw failureOf(reply);
  }

  #ask(peer: Member, request: PeerRequest): Promise<PeerReply> {
    const answer = new Deferred<PeerReply>();
    const outcome = this.#parts.links.request(peer.node, request, this.#options.timeoutUs, (reply) =>
      answer.resolve(reply),
    );
    if (outcome !== 'ok')
      answer.reject(new LockstepError('PeerGone', `the link to ${peer.node} is ${outcome}`));
    return answer.promise;
  }

  #rest(bytes: number): Promise<void> {
    return sleep(this.#parts.clock, Math.ceil((bytes * usPerSecond) / this.#options.bytesPerSecond));
  }
}

function failureOf(reply: PeerReply): LockstepError {
  if (reply.kind === 'failed') return new LockstepError(reply.code, reply.detail);
  return new LockstepError('Internal', `a peer answered "${reply.kind}" to a transfer`);
}

function sizeOf(objects: readonly MovedObject[]): number {
  return objects.reduce((sum, { key, bytes }) => sum + key.length + bytes.length, 0);
}
