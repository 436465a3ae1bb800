/**
 * Keeps the hash tree consistent with the store: marks the segments that writes touch, recomputes dirty segments, and
 * returns range hashes and the entries of a few keys. Each version of a key is read and hashed once. Its hash stays
 * with the key (8 bytes), so that a segment with one new value costs one read, not one for each of its keys.
 *
 * A key whose value cannot be read counts as absent, so that an exchange finds it and fetches it from a peer.
 *
 * If many values are needed at once (no snapshot at a start, a sweep, a long absence), the store is read from front to
 * back, at a tenth of the cost per key. When all keys of a segment are listed, the sum of their hashes is compared with the leaf. A
 * leaf that is wrong although nothing changed is a memory error, and is counted.
 */
import { LockstepError } from '../base/errors.ts';
import type { PackedKey } from '../base/object-key.ts';
import { sortInParts } from '../base/sort-in-parts.ts';
import type { FingerprintVisitor } from '../storage/index/fingerprints.ts';
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

type Source = Pick<Store, 'fingerprints' | 'get' | 'getDoubted' | 'hasNewest' | 'keepsDoubt'>;

/** Values read at once. */
const readWindow = 8;
/** The store walks its keys in arcs of this many tokens; walking a smaller range costs as much. */
const sliceTokens = 2 ** 20;
/** A key with a known hash costs almost nothing: the throttle counts this many as one value read. */
const seenPerRest = 64;
/** If more than one in this many segments of the tree is dirty, all values are read in one pass. */
const bulkShare = 16;
const bulkKeysMin = 64;
/** A recomputation goes past so many values that the disk refuses to read. */
const refusedMax = 64;
/**
 * All keys of a bucket may have the same token, and so lie in one segment: the keys of a larger segment than this are
 * listed in several turns of the event loop.
 */
const listedPerTurn = 10_000;
/** The fingerprints of about so many keys are forgotten in one turn of the event loop. */
const forgottenPerTurn = 50_000;

/**
 * Dirty segments that are recomputed together, and the sums found for them. A tree is recomputed in thousands of
 * slices, one after the other and mostly empty, so one slice object is reused for all.
 */
class Slice {
  /** The first and the last segment. */
  first = 0;
  last = 0;
  unread: Unread[] = [];
  /** Keys visited, including those of other segments. */
  seen = 0;
  /** By segment, relative to the first. */
  #counts = new Uint32Array(0);
  #highs = new Uint32Array(0);
  #lows = new Uint32Array(0);
  /** 1 if the slice covers the segment. Segments between the first and the last may not be covered. */
  #covered = new Uint8Array(0);

  /** Resets the slice for segments from `first` to at most `first + room - 1`. */
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

  /** Covers the next segment. */
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

  /** Adds a key's hash; does nothing if the slice does not cover its segment. */
  add(segment: number, high: number, low: number): void {
    if (!this.covers(segment)) return;
    const index = segment - this.first;
    // Unsigned typed arrays wrap around by themselves.
    this.#highs[index] = (this.#highs[index] ?? 0) + high;
    this.#lows[index] = (this.#lows[index] ?? 0) + low;
    this.#counts[index] = (this.#counts[index] ?? 0) + 1;
  }

  /** Calls `found` with the sum of each covered segment. */
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

const noKey = (): boolean => false;

/** The tree of one node and its recomputation. */
export class Refresh {
  readonly tree: Tree;
  readonly isFormer: (key: PackedKey) => boolean;
  readonly #store: Source;
  readonly #throttle: Throttle;
  readonly #hasher = new EntryHasher();
  readonly #slice = new Slice();
  #turn: Promise<void> = Promise.resolve();
  /** All values have been read in one pass since the start. */
  #rescanned = false;
  /** Values that the disk has refused in this recomputation, and the first error. */
  #refused: { count: number; first: LockstepError | undefined } = { count: 0, first: undefined };
  #onWrongLeaf: (segment: number) => void = () => undefined;

  /** `isFormer`: whether the key's bucket was flushed since, so that its object is gone. */
  constructor(tree: Tree, store: Source, throttle: Throttle, isFormer: (key: PackedKey) => boolean = noKey) {
    this.isFormer = isFormer;
    this.tree = tree;
    this.#store = store;
    this.#throttle = throttle;
    store.fingerprints.listen((token) => tree.touch(token));
  }

  /** Calls `found` for every leaf that is wrong although nothing under it changed. */
  onWrongLeaf(found: (segment: number) => void): void {
    this.#onWrongLeaf = found;
  }

