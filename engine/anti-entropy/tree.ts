/**
 * The hash tree over the token space: a sum of key hashes per leaf (an arc of the token space) and per node above it,
 * with a fixed fan-out of 16.
 *
 *     level 0          1 node    the root
 *     ...            x16
 *     level n   `segmentCount` leaves, each an arc of 2^32 / segmentCount tokens
 *
 * A hash is two unsigned 32-bit lanes; a node is the lane-wise sum, modulo 2^32, of what lies below it. A sum has an
 * inverse only where the same hash is taken away again, so equal entries do not cancel as they would under an
 * exclusive-or; and it makes the hash of any token range the sum of its parts, whatever the shape of the tree that
 * keeps it. So two nodes with trees of different shapes can compare any range.
 *
 * Each leaf is `clean`; `dirty` (its sum holds no more); `doubted` (nothing is known to have changed, and it is to be
 * derived again all the same, which finds memory that has rotted); or `taken` (being recomputed), after either. What it
 * is recomputed from is refresh.ts's business. Every node above the leaves counts the leaves below it that are not
 * clean, so that asking for those of a range costs no walk over all of them.
 */
import { assert } from '../base/assert.ts';

/** Two unsigned 32-bit lanes. */
export interface RangeHash {
  readonly high: number;
  readonly low: number;
}

/** Tokens from `first` to `last`, both included; `first` is at most `last`. */
export interface TokenRange {
  readonly first: number;
  readonly last: number;
}

export const wholeRing: TokenRange = { first: 0, last: 0xffffffff };

/** Tokens that there are. */
const ringTokens = 0x100000000;
const fanoutBits = 4;
/** Children of a node, at most. */
export const fanout = 1 << fanoutBits;
export const segmentBitsMin = 4;
export const segmentBitsMax = 20;

const clean = 0;
const dirty = 1;
const taken = 2;
const doubted = 3;
/** Taken while it was doubted: its sum is expected to be found again. */
const takenDoubted = 4;

interface Level {
  /** The node of a token is `token >>> shift`; 32 stands for the root. */
  readonly shift: number;
  readonly high: Uint32Array;
  readonly low: Uint32Array;
  /** Leaves below each node that are not clean; none for the leaves themselves, which have states. */
  readonly dirty: Uint32Array;
}

export class Tree {
  readonly segmentBits: number;
  /** From the root to the leaves. */
  readonly #levels: readonly Level[];
  readonly #leaves: Level;
  /** Keys per leaf. */
  readonly #counts: Uint32Array;
  readonly #states: Uint8Array;
  readonly #inner: readonly Level[];
  #heldCount = 0;

