/**
 * The hash tree over the token space. Each leaf (an arc of the token space) holds the sum of its keys' hashes, each
 * node above it the sum of its children; the fan-out is 16.
 *
 *     level 0          1 node    the root
 *     ...            x16
 *     level n   `segmentCount` leaves, each an arc of 2^32 / segmentCount tokens
 *
 * A hash is two unsigned 32-bit lanes; a node is the lane-wise sum, modulo 2^32, of what lies below it. Unlike an
 * exclusive-or, a sum does not cancel equal entries. It also makes the hash of any token range the sum of its parts,
 * whatever the shape of the tree. Two nodes with trees of different shapes can therefore compare any range.
 *
 * A leaf is in one of four states: `clean`; `dirty` (its sum is invalid); `doubted` (nothing is known to have changed,
 * but it must be derived again, which finds memory errors); or `taken` (being recomputed, after either). Every node
 * above the leaves counts the leaves below it that are not clean, so that counting those of a range needs no walk over
 * all leaves.
 *
 * Left to others: from what a leaf is recomputed (`refresh.ts`).
 */
import { assert, failAssertion } from '../base/assert.ts';
import type { Checks } from '../io/io.ts';

/** A sum of key hashes: two unsigned 32-bit lanes. */
export interface RangeHash {
  readonly high: number;
  readonly low: number;
}

/** Tokens from `first` to `last`, both included; `first` is at most `last`. */
export interface TokenRange {
  readonly first: number;
  readonly last: number;
}

/** All tokens. */
export const wholeRing: TokenRange = { first: 0, last: 0xffffffff };

/** Number of tokens. */
const ringTokens = 0x100000000;
const fanoutBits = 4;
/** Largest number of children of a node. */
export const fanout = 1 << fanoutBits;
/** Fewest bits of a segment number. */
export const segmentBitsMin = 4;
/** Most bits of a segment number. */
export const segmentBitsMax = 20;

const clean = 0;
const dirty = 1;
const taken = 2;
const doubted = 3;
/** Taken after it was doubted: the recomputation is expected to find the same sum. */
const takenDoubted = 4;

interface Level {
  /** The node of a token is `token >>> shift`; 32 stands for the root. */
  readonly shift: number;
  readonly high: Uint32Array;
  readonly low: Uint32Array;
  /** Per node, the leaves below it that are not clean. Empty for the leaf level, which has states. */
  readonly dirty: Uint32Array;
}

/** The tree of one node's keys. */
export class Tree {
  readonly segmentBits: number;
  /** From the root to the leaves. */
  readonly #levels: readonly Level[];
  readonly #leaves: Level;
  /** Keys per leaf. */
  readonly #counts: Uint32Array;
  readonly #states: Uint8Array;
  readonly #inner: readonly Level[];
  readonly #checks: Checks;
  #heldCount = 0;

