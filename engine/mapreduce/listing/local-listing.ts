/**
 * Lists this node's names in a span of tokens, page by page. Nothing is kept between pages: the cursor holds the
 * position. A page is bounded in names, bytes and visited keys, and rests after some thousand of them, so a listing never
 * blocks the node for long.
 *
 * Keys that are written or deleted during the listing may or may not be listed; every other key is listed once.
 */
import { tryDecode } from '../../base/decoding.ts';
import type { ByteString, Token } from '../../base/ids.ts';
import type { PackedKey } from '../../base/object-key.ts';
import { bucketPrefix, unpackKey } from '../../base/object-key.ts';
import type { LocalStore } from '../../replica/key-slots.ts';
import type { LocalRead } from '../../replica/local-read.ts';
import { readLocally } from '../../replica/local-read.ts';
import { isExpired } from '../../replica/object/expiry.ts';
import { highestCounter } from '../../replica/object/dots.ts';
import { decodeObject, liveSiblings } from '../../replica/object/object.ts';
import { distance } from '../../cluster/ring/arc.ts';
import type { Known, Listing, ListedName, ListingAnswer, ListingRequest } from './listing-messages.ts';

/** The store and its driver, as listings need them. */
export interface ListingStore extends Pick<LocalStore, 'tryRead'> {
  keysOfTokens(from: Token, to: Token): Iterable<PackedKey>;
  keysOfBucket(prefix: string): Iterable<PackedKey>;
  /** The bucket's keys are at most this many. */
  bucketKeysMax(prefix: string): number;
  tokenOf(key: PackedKey): Token | undefined;
  /** The wall clock in milliseconds; expired values count as deleted. */
  wallMs(): number;
  /** Whether the key's bucket was flushed since: its object is gone. */
  isFormer(key: PackedKey): boolean;
  /** Resolves in a later turn of the event loop. */
  pause(): Promise<void>;
}

/** Bounds of a page. */
export interface PageLimits {
  readonly namesMax: number;
  /** Bytes of the names, about. */
  readonly bytesMax: number;
  /** Most keys visited, matching or not. */
  readonly visitedMax: number;
}

/** The bounds that nodes use. */
export const pageLimits: PageLimits = { namesMax: 2000, bytesMax: 256 * 1024, visitedMax: 20_000 };

/** A key that may become part of the page. */
interface Entry {
  readonly key: PackedKey;
  readonly name: ByteString;
  readonly token: Token;
  /** Distance from the span's beginning in tokens, 1 or more. */
  readonly distance: number;
}

/** A position in the order of a listing. */
type Position = Pick<Entry, 'distance' | 'key'>;

/** Entries in order. */
interface Part {
  readonly entries: readonly Entry[];
  /** No further entries follow in the slice. */
  readonly isWhole: boolean;
}

/** Width of a slice in tokens. The token space has 4096 slices, as many as the key directory has lists. */
const sliceTokens = 2 ** 20;
/** A bucket with at most this many keys is listed by the directory's list of its keys; a larger one slice by slice. */
const smallBucketKeys = 4096;
/** Fewer for a caller that takes few names at a time, since each of its pages visits all of them: this many pages. */
const smallPages = 16;
/** A list of keys that other buckets share is walked up to this many times as far. */
const sharedListFactor = 4;
/** Objects read concurrently. */
const readsMax = 64;
/** All keys of a bucket may have the same token: so many keys of a slice are visited in one turn of the event loop. */
const visitedPerTurn = 10_000;

/** The listings of one node. */
export class LocalListing {
  readonly #store: ListingStore;
  readonly #limits: PageLimits;

  constructor(store: ListingStore, limits: PageLimits = pageLimits) {
    this.#store = store;
    this.#limits = limits;
  }

