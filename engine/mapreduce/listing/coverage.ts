/**
 * Lists what the whole cluster holds, by name: the keys of a bucket, or the buckets of a type.
 *
 * The coordinator asks a majority of the replicas of every arc in this datacenter (adjacent arcs with the same replicas
 * count as one), this node first, then in order of preference. A key is therefore listed if a majority acknowledged its
 * put, and not listed if a majority acknowledged its deletion. If replicas are down, fewer suffice, down to one. A
 * replica that fails is replaced by the next, which continues at the beginning of the page. Each key is listed once, in
 * the order of (token, packed key). A bucket whose last keys were just deleted may still be listed.
 *
 * Pages are fetched at the reader's pace, a bounded number ahead of it. Ending the iteration ends the listing. The ring
 * may change during a listing: each page is asked of the owners of that moment.
 */
import { present } from '../../base/assert.ts';
import { Deferred } from '../../base/deferred.ts';
import { LockstepError } from '../../base/errors.ts';
import { Pauses } from '../../io/pauses.ts';
import type { ByteString, Token } from '../../base/ids.ts';
import type { PackedKey } from '../../base/object-key.ts';
import { bucketPrefix, unpackKey } from '../../base/object-key.ts';
import type { Asking, RoundDependencies } from '../../replication/round-dependencies.ts';
import { askPeer, replyError, roundError, troubleError } from '../../replication/round-dependencies.ts';
import { standbyLast } from '../../replication/plan.ts';
import type { Io } from '../../io/io.ts';
import { distance } from '../../cluster/ring/arc.ts';
import type { Member } from '../../cluster/ring/ring.ts';
import { answerInTask } from '../../peer/wire/answer.ts';
import type { PeerReply } from '../../peer/wire/messages.ts';
import { inOrder } from './lanes.ts';
import type {
  Listing,
  ListedName,
  ListingAnswer,
  ListingCursor,
  ListingRequest,
} from './listing-messages.ts';
import {
  decodeListingAnswer,
  decodeListingRequest,
  encodeListingAnswer,
  encodeListingRequest,
} from './listing-messages.ts';
import type { LocalListing } from './local-listing.ts';
import { mergeAnswers } from './merge-answers.ts';

/** Some of the listed names. */
export interface ListedPage {
  readonly names: readonly ListedName[];
  /** All names up to and including this token have been listed. */
  readonly reached: Token;
}

/** One page of an arc; without `next` it holds all names up to `end`. */
interface ArcPage extends ListingAnswer {
  readonly end: Token;
}

/** What a listing of keys includes, and how it proceeds. */
export interface KeyListing {
  readonly live: boolean;
  readonly first?: Token;
  readonly namesMax?: number;
}

/** Parts of the token space, and how many of them are walked concurrently. */
const laneCount = 8;
const lanesAbreast = 3;
/** How often the replicas of an arc are tried, and the pause between two rounds. */
const roundsMax = 3;
const roundRestUs = 200_000;
/** Longest time for one page's answer. */
const pageUsMax = 5_000_000;

/** What a listing needs of other modules. */
export interface CoverageDependencies
  extends Asking, Pick<RoundDependencies, 'self' | 'ring' | 'view' | 'clock'> {
  /** The bucket's present epoch; 0 for one that was never flushed. */
  readonly epochOf: (type: ByteString, bucket: ByteString) => number;
  /** Resolves once this node knows the epoch of the bucket. Rejects with `StaleEpoch` if it is a former one. */
  readonly admitEpoch: (type: ByteString, bucket: ByteString, epoch: number) => Promise<void>;
}

/** The listings of one node, as coordinator and as replica. */
export class Coverage {
  readonly #io: Pick<Io, 'spawn'>;
  readonly #parts: CoverageDependencies;
  readonly #local: LocalListing;
  /** Pauses between two rounds. */
  readonly #pauses: Pauses;

  constructor(io: Pick<Io, 'spawn'>, parts: CoverageDependencies, local: LocalListing) {
    this.#io = io;
    this.#parts = parts;
    this.#local = local;
    this.#pauses = new Pauses(parts.clock);
  }

