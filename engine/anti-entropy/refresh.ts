/**
 * Keeps the tree true to the store: marks what writes touch, recomputes dirty segments, and tells the hashes of ranges
 * and the entries of a few keys. A key is read and hashed once per version: the hash is remembered with the key
 * (8 bytes), so that a segment with one new value costs one read and not one for each of its keys.
 *
 * A key whose value cannot be read counts as absent, so an exchange finds it and fetches it from a peer.
 *
 * Where many values are wanted at once (no snapshot to start from, a sweep, a long absence) the store is read from front
 * to back instead, which costs a tenth as much a key. A segment whose keys are listed whole is compared with its leaf: a
 * leaf that is wrong though nothing changed is memory that has rotted, and is counted.
 */
import { LockstepError } from '../base/errors.ts';
import type { PackedKey } from '../base/object-key.ts';
import type { Store } from '../storage/store.ts';
import { EntryHasher } from './entry-hash.ts';
import type { Throttle } from './throttle.ts';
import type { RangeHash, TokenRange, Tree } from './tree.ts';
import { addHashes, nothing, sameHash } from './tree.ts';

/** One key of a range and its hash. */
export interface Entry {
  readonly key: PackedKey;
  readonly token: number;
  readonly hash: RangeHash;
}

interface Unread {
  readonly key: PackedKey;
  readonly token: number;
  readonly seq: number;
}

type Source = Pick<Store, 'fingerprints' | 'get'>;

/** Values read at once. */
const readWindow = 8;
/** The store walks its keys in arcs of this many tokens; a walk of less costs as much. */
const sliceTokens = 2 ** 20;
/** Keys whose hashes are known cost next to nothing, and their segments are taken: so many count as one value read. */
const seenPerRest = 64;
/** From this share of the tree on, one in so many of its segments being dirty, all values are read in one go. */
const bulkShare = 16;
const bulkKeysMin = 64;

/**
 * Dirty segments that are recomputed together, and what they are found to hold. A tree is derived in thousands of slices,
 * one after the other, most of them empty: so there is one, which is used again.
 */
class Slice {
  /** The first and the last of them. */
  first = 0;
  last = 0;
  unread: Unread[] = [];
  /** Keys met on the way, those of other segments included. */
  seen = 0;
  /** By segment, counted from the first. */
  #counts = new Uint32Array(0);
  #highs = new Uint32Array(0);
  #lows = new Uint32Array(0);
  /** 1: of the slice. One that lies between them may not be. */
  #covered = new Uint8Array(0);

  /** Begins anew, for segments from `first` to at most `first + room - 1`. */
  begin(first: number, room: number): void {
    if (this.#covered.length < room) {
      this.#counts = new Uint32Array(room);
      this.#highs = new Uint32Array(room);
      this.#lows = new Uint32Array(room);
      this.#covered = new Uint8Array(room);
    }
    this.first = first;
    this.last = first;
    this.seen = 0;
    if (this.unread.length > 0) this.unread = [];
    this.#covered.fill(0);
  }

  /** Takes the next segment. */
  take(segment: number): void {
    const index = segment - this.first;
    this.#counts[index] = 0;
    this.#highs[index] = 0;
    this.#lows[index] = 0;
    this.#covered[index] = 1;
    this.last = segment;
  }

  covers(segment: number): boolean {
    return this.#covered[segment - this.first] === 1;
  }

  /** Adds a key's hash; nothing when its segment is not of the slice. */
  add(segment: number, high: number, low: number): void {
    if (!this.covers(segment)) return;
    const index = segment - this.first;
    // Typed arrays of unsigned numbers wrap around by themselves.
    this.#highs[index] = (this.#highs[index] ?? 0) + high;
    this.#lows[index] = (this.#lows[index] ?? 0) + low;
    this.#counts[index] = (this.#counts[index] ?? 0) + 1;
  }