  /** The next names of a span. Rejects with the store's errors. */
  async page(request: ListingRequest): Promise<ListingAnswer> {
    const { namesMax = this.#limits.namesMax } = request;
    const limits = { ...this.#limits, namesMax: Math.min(namesMax, this.#limits.namesMax) };
    const page = new Page(limits, request.bucket === undefined);
    const span = distance(request.from, request.to);
    const small = this.#smallBucket(request);
    const width = small === undefined ? sliceTokens : span;
    for (let low = 0; low < span; low += width) {
      const high = Math.min(low + width, span);
      let behind = behindOf(request);
      for (let isWhole = false; !isWhole;) {
        const part = small ?? (await this.#entries(request, low, high, behind, page));
        const last = await this.#take(part.entries, request, page);
        if (last !== undefined) return { names: page.names, next: cursorBehind(last) };
        isWhole = part.isWhole;
        const end = part.entries.at(-1);
        if (!isWhole && end !== undefined && page.tired) {
          return { names: page.names, next: cursorBehind(end) };
        }
        behind = end;
      }
      if (high < span && page.tired) {
        return { names: page.names, next: { from: tokenAt(request.from, high), skip: undefined } };
      }
    }
    return { names: page.names, next: undefined };
  }

  /** Adds entries to the page. Returns the last one added if the page is full. */
  async #take(entries: readonly Entry[], listing: Listing, page: Page): Promise<Entry | undefined> {
    const { live } = listing;
    const distinct = listing.bucket === undefined;
    for (let at = 0; at < entries.length;) {
      const group: Entry[] = [];
      while (group.length < readsMax && at < entries.length) {
        const entry = entries[at++];
        if (entry !== undefined && page.wants(entry.name)) group.push(entry);
      }
      const known = live ? await this.#known(group) : undefined;
      for (const [index, entry] of group.entries()) {
        const one = known?.[index];
        if (live && (one === undefined || (one.deleted && distinct))) continue;
        page.add(entry, distinct ? undefined : one);
        if (page.full) return entry;
      }
    }
    return undefined;
  }

  /** The span's entries in order if the bucket has few keys; otherwise undefined. */
  #smallBucket(request: ListingRequest): Part | undefined {
    if (request.bucket === undefined) return undefined;
    const keys: PackedKey[] = [];
    const keysMax = Math.min(smallBucketKeys, (request.namesMax ?? smallBucketKeys) * smallPages);
    const prefix = bucketPrefix(request.type, request.bucket, request.epoch);
    // Each page of a large bucket would look at this many keys in vain. The bound includes other buckets' keys.
    if (this.#store.bucketKeysMax(prefix) > keysMax * sharedListFactor) return undefined;
    for (const key of this.#store.keysOfBucket(prefix)) {
      if (keys.push(key) > keysMax) return undefined;
    }
    const span = distance(request.from, request.to);
    const selection = new Selection(Infinity);
    const entryOf = this.#selector(request, behindOf(request));
    for (const key of keys) {
      const entry = entryOf(key);
      if (entry !== undefined && entry.distance <= span) selection.add(entry);
    }
    return selection.take();
  }

  /**
   * Entries at distances in (low, high] behind a position, in order: as many as a page may take. In a listing of buckets
   * all of them, since any number of keys may belong to one bucket.
   */
  async #entries(
    request: ListingRequest,
    low: number,
    high: number,
    behind: Position | undefined,
    page: Page,
  ): Promise<Part> {
    const { from, bucket } = request;
    const entryOf = this.#selector(request, behind);
    const selection = new Selection(bucket === undefined ? Infinity : page.namesMax);
    let visited = 0;
    for (const key of this.#store.keysOfTokens(tokenAt(from, low), tokenAt(from, high))) {
      const entry = entryOf(key);
      if (entry !== undefined) selection.add(entry);
      visited += 1;
      if (visited % visitedPerTurn === 0) await this.#store.pause();
    }
    page.visited += visited + 1;
    return selection.take();
  }

  /** Maps a key to its entry; undefined if the listing does not include it, or not behind the position. */
  #selector(request: ListingRequest, behind: Position | undefined): (key: PackedKey) => Entry | undefined {
    const { from } = request;
    const nameOf = naming(request, (key) => this.#store.isFormer(key));
    return (key) => {
      const name = nameOf(key);
      if (name === undefined) return undefined;
      const token = this.#store.tokenOf(key);
      if (token === undefined) return undefined;
      const entry = { key, name, token, distance: distance(from, token) };
      return behind === undefined || comparePositions(behind, entry) < 0 ? entry : undefined;
    };
  }

  async #known(entries: readonly Entry[]): Promise<readonly (Known | undefined)[]> {
    const known: (Known | undefined)[] = [];
    const nowMs = this.#store.wallMs();
    const waiting: Promise<void>[] = [];
    for (const [index, { key }] of entries.entries()) {
      const read = readLocally(this.#store, key);
      if (!(read instanceof Promise)) known[index] = knownOf(read, nowMs);
      else waiting.push(read.then((late) => void (known[index] = knownOf(late, nowMs))));
    }
    if (waiting.length > 0) await Promise.all(waiting);
    return known;
  }
}

/** The first entries in the order of a listing, at most `entriesMax`, of any number that come in any order. */
class Selection {
  readonly #entriesMax: number;
  /** Up to twice as many as are taken, so that they are sorted rarely. */
  readonly #entries: Entry[] = [];
  /** The last of the first entries; further ones come before it. */
  #bound: Entry | undefined;
  #isWhole = true;