  /**
   * The keys of a bucket, each with its token, from the first key at or after `first` on. `live`: leaves out deleted
   * keys, otherwise includes those not yet reaped. Iterating rejects with `Timeout` past `deadlineUs` (on the clock's
   * `nowUs`), with `NoTargets`, `NoQuorum` or `Timeout` if no replica of some arc answers, and with `ShuttingDown`.
   *
   * `namesMax` is for a caller that needs few names: a page has about as many, nothing is fetched ahead of the caller,
   * and pages without names are yielded, too, so that the caller can stop there.
   */
  keys(
    type: ByteString,
    bucket: ByteString,
    { live, first = 0 as Token, namesMax }: KeyListing,
    deadlineUs: number,
  ): AsyncGenerator<ListedPage, void, undefined> {
    if (namesMax === undefined) return this.#list({ type, bucket, live }, deadlineUs, first);
    return this.#walk({ type, bucket, live, namesMax }, tokenOf(first - 1), tokenOf(-1), deadlineUs);
  }

  /** The buckets of a type that hold a key, each once; rejects as `keys` does. */
  async *buckets(
    type: ByteString,
    deadlineUs: number,
  ): AsyncGenerator<readonly ByteString[], void, undefined> {
    const seen = new Set<ByteString>();
    for await (const { names } of this.#list({ type, bucket: undefined, live: true }, deadlineUs)) {
      const fresh: ByteString[] = [];
      for (const { name } of names) {
        if (seen.has(name)) continue;
        seen.add(name);
        fresh.push(name);
      }
      if (fresh.length > 0) yield fresh;
    }
  }

  /** The node stops: listings wait for no further round, and reject with `ShuttingDown` instead. */
  stop(): void {
    this.#pauses.stop();
  }