  /** Shows what was found of each segment. */
  visit(found: (segment: number, count: number, hash: RangeHash) => void): void {
    for (let segment = this.first; segment <= this.last; segment++) {
      const index = segment - this.first;
      if (this.#covered[index] !== 1) continue;
      const count = this.#counts[index] ?? 0;
      const hash = count === 0 ? nothing : { high: this.#highs[index] ?? 0, low: this.#lows[index] ?? 0 };
      found(segment, count, hash);
    }
  }
}

export class Refresh {
  readonly tree: Tree;
  readonly #store: Source;
  readonly #throttle: Throttle;
  readonly #hasher = new EntryHasher();
  readonly #slice = new Slice();
  #turn: Promise<void> = Promise.resolve();
  /** All values have been read in one go since the start. */
  #rescanned = false;
  #onWrongLeaf: (segment: number) => void = () => undefined;

  constructor(tree: Tree, store: Source, throttle: Throttle) {
    this.tree = tree;
    this.#store = store;
    this.#throttle = throttle;
    store.fingerprints.listen((token) => tree.touch(token));
  }

  /** Calls `found` for every leaf that turns out to be wrong though nothing under it changed. */
  onWrongLeaf(found: (segment: number) => void): void {
    this.#onWrongLeaf = found;
  }

  /**
   * Recomputes what is dirty in these ranges now, slice by slice; writes go on meanwhile and make segments dirty again.
   * Rejects with `StorageFailed` when the store cannot be read: what was not reached stays dirty.
   */
  settle(ranges: readonly TokenRange[]): Promise<void> {
    // One at a time: two recomputations of a segment would not know of each other's reads.
    const turn = this.#turn.then(() => this.#settleAll(ranges));
    this.#turn = turn.catch(() => undefined);
    return turn;
  }

  /** Resolves when no recomputation is under way. */
  async idle(): Promise<void> {
    await this.#turn;
  }

  /**
   * Reads every value from the disk again, which finds what has rotted, and has every segment derived anew by the next
   * `settle`. Rejects with `StorageFailed`.
   */
  reread(): Promise<void> {
    const turn = this.#turn.then(async () => {
      for (let first = 0; first < 2 ** 32; first += sliceTokens) {
        this.#store.fingerprints.forget(first, first + sliceTokens - 1);
      }
      for (let segment = 0; segment < this.tree.segmentCount; segment++) this.tree.doubt(segment);
      await this.#rescan();
    });
    this.#turn = turn.catch(() => undefined);
    return turn;
  }