  constructor(entriesMax: number) {
    this.#entriesMax = entriesMax;
  }

  add(entry: Entry): void {
    if (this.#bound !== undefined && comparePositions(this.#bound, entry) < 0) return;
    this.#entries.push(entry);
    if (this.#entries.length >= 2 * this.#entriesMax) this.#cut();
  }

  take(): Part {
    this.#cut();
    return { entries: this.#entries, isWhole: this.#isWhole };
  }

  #cut(): void {
    this.#entries.sort(comparePositions);
    if (this.#entries.length <= this.#entriesMax) return;
    this.#entries.length = this.#entriesMax;
    this.#bound = this.#entries.at(-1);
    this.#isWhole = false;
  }
}

/** A page under construction. */
class Page {
  readonly names: ListedName[] = [];
  visited = 0;
  readonly #limits: PageLimits;
  readonly #seen: Set<ByteString> | undefined;
  #bytes = 0;

  constructor(limits: PageLimits, distinct: boolean) {
    this.#limits = limits;
    this.#seen = distinct ? new Set() : undefined;
  }

  get namesMax(): number {
    return this.#limits.namesMax;
  }

  get full(): boolean {
    return this.names.length >= this.#limits.namesMax || this.#bytes >= this.#limits.bytesMax;
  }

  /** Whether enough keys have been visited for one page. */
  get tired(): boolean {
    return this.visited >= this.#limits.visitedMax;
  }

  wants(name: ByteString): boolean {
    return this.#seen?.has(name) !== true;
  }

  add({ name, token }: Entry, known: Known | undefined): void {
    if (!this.wants(name)) return;
    this.#seen?.add(name);
    this.names.push(known === undefined ? { name, token } : { name, token, known });
    this.#bytes += name.length + 8;
  }
}

/** Maps a packed key to its name in the listing; undefined if the listing does not include it. */
function naming(
  { type, bucket, epoch }: Listing,
  isFormer: (key: PackedKey) => boolean,
): (key: PackedKey) => ByteString | undefined {
  if (bucket === undefined) {
    const prefix = String.fromCharCode(type.length) + type;
    return (key) => (key.startsWith(prefix) && !isFormer(key) ? unpackKey(key)?.bucket : undefined);
  }
  const prefix = bucketPrefix(type, bucket, epoch);
  return (key) =>
    key.length > prefix.length && key.startsWith(prefix)
      ? (key.slice(prefix.length) as ByteString)
      : undefined;
}

/**
 * Knowledge of an object; undefined if it is no longer here. Throws the store's error, except that a damaged object
 * counts as existing: other replicas know more of it.
 */
function knownOf({ error, bytes }: LocalRead, nowMs: number): Known | undefined {
  if (error?.code === 'Corrupted') return damaged;
  if (error !== undefined) throw error;
  if (bytes === undefined) return undefined;
  const object = tryDecode(() => decodeObject(bytes));
  if (object === undefined) return damaged;
  const deleted = liveSiblings(object).length === 0 || isExpired(object, nowMs);
  return { counter: highestCounter(object.context), deleted };
}

const damaged: Known = { counter: 0, deleted: false };

function comparePositions(left: Position, right: Position): number {
  return left.distance - right.distance || (left.key < right.key ? -1 : 1);
}

/** The position behind which a request's first entry comes. */
function behindOf({ skip }: ListingRequest): Position | undefined {
  return skip === undefined ? undefined : { distance: 1, key: skip as string as PackedKey };
}

function cursorBehind({ token, key }: Entry): { from: Token; skip: ByteString } {
  return { from: ((token - 1) >>> 0) as Token, skip: key };
}

function tokenAt(from: Token, at: number): Token {
  return ((from + at) % 2 ** 32) as Token;
}