  /** Answers a listing request of a peer. */
  answer(payload: Uint8Array, reply: (reply: PeerReply) => void): void {
    const asked = Uint8Array.from(payload);
    answerInTask(this.#io, 'coverage.answer', reply, async () => {
      const answer = await this.#page(decodeListingRequest(asked));
      return { kind: 'namesListed', words: encodeListingAnswer(answer) };
    });
  }

  #list(listing: Listing, deadlineUs: number, first = 0): AsyncGenerator<ListedPage, void, undefined> {
    const width = 2 ** 32 / laneCount;
    const lanes: AsyncGenerator<ListedPage, void, undefined>[] = [];
    for (let end = width; end <= 2 ** 32; end += width) {
      const begin = Math.max(first, end - width);
      if (begin >= end) continue;
      lanes.push(this.#walk(listing, tokenOf(begin - 1), tokenOf(end - 1), deadlineUs));
    }
    return inOrder(lanes, lanesAbreast);
  }

  /** The pages of the tokens after `from` up to and including `to`, arc by arc. */
  async *#walk(
    listing: Listing,
    from: Token,
    to: Token,
    deadlineUs: number,
  ): AsyncGenerator<ListedPage, void, undefined> {
    let at: ListingCursor | undefined = { from, skip: undefined };
    while (at !== undefined) {
      const page = await this.#ask({ ...listing, ...at, to }, deadlineUs);
      if (page.names.length > 0 || listing.namesMax !== undefined) {
        yield { names: page.names, reached: page.next?.from ?? page.end };
      }
      at = page.next ?? (page.end === to ? undefined : { from: page.end, skip: undefined });
    }
  }

  /** One page, merged from the answers of enough replicas; it ends where the arc of the first token ends. */
  async #ask(given: ListingRequest, deadlineUs: number): Promise<ArcPage> {
    const { ring, self } = this.#parts;
    let request = this.#ofPresentArc(given);
    const wanted = Math.floor(ring().rackCount(self.datacenter) / 2) + 1;
    const failures: LockstepError[] = [];
    let answers: readonly ListingAnswer[] = [];
    for (let round = 0; round < roundsMax; round++) {
      if (round > 0) await this.#rest();
      request = this.#ofPresentArc(given);
      const there = this.#replicas(request.to);
      answers = await this.#askSome(there, Math.min(wanted, there.length), request, deadlineUs, failures);
      // The bucket was flushed meanwhile: what was found in the former epoch is gone.
      if (this.#inPresentEpoch(given).epoch !== request.epoch) answers = [];
      if (answers.length > 0 && answers.length >= Math.min(wanted, there.length)) break;
    }
    if (answers.length > 0) return { ...mergeAnswers(request, answers), end: request.to };
    const what = `no replica of the tokens up to ${request.to} lists its keys`;
    throw failures.length === 0 ? new LockstepError('NoTargets', what) : roundError(failures, what);
  }

  async #rest(): Promise<void> {
    const over = new Deferred<boolean>();
    this.#pauses.take(roundRestUs, (stopped) => over.resolve(stopped));
    if (await over.promise) throw new LockstepError('ShuttingDown', 'the node stops while names are listed');
  }

  /**
   * The part of the request that the owners of its first token can answer. A new member may have split the arc since
   * the last round: then no node owns the rest of the former one.
   */
  #ofPresentArc(given: ListingRequest): ListingRequest {
    const bound = this.#parts.ring().sharedBoundAfter(given.from);
    const isShorter = distance(given.from, bound) < distance(given.from, given.to);
    return this.#inPresentEpoch(isShorter ? { ...given, to: bound } : given);
  }

  /** The name behind which the page begins counts in every epoch: else the next page after a flush names it again. */
  #inPresentEpoch(request: ListingRequest): ListingRequest {
    const { type, bucket, skip } = request;
    const epoch = bucket === undefined ? 0 : this.#parts.epochOf(type, bucket);
    if (bucket === undefined || epoch === 0) return request;
    const name = skip === undefined ? undefined : unpackKey(skip as PackedKey)?.key;
    if (name === undefined) return { ...request, epoch };
    return { ...request, epoch, skip: (bucketPrefix(type, bucket, epoch) + name) as ByteString };
  }

  /** The answers of `wanted` of the members, asked concurrently; each that fails is replaced by the next. */
  async #askSome(
    members: readonly Member[],
    wanted: number,
    request: ListingRequest,
    deadlineUs: number,
    failures: LockstepError[],
  ): Promise<readonly ListingAnswer[]> {
    const answers: ListingAnswer[] = [];
    const left = [...members];
    const askNext = async (): Promise<void> => {
      for (let member = left.shift(); member !== undefined; member = left.shift()) {
        const leftUs = deadlineUs - this.#parts.clock.nowUs();
        if (leftUs <= 0) throw new LockstepError('Timeout', 'the deadline passed while names were listed');
        try {
          answers.push(await this.#askOne(member, request, leftUs));
          return;
        } catch (error) {
          failures.push(mustBeOurs(error));
        }
      }
    };
    await Promise.all(Array.from({ length: wanted }, askNext));
    return answers;
  }

  /** The routable replicas: this node, then its datacenter, then the others; within each those in STANDBY last. */
  #replicas(token: Token): readonly Member[] {
    const { ring, self, view } = this.#parts;
    const there = ring()
      .placement(token)
      .filter((member) => view.isRoutable(member));
    const rank = (member: Member): number => {
      if (member === self && !view.isStandby(self)) return 0;
      return member.datacenter === self.datacenter ? 1 : 2;
    };
    return standbyLast(view, there, (member) => member).toSorted((left, right) => rank(left) - rank(right));
  }

  #askOne(member: Member, request: ListingRequest, leftUs: number): Promise<ListingAnswer> {
    if (member === this.#parts.self) return this.#page(request);
    const answer = new Deferred<ListingAnswer>();
    const words = encodeListingRequest(request);
    const timeoutUs = Math.min(leftUs, pageUsMax);
    const error = askPeer(this.#parts, member, { kind: 'listNames', words }, timeoutUs, (reply) => {
      if (reply.kind === 'namesListed') settle(answer, () => decodeListingAnswer(reply.words));
      else answer.reject(replyError(reply));
    });
    if (error !== undefined) answer.reject(troubleError(error));
    return answer.promise;
  }

  /**
   * This node's own page. Rejects with `NoTargets` if it does not own all the tokens, because the ring has changed, and
   * with `StaleEpoch` if the bucket was flushed since the request was made.
   */
  async #page(request: ListingRequest): Promise<ListingAnswer> {
    const { ring, self, epochOf, admitEpoch } = this.#parts;
    const { type, bucket, epoch = 0 } = request;
    if (bucket !== undefined && epochOf(type, bucket) !== epoch) await admitEpoch(type, bucket, epoch);
    const bound = ring().sharedBoundAfter(request.from);
    const whole = distance(request.from, request.to) <= distance(request.from, bound);
    if (!whole || !ring().placement(request.to).includes(self)) {
      const detail = `${self.node} does not own all tokens up to ${request.to}`;
      throw new LockstepError('NoTargets', detail);
    }
    return this.#local.page(request);
  }
}

function settle<T>(deferred: Deferred<T>, value: () => T): void {
  try {
    deferred.resolve(value());
  } catch (error) {
    deferred.reject(mustBeOurs(error));
  }
}

/** The error if it is a `LockstepError`, which another replica may not have. Throws everything else. */
function mustBeOurs(error: unknown): LockstepError {
  if (error instanceof LockstepError) return error;
  throw present(error, 'a failure');
}

function tokenOf(value: number): Token {
  return (value >>> 0) as Token;
}