  /**
   * Recomputes the dirty segments of these ranges, slice by slice; concurrent writes may make segments dirty again.
   * Rejects with `StorageFailed` if the disk refuses to read some values: their segments stay dirty, and those that were
   * not reached because it refuses many. Rejects with `ShuttingDown` once the throttle has stopped.
   */
  settle(ranges: readonly TokenRange[]): Promise<void> {
    // One recomputation at a time: two of the same segment would not know of each other's reads.
    const turn = this.#turn.then(() => this.#settleAll(ranges));
    this.#turn = turn.catch(() => undefined);
    return turn;
  }

  /** The parts of the ranges whose segments are clean, in order. */
  cleanParts(ranges: readonly TokenRange[]): readonly TokenRange[] {
    const { tree } = this;
    const parts: TokenRange[] = [];
    for (const { first, last } of ranges) {
      const end = tree.segmentOf(last);
      let from = first;
      let dirty = tree.nextDirty(tree.segmentOf(first), end);
      for (; dirty >= 0; dirty = tree.nextDirty(dirty + 1, end)) {
        const own = tree.rangeOf(dirty);
        if (own.first > from) parts.push({ first: from, last: own.first - 1 });
        from = own.last + 1;
      }
      if (from <= last) parts.push({ first: from, last });
    }
    return parts;
  }

  /** Resolves when no recomputation is under way. */
  async idle(): Promise<void> {
    await this.#turn;
  }

