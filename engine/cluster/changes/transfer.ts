/**
 * Transfers ranges of tokens between this node and others: pulls those that it takes over, pushes those that it gives
 * away. One batch is under way at a time. A pause in proportion to its bytes follows, so that clients keep their share
 * of the disk and the link.
 *
 * A transfer may start again from the beginning at any time. Objects are merged by causality, so a batch that comes
 * twice, or after a newer write, changes nothing.
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
import type { Cursor, MovedObject, RangeRequest } from './range-messages.ts';
import { decodeRangeAnswer, encodeRangeRequest } from './range-messages.ts';

/** Pace of transfers, from the configuration. */
export interface TransferOptions {
  /** Bytes of objects in one batch, about. */
  readonly batchBytes: number;
  readonly bytesPerSecond: number;
  readonly timeoutUs: number;
}

/** What was transferred since the start: keys and their bytes. */
export interface TransferCounts {
  keysIn: number;
  bytesIn: number;
  keysOut: number;
  bytesOut: number;
}

/** Moves the idempotency records of a range together with its objects (transactions/idempotency/key-service.ts). */
export interface RangeNames {
  /** Fetches a node's records of the range. They are durable here when this resolves. */
  pull(node: NodeId, range: TokenRange): Promise<void>;
  /** Sends this node's records of the range to its owners and pending owners. */
  push(range: TokenRange): Promise<void>;
}

/** What transfers work with. */
export interface TransferDependencies {
  readonly clock: Clock;
  readonly links: PeerLinks;
  readonly replica: Pick<Replica, 'merge'>;
  readonly source: RangeSource;
  readonly names: RangeNames;
}

const usPerSecond = 1_000_000;

/** The transfers of one node. */
export class Transfer {
  readonly counts: TransferCounts = { keysIn: 0, bytesIn: 0, keysOut: 0, bytesOut: 0 };
  readonly #parts: TransferDependencies;
  readonly #options: TransferOptions;

  constructor(parts: TransferDependencies, options: TransferOptions) {
    this.#parts = parts;
    this.#options = options;
  }

  /**
   * Pulls everything that `from` holds of the range. Resolves with true once it is durable here, and with false as soon
   * as `goOn` returns false. Rejects with `PeerGone`, `Timeout`, `Overloaded` (also while the source fetches records that
   * it has lost) or `StorageFailed`; the caller may try again.
   */
  async pull(from: Member, range: TokenRange, goOn: () => boolean): Promise<boolean> {
    const counted = (count: number, bytes: number): void => {
      this.counts.keysIn += count;
      this.counts.bytesIn += bytes;
    };
    if (!(await this.#read(from, { ...range, asIs: false }, goOn, counted))) return false;
    await this.#parts.names.pull(from.node, range);
    return true;
  }

  /**
   * Reads the objects of a range that this node owns from another replica of it, which may have lost some itself. They
   * are not counted. Resolves and rejects as `pull` does, also with `BadRequest`: the source is an earlier build.
   */
  fetch(from: Member, range: TokenRange, goOn: () => boolean): Promise<boolean> {
    return this.#read(from, { ...range, asIs: true }, goOn, () => undefined);
  }

  async #read(
    from: Member,
    range: Pick<RangeRequest, 'from' | 'to' | 'asIs'>,
    goOn: () => boolean,
    counted: (count: number, bytes: number) => void,
  ): Promise<boolean> {
    let after: Cursor | undefined;
    do {
      if (!goOn()) return false;
      const words = encodeRangeRequest({ ...range, after, bytesMax: this.#options.batchBytes });
      const reply = await this.#ask(from, { kind: 'transferRange', words });
      if (reply.kind !== 'rangeTransferred') throw failureOf(reply);
      const { objects, next } = decodeRangeAnswer(reply.words);
      await Promise.all(objects.map((object) => this.#mergeHere(object)));
      const bytes = sizeOf(objects);
      counted(objects.length, bytes);
      after = next;
      await this.#rest(bytes);
    } while (after !== undefined);
    return true;
  }

  /** Pushes everything that this node holds of the range to its `takers`. Resolves and rejects as `pull` does. */
  async push(
    range: TokenRange,
    takers: (object: MovedObject) => readonly Member[],
    goOn: () => boolean,
  ): Promise<boolean> {
    let after: Cursor | undefined;
    do {
      if (!goOn()) return false;
      const bytesMax = this.#options.batchBytes;
      const answer = await this.#parts.source.read({ ...range, after, bytesMax, asIs: false });
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
      // What was flushed since the source sent it is not stored.
      if (error === undefined || error.code === 'StaleEpoch') done.resolve();
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
