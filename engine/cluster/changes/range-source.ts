/**
 * Serves the objects of a token range from this node's store, batch by batch. Keeps no state between batches: the
 * caller's cursor says where to continue. The store finds the keys of a narrow slice of tokens directly, so a batch
 * costs in proportion to what it returns.
 *
 * An object that is written while its range is read may be sent in its earlier form. The node that takes over the range
 * gets new writes anyway.
 */
import { Deferred } from '../../base/deferred.ts';
import { LockstepError } from '../../base/errors.ts';
import type { Token } from '../../base/ids.ts';
import type { PackedKey } from '../../base/object-key.ts';
import { unpackKey } from '../../base/object-key.ts';
import type { MemoryStore } from '../../replica/key-slots.ts';
import type { TokenRange } from '../ring/arc.ts';
import { distance } from '../ring/arc.ts';
import type { Cursor, MovedObject, RangeAnswer, RangeRequest } from './range-messages.ts';

/** The store as transfers use it. */
export interface RangeStore extends Pick<MemoryStore, 'tryRead' | 'tryReadDoubted' | 'hasNewest'> {
  /** The keys with tokens in (from, to], in no particular sequence. */
  keysOfTokens(from: Token, to: Token): Iterable<PackedKey>;
  /** Whether the key's bucket was flushed since, so that its object is gone. */
  isFormer(key: PackedKey): boolean;
  /** The token of a stored key; undefined if the store does not have it. */
  tokenOf(key: PackedKey): Token | undefined;
  /** Whether records of unknown keys may be lost. */
  isSuspicious(): boolean;
}

/** Decides whether a range with lost records may be handed over (`lost-records.ts`). */
export interface RangeGuard {
  /** Undefined if it may; otherwise the error of a caller that must begin the range again. */
  check(range: TokenRange): LockstepError | undefined;
}

interface Entry {
  readonly key: PackedKey;
  readonly distance: number;
}

/** Tokens in a slice; the token space has 4096 slices. */
const sliceTokens = 2 ** 20;
const objectsMax = 4096;

/** Reads ranges from one node's store. */
export class RangeSource {
  readonly #store: RangeStore;
  readonly #batchBytesMax: number;
  #lost: RangeGuard | undefined;

  /** `batchBytesMax`: no batch of several objects has more bytes, whatever a request asks for. */
  constructor(store: RangeStore, batchBytesMax = Infinity) {
    this.#store = store;
    this.#batchBytesMax = batchBytesMax;
  }

  /** From now on hands over no range whose lost records were not fetched. */
  guard(lost: RangeGuard): void {
    this.#lost = lost;
  }

  /**
   * The next objects of a range, at most 4096. Rejects with the store's error, and with `Overloaded` if its queue is
   * full, or while records that are lost here are fetched from other replicas: the caller begins the range again. Leaves
   * out what they do not have either, and with `asIs` all objects that cannot be read.
   */
  async read(request: RangeRequest): Promise<RangeAnswer> {
    if (!request.asIs && this.#store.isSuspicious()) this.#mustBeFetched(request);
    const answer = await this.#next(request);
    // Meanwhile a record may have been found lost whose key is unknown.
    if (!request.asIs && this.#store.isSuspicious()) this.#mustBeFetched(request);
    return answer;
  }

  #mustBeFetched({ from, to }: TokenRange): void {
    const error = this.#lost?.check({ from, to });
    if (error !== undefined) throw error;
  }

  async #next({ from, to, after, bytesMax, asIs }: RangeRequest): Promise<RangeAnswer> {
    const span = distance(from, to);
    let reached = after === undefined ? 0 : Math.min(span, distance(from, after.token));
    let skip = after?.key;
    const objects: MovedObject[] = [];
    let bytes = 0;
    let last: Cursor | undefined;
    for (;;) {
      // With a cursor, the slice includes the cursor's own token again.
      const low = skip === undefined ? reached : reached - 1;
      const high = Math.min(low + sliceTokens, span);
      for (const { key, distance: at } of this.#entries(from, low, high)) {
        if (skip !== undefined && at === reached && key <= skip) continue;
        let object = await this.#object(key);
        if (object === 'lost') {
          if (!asIs) this.#mustBeFetched({ from, to });
          // What was written over a lost copy is no less durable for that.
          if (this.#store.hasNewest(key)) object = await this.#object(key, 'doubted');
        }
        if (object === undefined || object === 'lost') continue;
        const size = object.bytes.length + key.length;
        // A batch travels as one message: an object that is too much for it begins the next one.
        if (last !== undefined && bytes + size > this.#batchBytesMax) return { objects, next: last };
        objects.push(object);
        bytes += size;
        // Where the key was found: it may have another token by now, outside the range.
        last = { token: tokenAt(from, at), key };
        if (bytes >= bytesMax || objects.length >= objectsMax) return { objects, next: last };
      }
      if (high >= span) return { objects, next: undefined };
      reached = high;
      skip = undefined;
    }
  }

  /** Keys at distances in (low, high] from `from`, in order. */
  #entries(from: Token, low: number, high: number): readonly Entry[] {
    const entries: Entry[] = [];
    for (const key of this.#store.keysOfTokens(tokenAt(from, low), tokenAt(from, high))) {
      const token = this.#store.tokenOf(key);
      // The engine's own records stay on this node.
      if (token === undefined || unpackKey(key) === undefined || this.#store.isFormer(key)) continue;
      entries.push({ key, distance: distance(from, token) });
    }
    return entries.sort((left, right) => left.distance - right.distance || (left.key < right.key ? -1 : 1));
  }

  async #object(key: PackedKey, how?: 'doubted'): Promise<MovedObject | undefined | 'lost'> {
    const answer = new Deferred<Uint8Array | undefined | 'lost'>();
    const done = (error: LockstepError | undefined, bytes: Uint8Array | undefined): void => {
      if (error === undefined) answer.resolve(bytes);
      else if (error.code === 'Corrupted') answer.resolve('lost');
      else answer.reject(error);
    };
    const store = this.#store;
    const outcome = how === 'doubted' ? store.tryReadDoubted(key, done) : store.tryRead(key, done);
    if (outcome !== 'ok') throw new LockstepError('Overloaded', `the store's queue is ${outcome}`);
    const bytes = await answer.promise;
    if (bytes === 'lost') return bytes;
    const token = this.#store.tokenOf(key);
    return bytes === undefined || token === undefined ? undefined : { key, token, bytes };
  }
}

function tokenAt(from: Token, at: number): Token {
  return ((from + at) % 2 ** 32) as Token;
}