  /** A tree of 2^`segmentBits` leaves, all dirty, or all clean and empty. `checks`: which assertions run. */
  constructor(segmentBits: number, leaves: 'dirty' | 'clean' = 'dirty', checks: Checks = 'cheap') {
    this.#checks = checks;
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

  /** Segments that are not clean. */
  get dirtyCount(): number {
    return this.#levels[0]?.dirty[0] ?? 0;
  }

  /** Bytes of memory used. */
  get bytes(): number {
    const levels = this.#levels.reduce((sum, level) => sum + levelBytes(level), 0);
    return levels + this.#counts.byteLength + this.#states.byteLength;
  }

  /** The segment of a token. */
  segmentOf(token: number): number {
    return token >>> this.#leaves.shift;
  }

  /** The tokens of a segment. */
  rangeOf(segment: number): TokenRange {
    return nodeRange(this.#leaves.shift, segment);
  }

  /** Whether the segment is not clean. */
  isDirty(segment: number): boolean {
    return this.#states[segment] !== clean;
  }

  /** Marks the token's segment dirty: a key under it has changed. */
  touch(token: number): void {
    this.dirty(token >>> this.#leaves.shift);
  }

  /** Marks a segment dirty. */
  dirty(segment: number): void {
    if (this.#states[segment] === clean) this.#countDirty(segment, 1);
    this.#states[segment] = dirty;
  }

  /** Marks every segment of a range dirty. */
  dirtyRange({ first, last }: TokenRange): void {
    for (let segment = this.segmentOf(first); segment <= this.segmentOf(last); segment++) this.dirty(segment);
  }

  /** Marks a clean segment to be derived again, although nothing is known to have changed. */
  doubt(segment: number): void {
    if (this.#states[segment] !== clean) return;
    this.#countDirty(segment, 1);
    this.#states[segment] = doubted;
  }

  /** Segments of the range that are not clean. */
  dirtyCountIn({ first, last }: TokenRange): number {
    return this.#dirtyWithin(0, 0, first, last);
  }

  /** The first segment from `from` to `to`, both included, that is not clean; -1 if there is none. */
  nextDirty(from: number, to: number): number {
    for (let segment = from; segment <= to;) {
      const skipped = this.#cleanFrom(segment);
      if (skipped === 0) return segment;
      segment += skipped;
    }
    return -1;
  }

  /** Begins the recomputation of a segment; false if it is clean. Later changes make it dirty again. */
  take(segment: number): boolean {
    const state = this.#states[segment];
    if (state === clean) return false;
    this.#states[segment] = state === doubted || state === takenDoubted ? takenDoubted : taken;
    return true;
  }

  /**
   * Stores what the segment was found to hold, and makes it clean unless something changed since `take`. False if the
   * segment was only doubted, nothing changed, and yet it holds something else: this tree's sum was wrong.
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
   * Takes and settles as empty the segments from `first` to `last` that are not clean, in one pass: a starting node has
   * tens of thousands of them. Calls `wrong` for each segment for which `settle` would return false.
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

  /** Keys of a segment. */
  countOf(segment: number): number {
    return this.#counts[segment] ?? 0;
  }

  /** Segments that hold keys. */
  get heldCount(): number {
    return this.#heldCount;
  }

  /** The high lane of a segment's sum. */
  highOf(segment: number): number {
    return this.#leaves.high[segment] ?? 0;
  }

  /** The low lane of a segment's sum. */
  lowOf(segment: number): number {
    return this.#leaves.low[segment] ?? 0;
  }

  /** A segment's sum. */
  hashOf(segment: number): RangeHash {
    return { high: this.#leaves.high[segment] ?? 0, low: this.#leaves.low[segment] ?? 0 };
  }

  /**
   * The sum over a range. Whole nodes come from the tree; for each leaf that the range cuts, `part` returns the sum of
   * the part.
   */
  sum(range: TokenRange, part: (range: TokenRange) => RangeHash): RangeHash {
    return this.#sum(0, 0, range, part);
  }

  #countDirty(segment: number, by: number): void {
    const token = nodeRange(this.#leaves.shift, segment).first;
    for (const { shift, dirty: counts } of this.#inner) {
      const node = nodeAt(shift, token);
      const count = (counts[node] ?? 0) + by;
      if (count < 0 || count > 1 << (shift - this.#leaves.shift))
        failAssertion('a node counts each leaf below it at most once', shift, node, count);
      counts[node] = count;
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

  /** How many segments from this one on are certainly clean; 0 if this one is not. */
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
      // Unsigned typed arrays wrap around by themselves.
      level.high[node] = (level.high[node] ?? 0) + highBy;
      level.low[node] = (level.low[node] ?? 0) + lowBy;
    }
    this.#heldCount += (count > 0 ? 1 : 0) - (this.countOf(segment) > 0 ? 1 : 0);
    this.#counts[segment] = count;
    if (this.#heldCount < 0 || this.#heldCount > this.segmentCount)
      failAssertion('segments that hold keys are segments', this.#heldCount);
    if (this.#checks === 'all') this.#checkPath(token);
  }

  /** Asserts that every node above the token's leaf is the sum of its children. */
  #checkPath(token: number): void {
    for (let depth = 0; depth + 1 < this.#levels.length; depth++) {
      const [level, below] = [this.#levels[depth], this.#levels[depth + 1]];
      assert(level !== undefined && below !== undefined, 'levels below the root');
      const node = nodeAt(level.shift, token);
      const { first, last } = nodeRange(level.shift, node);
      let [high, low] = [0, 0];
      for (let child = nodeAt(below.shift, first); child <= nodeAt(below.shift, last); child++) {
        high = (high + (below.high[child] ?? 0)) >>> 0;
        low = (low + (below.low[child] ?? 0)) >>> 0;
      }
      if (high !== level.high[node] || low !== level.low[node])
        failAssertion('a node is the sum of its children', level.shift, node);
    }
  }
}

/** The sum of no keys. */
export const nothing: RangeHash = { high: 0, low: 0 };

/** The lane-wise sum modulo 2^32. */
export function addHashes(left: RangeHash, right: RangeHash): RangeHash {
  return { high: (left.high + right.high) >>> 0, low: (left.low + right.low) >>> 0 };
}

/** Whether two sums are equal. */
export function sameHash(left: RangeHash, right: RangeHash): boolean {
  return left.high === right.high && left.low === right.low;
}

/** Whether trees of this size do not divide the range further. */
export function isLeafRange({ first, last }: TokenRange, segmentBits: number): boolean {
  return nodeAt(32 - segmentBits, first) === nodeAt(32 - segmentBits, last);
}

/**
 * Divides a range as the tree's next level divides it, into at most `fanout` + 1 parts; a range within one leaf stays
 * whole. Both sides of an exchange divide alike, so that only the parts' hashes are sent.
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

/** The coarsest level of which the range touches more than one node; the leaf level if there is none. */
function dividingShift(range: TokenRange, segmentBits: number): number {
  const leafShift = 32 - segmentBits;
  for (const shift of shiftsOf(segmentBits)) {
    if (nodeAt(shift, range.first) !== nodeAt(shift, range.last)) return shift;
  }
  return leafShift;
}

/** The shifts from the root's (32) to the leaves'. The root has fewer children where the sizes do not divide evenly. */
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