  /** A tree of 2^`segmentBits` leaves, all dirty; or all clean and empty. */
  constructor(segmentBits: number, leaves: 'dirty' | 'clean' = 'dirty') {
    assert(segmentBits >= segmentBitsMin && segmentBits <= segmentBitsMax, 'a tree of a reasonable size');
    this.segmentBits = segmentBits;
    this.#levels = levelsOf(segmentBits);
    this.#leaves = mustLast(this.#levels);
    this.#counts = new Uint32Array(1 << segmentBits);
    this.#states = new Uint8Array(1 << segmentBits).fill(leaves === 'dirty' ? dirty : clean);
    this.#inner = this.#levels.slice(0, -1);
    if (leaves === 'clean') return;
    for (const level of this.#inner) level.dirty.fill(1 << (level.shift - this.#leaves.shift));
  }

  get segmentCount(): number {
    return this.#counts.length;
  }

  /** Segments whose sums do not hold now. */
  get dirtyCount(): number {
    return this.#levels[0]?.dirty[0] ?? 0;
  }

  /** Bytes of memory taken. */
  get bytes(): number {
    const levels = this.#levels.reduce((sum, level) => sum + levelBytes(level), 0);
    return levels + this.#counts.byteLength + this.#states.byteLength;
  }

  segmentOf(token: number): number {
    return token >>> this.#leaves.shift;
  }

  rangeOf(segment: number): TokenRange {
    return nodeRange(this.#leaves.shift, segment);
  }

  isDirty(segment: number): boolean {
    return this.#states[segment] !== clean;
  }

  /** Something under this token has changed. */
  touch(token: number): void {
    this.dirty(token >>> this.#leaves.shift);
  }

  dirty(segment: number): void {
    if (this.#states[segment] === clean) this.#countDirty(segment, 1);
    this.#states[segment] = dirty;
  }

  dirtyRange({ first, last }: TokenRange): void {
    for (let segment = this.segmentOf(first); segment <= this.segmentOf(last); segment++) this.dirty(segment);
  }

  /** The segment is to be derived again, though nothing is known to have changed. */
  doubt(segment: number): void {
    if (this.#states[segment] !== clean) return;
    this.#countDirty(segment, 1);
    this.#states[segment] = doubted;
  }

  /** Segments of the range whose sums do not hold now. */
  dirtyCountIn({ first, last }: TokenRange): number {
    return this.#dirtyWithin(0, 0, first, last);
  }

  /** The first segment from `from` up to and including `to` that is not clean; -1: there is none. */
  nextDirty(from: number, to: number): number {
    for (let segment = from; segment <= to;) {
      const skipped = this.#cleanFrom(segment);
      if (skipped === 0) return segment;
      segment += skipped;
    }
    return -1;
  }

  /** A recomputation of the segment begins; false: it is clean. Changes from here on make it dirty again. */
  take(segment: number): boolean {
    const state = this.#states[segment];
    if (state === clean) return false;
    this.#states[segment] = state === doubted || state === takenDoubted ? takenDoubted : taken;
    return true;
  }

  /**
   * What the segment was found to hold; it is clean unless something changed since it was taken. False: it was only
   * doubted, nothing changed, and yet it holds something else: what this tree knew of it was wrong.
   */
  settle(segment: number, count: number, hash: RangeHash): boolean {
    const state = this.#states[segment];
    const isAsKnown = count === this.countOf(segment) && sameHash(hash, this.hashOf(segment));
    if (!isAsKnown) this.#replace(segment, count, hash);
    if (state !== taken && state !== takenDoubted) return true;
    this.#countDirty(segment, -1);
    this.#states[segment] = clean;
    return state === taken || isAsKnown;
  }

  /**
   * Takes the segments `first` to `last` that are not clean and settles them as empty: in one pass, since a node that
   * begins has tens of thousands of them. `wrong` is called for each of which `settle` would say false.
   */
  settleEmpty(first: number, last: number, wrong: (segment: number) => void): void {
    const { high, low } = this.#leaves;
    let cleaned = 0;
    for (let segment = first; segment <= last; segment++) {
      if (this.#states[segment] !== clean) {
        if (this.#counts[segment] !== 0 || high[segment] !== 0 || low[segment] !== 0) {
          this.take(segment);
          if (!this.settle(segment, 0, nothing)) wrong(segment);
        } else {
          this.#states[segment] = clean;
          cleaned += 1;
        }
      }
      // Leaves of one parent are counted together.
      if (segment === last || (segment + 1) % fanout === 0) {
        if (cleaned > 0) this.#countDirty(segment, -cleaned);
        cleaned = 0;
      }
    }
  }

  countOf(segment: number): number {
    return this.#counts[segment] ?? 0;
  }

  /** Segments that hold keys. */
  get heldCount(): number {
    return this.#heldCount;
  }

  highOf(segment: number): number {
    return this.#leaves.high[segment] ?? 0;
  }

  lowOf(segment: number): number {
    return this.#leaves.low[segment] ?? 0;
  }

  hashOf(segment: number): RangeHash {
    return { high: this.#leaves.high[segment] ?? 0, low: this.#leaves.low[segment] ?? 0 };
  }

  /**
   * The sum over a range. Whole nodes come from the tree; of the leaves that the range cuts, `part` tells the sum of
   * a part.
   */
  sum(range: TokenRange, part: (range: TokenRange) => RangeHash): RangeHash {
    return this.#sum(0, 0, range, part);
  }

  #countDirty(segment: number, by: number): void {
    const token = nodeRange(this.#leaves.shift, segment).first;
    for (const { shift, dirty: counts } of this.#inner) {
      const node = nodeAt(shift, token);
      counts[node] = (counts[node] ?? 0) + by;
    }
  }

  #dirtyWithin(depth: number, node: number, first: number, last: number): number {
    const level = this.#inner[depth];
    if (level === undefined) return this.#states[node] === clean ? 0 : 1;
    const count = level.dirty[node] ?? 0;
    if (count === 0) return 0;
    const own = nodeRange(level.shift, node);
    if (first <= own.first && own.last <= last) return count;
    const below = this.#levels[depth + 1];
    assert(below !== undefined, 'leaves below');
    const to = nodeAt(below.shift, Math.min(last, own.last));
    let total = 0;
    for (let child = nodeAt(below.shift, Math.max(first, own.first)); child <= to; child++) {
      total += this.#dirtyWithin(depth + 1, child, first, last);
    }
    return total;
  }

  /** Segments from this one on that are clean for certain; 0: this one is not. */
  #cleanFrom(segment: number): number {
    const leafShift = this.#leaves.shift;
    const token = nodeRange(leafShift, segment).first;
    for (const { shift, dirty: counts } of this.#inner) {
      const node = nodeAt(shift, token);
      if ((counts[node] ?? 0) > 0) continue;
      return nodeAt(leafShift, nodeRange(shift, node).last) + 1 - segment;
    }
    return this.#states[segment] === clean ? 1 : 0;
  }

  #sum(depth: number, node: number, wanted: TokenRange, part: (range: TokenRange) => RangeHash): RangeHash {
    const level = this.#levels[depth];
    assert(level !== undefined, 'a level of the tree');
    const own = nodeRange(level.shift, node);
    const first = Math.max(own.first, wanted.first);
    const last = Math.min(own.last, wanted.last);
    if (first > last) return nothing;
    if (first === own.first && last === own.last)
      return { high: level.high[node] ?? 0, low: level.low[node] ?? 0 };
    const below = this.#levels[depth + 1];
    if (below === undefined) return part({ first, last });
    let total = nothing;
    for (let child = nodeAt(below.shift, first); child <= nodeAt(below.shift, last); child++) {
      total = addHashes(total, this.#sum(depth + 1, child, wanted, part));
    }
    return total;
  }

  #replace(segment: number, count: number, { high, low }: RangeHash): void {
    const { shift } = this.#leaves;
    const token = nodeRange(shift, segment).first;
    const highBy = high - (this.#leaves.high[segment] ?? 0);
    const lowBy = low - (this.#leaves.low[segment] ?? 0);
    for (const level of this.#levels) {
      const node = nodeAt(level.shift, token);
      // Typed arrays of unsigned numbers wrap around by themselves.
      level.high[node] = (level.high[node] ?? 0) + highBy;
      level.low[node] = (level.low[node] ?? 0) + lowBy;
    }
    this.#heldCount += (count > 0 ? 1 : 0) - (this.countOf(segment) > 0 ? 1 : 0);
    this.#counts[segment] = count;
  }
}

export const nothing: RangeHash = { high: 0, low: 0 };

export function addHashes(left: RangeHash, right: RangeHash): RangeHash {
  return { high: (left.high + right.high) >>> 0, low: (left.low + right.low) >>> 0 };
}

export function sameHash(left: RangeHash, right: RangeHash): boolean {
  return left.high === right.high && left.low === right.low;
}

/** The range is one that trees of this size do not divide further. */
export function isLeafRange({ first, last }: TokenRange, segmentBits: number): boolean {
  return nodeAt(32 - segmentBits, first) === nodeAt(32 - segmentBits, last);
}

/**
 * Divides a range where the tree's next level divides it, in at most `fanout` + 1 parts; a range within one leaf stays
 * whole. Both sides of an exchange divide alike, so only the parts' hashes need to travel.
 */
export function divide(range: TokenRange, segmentBits: number): readonly TokenRange[] {
  const shift = dividingShift(range, segmentBits);
  const parts: TokenRange[] = [];
  for (let node = nodeAt(shift, range.first); node <= nodeAt(shift, range.last); node++) {
    const { first, last } = nodeRange(shift, node);
    parts.push({ first: Math.max(first, range.first), last: Math.min(last, range.last) });
  }
  return parts;
}

/** The coarsest level of the tree of which the range touches more than one node, or the leaves. */
function dividingShift(range: TokenRange, segmentBits: number): number {
  const leafShift = 32 - segmentBits;
  for (const shift of shiftsOf(segmentBits)) {
    if (nodeAt(shift, range.first) !== nodeAt(shift, range.last)) return shift;
  }
  return leafShift;
}

/** From the root's (32) to the leaves': the root has fewer children where the sizes do not work out. */
function shiftsOf(segmentBits: number): readonly number[] {
  const shifts: number[] = [];
  for (let shift = 32 - segmentBits; shift < 32; shift += fanoutBits) shifts.unshift(shift);
  return [32, ...shifts];
}

function levelsOf(segmentBits: number): readonly Level[] {
  return shiftsOf(segmentBits).map((shift) => {
    const nodes = 1 << (32 - shift);
    const dirtyNodes = shift === 32 - segmentBits ? 0 : nodes;
    return {
      shift,
      high: new Uint32Array(nodes),
      low: new Uint32Array(nodes),
      dirty: new Uint32Array(dirtyNodes),
    };
  });
}

function levelBytes({ high, low, dirty: counts }: Level): number {
  return high.byteLength + low.byteLength + counts.byteLength;
}

function nodeAt(shift: number, token: number): number {
  return shift === 32 ? 0 : token >>> shift;
}

function nodeRange(shift: number, node: number): TokenRange {
  const width = shift === 32 ? ringTokens : (1 << shift) >>> 0;
  return { first: node * width, last: node * width + width - 1 };
}

function mustLast(levels: readonly Level[]): Level {
  const last = levels.at(-1);
  assert(last !== undefined, 'a tree has levels');
  return last;
}