  /**
   * Reads every value from the disk again, which finds bit rot, and marks every segment to be derived anew by the next
   * `settle`, which also reads what the disk refused here. Rejects with `ShuttingDown` once the throttle has stopped.
   */
  reread(): Promise<void> {
    const turn = this.#turn.then(async () => {
      const { fingerprints } = this.#store;
      let forgotten = 0;
      for (let first = 0; first < 2 ** 32; first += sliceTokens) {
        forgotten += fingerprints.forget(first, first + sliceTokens - 1);
        if (forgotten < forgottenPerTurn) continue;
        await this.#throttle.pause();
        forgotten = 0;
      }
      for (let segment = 0; segment < this.tree.segmentCount; segment++) this.tree.doubt(segment);
      await this.#rescan();
    });
    this.#turn = turn.catch(() => undefined);
    return turn;
  }

  /** The hash of a range: from the tree, and for parts of segments from the hashes stored with the keys. */
  hashOf(range: TokenRange): RangeHash {
    return this.tree.sum(range, (part) => this.#hashOfPart(part));
  }

  /**
   * The keys of a range with their hashes, sorted by key. Keys whose values cannot be read are left out, and so are those
   * that were flushed: the hashes of ranges count them until they are removed, so two nodes may compare such a range in
   * vain.
   */
  async entriesOf(range: TokenRange): Promise<readonly Entry[]> {
    const { fingerprints } = this.#store;
    const { first, last } = range;
    const pause = (): Promise<void> => this.#throttle.pause();
    const entries: Entry[] = [];
    const unread: Unread[] = [];
    const take: FingerprintVisitor = (token, high, low, seq, key) => {
      if (high === 0 && low === 0) unread.push({ key: key(), token, seq });
      else entries.push({ key: key(), token, hash: { high, low } });
    };
    if (this.tree.countOf(this.tree.segmentOf(first)) > listedPerTurn) {
      // Its leaf is not verified: the keys are not those of one instant.
      await fingerprints.visitInParts(first, last, take, listedPerTurn, pause);
    } else {
      fingerprints.visit(first, last, take);
      if (unread.length === 0) this.#verifyLeaf(range, entries);
    }
    for (const { key, token, seq } of unread) {
      const hash = await this.#read(key, seq);
      if (hash !== undefined) entries.push({ key, token, hash });
    }
    const present = entries.filter(({ key }) => !this.isFormer(key));
    return sortInParts(present, byKey, listedPerTurn, pause);
  }

  /** Checks that the keys of one whole segment, as they are at this instant, add up to its leaf. */
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
    this.#refused = { count: 0, first: undefined };
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
        // Slices of empty or known segments are derived without waiting: there are thousands of them.
        if (slice.seen >= seenPerRest || slice.unread.length > 0) await this.#readSlice(slice);
        this.#settleSlice(slice);
        segment = tree.nextDirty(slice.last + 1, end);
      }
      await this.#readCuts(range);
    }
    if (this.#refused.first !== undefined) throw this.#refused.first;
  }

  /** The disk refuses a value of the segment, which stays dirty. Throws `error` if the disk refuses many. */
  #refuse(segment: number, error: LockstepError): void {
    this.tree.dirty(segment);
    this.#refused.first ??= error;
    this.#refused.count += 1;
    if (this.#refused.count > refusedMax) throw error;
  }

  #isMuchDirty(ranges: readonly TokenRange[]): boolean {
    if (this.#store.fingerprints.keyCount < bulkKeysMin) return false;
    const dirty = ranges.reduce((sum, range) => sum + this.tree.dirtyCountIn(range), 0);
    return dirty * bulkShare > this.tree.segmentCount;
  }

  async #rescan(): Promise<void> {
    const { fingerprints } = this.#store;
    this.#rescanned = true;
    const rescanned = fingerprints.rescan(
      (id, bytes, keyAt, valueAt, valueBytes) => {
        const { high, low } = this.#hasher.hashLying(bytes, keyAt, valueAt - keyAt, valueAt + valueBytes);
        fingerprints.rememberHeld(id, high, low);
      },
      (values) => this.#throttle.spend(values),
    );
    // Values in a place that the disk refuses to read are read one by one, if there are any.
    await unlessRefused(rescanned);
  }

  /** Reads unknown hashes in the segments that the range cuts: a clean leaf may lack the hashes of its keys. */
  async #readCuts({ first, last }: TokenRange): Promise<void> {
    const head = this.tree.rangeOf(this.tree.segmentOf(first));
    const tail = this.tree.rangeOf(this.tree.segmentOf(last));
    if (first !== head.first) await this.#readCut({ first, last: Math.min(head.last, last) });
    if (last !== tail.last) await this.#readCut({ first: Math.max(tail.first, first), last });
  }

  async #readCut(part: TokenRange): Promise<void> {
    const refusal = await unlessRefused(this.entriesOf(part));
    if (refusal instanceof LockstepError) this.#refuse(this.tree.segmentOf(part.first), refusal);
  }

  /**
   * The last segment, at most `end`, up to which the store has no keys from `segment` on; `segment - 1` if there is
   * none.
   */
  #emptyFrom(segment: number, end: number): number {
    const { tree } = this;
    const { last } = tree.rangeOf(end);
    const through = this.#store.fingerprints.emptyThrough(tree.rangeOf(segment).first, last);
    return through === last ? end : tree.segmentOf(through + 1) - 1;
  }

  /** Takes the dirty segments of one slice and adds up the known hashes of their keys. */
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

  /**
   * Reads the values with unknown hashes. The segments of those that the disk refuses are dirty again; if the
   * recomputation ends here, all segments of the slice are.
   */
  async #readSlice(slice: Slice): Promise<void> {
    try {
      if (slice.seen >= seenPerRest) await this.#throttle.spend(Math.floor(slice.seen / seenPerRest));
      for (let at = 0; at < slice.unread.length; at += readWindow) {
        const window = slice.unread.slice(at, at + readWindow);
        await this.#throttle.spend(window.length);
        const hashes = await Promise.all(window.map(({ key, seq }) => unlessRefused(this.#read(key, seq))));
        hashes.forEach((hash, index) => {
          const segment = this.tree.segmentOf(window[index]?.token ?? 0);
          if (hash instanceof LockstepError) this.#refuse(segment, hash);
          else if (hash !== undefined) slice.add(segment, hash.high, hash.low);
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

  /**
   * Reads and hashes a key's value. The hash is stored with the key if its newest record is still `seq`. Undefined if
   * the value is absent or unreadable. A value that may lack something counts as it is on the disk.
   */
  async #read(key: PackedKey, seq: number): Promise<RangeHash | undefined> {
    let value: Uint8Array | undefined;
    try {
      const isKept = this.#store.keepsDoubt(key) && this.#store.hasNewest(key);
      const reading = isKept ? this.#store.getDoubted(key) : this.#store.get(key);
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
    // Sums of 32-bit numbers stay exact below 2^53, for up to two million keys in a part of a segment.
    return { high: high % 2 ** 32, low: low % 2 ** 32 };
  }
}

function byKey(left: Entry, right: Entry): number {
  return left.key < right.key ? -1 : 1;
}

/** The result, or the error if the disk refuses to read. */
async function unlessRefused<T>(reading: Promise<T>): Promise<T | LockstepError> {
  try {
    return await reading;
  } catch (error) {
    if (error instanceof LockstepError && error.code === 'StorageFailed') return error;
    throw error;
  }
}