  /** The hash of a range as the tree knows it; of parts of segments, as the keys' remembered hashes say. */
  hashOf(range: TokenRange): RangeHash {
    return this.tree.sum(range, (part) => this.#hashOfPart(part));
  }

  /** The keys of a range with their hashes, in the order of their keys; those that cannot be read are left out. */
  async entriesOf(range: TokenRange): Promise<readonly Entry[]> {
    const entries: Entry[] = [];
    const unread: Unread[] = [];
    this.#store.fingerprints.visit(range.first, range.last, (token, high, low, seq, key) => {
      if (high === 0 && low === 0) unread.push({ key: key(), token, seq });
      else entries.push({ key: key(), token, hash: { high, low } });
    });
    if (unread.length === 0) this.#verifyLeaf(range, entries);
    for (const { key, token, seq } of unread) {
      const hash = await this.#read(key, seq);
      if (hash !== undefined) entries.push({ key, token, hash });
    }
    return entries.sort((left, right) => (left.key < right.key ? -1 : 1));
  }

  /** All keys of one segment, as they are at this instant, must add up to its leaf. */
  #verifyLeaf({ first, last }: TokenRange, entries: readonly Entry[]): void {
    const { tree } = this;
    const segment = tree.segmentOf(first);
    const whole = tree.rangeOf(segment);
    if (first !== whole.first || last !== whole.last || tree.isDirty(segment)) return;
    const sum = entries.reduce((total, { hash }) => addHashes(total, hash), nothing);
    if (entries.length === tree.countOf(segment) && sameHash(sum, tree.hashOf(segment))) return;
    tree.dirty(segment);
    this.#onWrongLeaf(segment);
  }

  async #settleAll(ranges: readonly TokenRange[]): Promise<void> {
    const { tree } = this;
    if (!this.#rescanned && this.#isMuchDirty(ranges)) await this.#rescan();
    for (const range of ranges) {
      const end = tree.segmentOf(range.last);
      let segment = tree.nextDirty(tree.segmentOf(range.first), end);
      while (segment >= 0) {
        const emptyEnd = this.#emptyFrom(segment, end);
        if (emptyEnd >= segment) {
          tree.settleEmpty(segment, emptyEnd, this.#onWrongLeaf);
          segment = tree.nextDirty(emptyEnd + 1, end);
          continue;
        }
        const slice = this.#takeSlice(segment, end);
        // A tree of empty or known segments is derived on the spot: there are thousands of slices.
        if (slice.seen >= seenPerRest || slice.unread.length > 0) await this.#readSlice(slice);
        this.#settleSlice(slice);
        segment = tree.nextDirty(slice.last + 1, end);
      }
      await this.#readCuts(range);
    }
  }

  #isMuchDirty(ranges: readonly TokenRange[]): boolean {
    if (this.#store.fingerprints.keyCount < bulkKeysMin) return false;
    const dirty = ranges.reduce((sum, range) => sum + this.tree.dirtyCountIn(range), 0);
    return dirty * bulkShare > this.tree.segmentCount;
  }

  async #rescan(): Promise<void> {
    const { fingerprints } = this.#store;
    this.#rescanned = true;
    await fingerprints.rescan(
      (id, bytes, keyAt, valueAt, valueBytes) => {
        const { high, low } = this.#hasher.hashLying(bytes, keyAt, valueAt - keyAt, valueAt + valueBytes);
        fingerprints.rememberHeld(id, high, low);
      },
      (values) => this.#throttle.spend(values),
    );
  }

  /** Reads what is not yet known in the segments that the range cuts: a clean leaf need not know its keys' hashes. */
  async #readCuts({ first, last }: TokenRange): Promise<void> {
    const head = this.tree.rangeOf(this.tree.segmentOf(first));
    const tail = this.tree.rangeOf(this.tree.segmentOf(last));
    if (first !== head.first) await this.entriesOf({ first, last: Math.min(head.last, last) });
    if (last !== tail.last) await this.entriesOf({ first: Math.max(tail.first, first), last });
  }

  /** The last segment, at most `end`, up to which the store has no keys from this one on; the one before it: none such. */
  #emptyFrom(segment: number, end: number): number {
    const { tree } = this;
    const { last } = tree.rangeOf(end);
    const through = this.#store.fingerprints.emptyThrough(tree.rangeOf(segment).first, last);
    return through === last ? end : tree.segmentOf(through + 1) - 1;
  }

  /** Takes the dirty segments of one slice, and adds up what is known of their keys. */
  #takeSlice(first: number, end: number): Slice {
    const { tree } = this;
    const number = Math.floor(tree.rangeOf(first).first / sliceTokens);
    const slice = this.#slice;
    slice.begin(first, Math.max(1, Math.ceil((sliceTokens * tree.segmentCount) / 2 ** 32)));
    for (let segment = first; segment >= 0; segment = tree.nextDirty(segment + 1, end)) {
      if (Math.floor(tree.rangeOf(segment).first / sliceTokens) !== number) break;
      tree.take(segment);
      slice.take(segment);
    }
    const from = tree.rangeOf(first).first;
    const to = tree.rangeOf(slice.last).last;
    this.#store.fingerprints.visit(from, to, (token, high, low, seq, key) => {
      slice.seen += 1;
      if (high !== 0 || low !== 0) slice.add(tree.segmentOf(token), high, low);
      else if (slice.covers(tree.segmentOf(token))) slice.unread.push({ key: key(), token, seq });
    });
    return slice;
  }

  /** Reads what was not known. When the store refuses, the segments are dirty again. */
  async #readSlice(slice: Slice): Promise<void> {
    try {
      if (slice.seen >= seenPerRest) await this.#throttle.spend(Math.floor(slice.seen / seenPerRest));
      for (let at = 0; at < slice.unread.length; at += readWindow) {
        const window = slice.unread.slice(at, at + readWindow);
        await this.#throttle.spend(window.length);
        const hashes = await Promise.all(window.map(({ key, seq }) => this.#read(key, seq)));
        hashes.forEach((hash, index) => {
          const token = window[index]?.token;
          if (hash !== undefined && token !== undefined)
            slice.add(this.tree.segmentOf(token), hash.high, hash.low);
        });
      }
    } catch (error) {
      slice.visit((segment) => this.tree.dirty(segment));
      throw error;
    }
  }

  #settleSlice(slice: Slice): void {
    slice.visit((segment, count, hash) => {
      if (!this.tree.settle(segment, count, hash)) this.#onWrongLeaf(segment);
    });
  }

  /** The hash of a key's value, remembered when it is still the one of `seq`; undefined when it cannot be told. */
  async #read(key: PackedKey, seq: number): Promise<RangeHash | undefined> {
    let value: Uint8Array | undefined;
    try {
      const reading = this.#store.get(key);
      value = reading instanceof Promise ? await reading : reading;
    } catch (error) {
      if (error instanceof LockstepError && error.code === 'Corrupted') return undefined;
      throw error;
    }
    if (value === undefined) return undefined;
    const hash = this.#hasher.hash(key, value);
    this.#store.fingerprints.remember(key, seq, hash.high, hash.low);
    return hash;
  }

  #hashOfPart({ first, last }: TokenRange): RangeHash {
    let high = 0;
    let low = 0;
    this.#store.fingerprints.visit(first, last, (_, keyHigh, keyLow) => {
      high += keyHigh;
      low += keyLow;
    });
    // Sums of 32-bit numbers stay exact below 2^53: up to two million keys in a part of a segment.
    return { high: high % 2 ** 32, low: low % 2 ** 32 };
  }
}
