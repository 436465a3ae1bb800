/**
 * A file as two images: what the running system sees, and what is certainly on the disk. Between them stand the ranges
 * that were written and not yet synced. A sync copies the ranges that it covers, so it costs what it covers. A crash
 * decides sector by sector which unsynced bytes are found afterwards.
 *
 * Bytes past an image's length are always zeros.
 *
 * Mostly a write becomes durable before the next one, and both images are equal. They then share one buffer, with a
 * copy of what the last write overwrote, and separate when anything else makes them differ.
 */
import type { Random } from '../../../engine/io/random.ts';

/** Bytes of a sector: a crash keeps or drops whole sectors. */
export const sectorBytes = 512;

/** What a crash leaves of what was never synced. Each choice is drawn from the host's own stream. */
export type Survival =
  /** The process died, the system survived: everything written is there. */
  | 'keepAll'
  /** Nothing unsynced is there. */
  | 'dropAll'
  /** A separate draw for each sector and each name. */
  | 'subset'
  /** For each file, in the order of writing, up to a drawn sector. */
  | 'prefix'
  /** As `prefix`, and the next sector is found in part. */
  | 'torn'
  /** `lost-directory-entries`: all bytes written are there, and every name is as its directory's last sync left it. */
  | 'namesLost';

/** What a sync under way covers: ranges as (from, to) pairs in the order of writing, and the length. */
export interface Covered {
  ranges: readonly number[];
  length: number;
}

/** What a crash did to the unsynced sectors of a file. */
export interface SectorCounts {
  kept: number;
  dropped: number;
  torn: number;
}

/** The durable bytes that a write overwrote; past them are zeros. */
interface Overwritten {
  readonly from: number;
  readonly to: number;
  readonly bytes: Uint8Array;
}

/** One file of a disk. */
export class FileImage {
  readonly id: number;
  #content = Buffer.alloc(0);
  #length = 0;
  /** Undefined while the durable image is the content with `#overwritten` put back. */
  #parted: Buffer<ArrayBuffer> | undefined;
  #durableLength = 0;
  #overwritten: Overwritten | undefined;
  /** Ranges written since the last sync began, as (from, to) pairs. */
  #dirty: number[] = [];
  readonly #syncing = new Set<Covered>();
  /** Bytes that are not as they were written, as (from, to) pairs. */
  #altered: number[] = [];

  constructor(id: number) {
    this.id = id;
  }

  /** Length in bytes, as the running system sees it. */
  get length(): number {
    return this.#length;
  }

  /** The bytes that every crash leaves. A view that must not be kept. */
  get durable(): Buffer {
    const whole = this.#overwritten === undefined ? (this.#parted ?? this.#content) : this.#part();
    return whole.subarray(0, this.#durableLength);
  }

  /** A view of what was written. */
  view(from: number, to: number): Buffer {
    return this.#content.subarray(from, to);
  }

  /** Copies bytes from `offset` into `into`, at most `bytesMax`; returns how many. */
  read(into: Uint8Array, offset: number, bytesMax: number): number {
    const count = Math.max(0, Math.min(into.length, bytesMax, this.#length - offset));
    if (count > 0) into.set(this.#content.subarray(offset, offset + count));
    return count;
  }

  /** Writes the first `count` bytes of `chunks` at `offset`. */
  write(chunks: readonly Uint8Array[], offset: number, count: number): void {
    const end = offset + count;
    if (end > this.#content.length) this.#content = grown(this.#content, this.#length, end);
    this.#putAside(offset, end);
    let at = offset;
    for (const chunk of chunks) {
      const bytes = at + chunk.length <= end ? chunk : chunk.subarray(0, end - at);
      this.#content.set(bytes, at);
      at += bytes.length;
      if (at === end) break;
    }
    if (end > this.#length) this.#length = end;
    this.#noteDirty(offset, end);
    if (this.#altered.length > 0) this.#altered = withoutRange(this.#altered, offset, end);
  }

  truncate(length: number): void {
    this.#part();
    if (length < this.#length) {
      this.#content.fill(0, length, this.#length);
      // If the file grows again, zeros must be found here, not the old bytes.
      this.#noteDirty(length, this.#length);
    } else if (length > this.#content.length) {
      this.#content = grown(this.#content, this.#length, length);
    }
    this.#length = length;
  }

  /** A sync begins: it covers everything that was written before. */
  beginSync(): Covered {
    const covered = { ranges: this.#dirty, length: this.#length };
    this.#dirty = [];
    this.#syncing.add(covered);
    return covered;
  }

  /**
   * The sync succeeds. Returns how many bytes it made durable: everything that was written before it began, also what
   * an earlier sync covers that is still under way, since a system waits for writes that it has begun.
   */
  finishSync(covered: Covered): number {
    const length = Math.min(covered.length, this.#length);
    for (const earlier of this.#syncing) {
      if (earlier === covered) break;
      covered.ranges = [...earlier.ranges, ...covered.ranges];
      earlier.ranges = [];
      // The length that it knows is an older one.
      earlier.length = length;
    }
    this.#syncing.delete(covered);
    const { ranges } = covered;
    let bytes = 0;
    for (let index = 0; index + 1 < ranges.length; index += 2)
      bytes += this.#makeDurable(ranges[index] ?? 0, Math.min(ranges[index + 1] ?? 0, length));
    this.#setDurableLength(length);
    return bytes;
  }

  /** A durable write succeeds: these bytes become durable and nothing else. Returns how many. */
  syncRange(from: number, until: number): number {
    const to = Math.min(until, this.#length);
    this.#clean(from, until);
    const bytes = this.#makeDurable(from, to);
    if (to > this.#durableLength && bytes > 0) this.#setDurableLength(to);
    // A sync under way began before this and must not cut it off.
    for (const covered of this.#syncing) covered.length = Math.max(covered.length, to);
    return bytes;
  }

  /** A durable write fails or lies: the system regards its bytes as clean, but they never reach the disk. */
  dropRange(from: number, to: number): void {
    this.#part();
    this.#clean(from, to);
  }

  /** A sync fails or lies: the system regards what it covered as clean, but it never reaches the disk. */
  dropSync(covered: Covered): void {
    this.#part();
    this.#syncing.delete(covered);
  }

  /** The process that waited for syncs is dead; what they covered is still to be synced. */
  abandonSyncs(): void {
    this.#dirty = this.#unsynced();
    this.#syncing.clear();
  }

  /** `bit-rot`: flips a bit in both images; false if there is no such byte. */
  rot(offset: number, bit: number): boolean {
    if (offset >= this.#length) return false;
    const durable = this.#part();
    this.#content[offset] = (this.#content[offset] ?? 0) ^ (1 << bit);
    if (offset < this.#durableLength) durable[offset] = (durable[offset] ?? 0) ^ (1 << bit);
    this.noteAltered(offset, offset + 1);
    return true;
  }

  /** Notes that a range does not hold what its writer believes, until it is written again. */
  noteAltered(from: number, to: number): void {
    this.#altered.push(from, to);
  }

  /** The parts of a range that are not as they were written, as (from, to) pairs; mostly none. */
  alteredIn(from: number, to: number): readonly number[] {
    const found: number[] = [];
    for (let index = 0; index + 1 < this.#altered.length; index += 2) {
      const start = Math.max(from, this.#altered[index] ?? 0);
      const end = Math.min(to, this.#altered[index + 1] ?? 0);
      if (start < end) found.push(start, end);
    }
    return found;
  }

  /** Another file with the same bytes, all of them durable. */
  copy(id: number): FileImage {
    const copy = new FileImage(id);
    copy.write([this.#content.subarray(0, this.#length)], 0, this.#length);
    copy.finishSync(copy.beginSync());
    copy.#altered = [...this.#altered];
    return copy;
  }

  /** The machine loses its power: what is found afterwards is all there is, and durable. */
  losePower(survival: Survival, random: Random): SectorCounts {
    const counts = { kept: 0, dropped: 0, torn: 0 };
    const ranges = this.#unsynced();
    let place = 0;
    const keptPlaces =
      survival === 'prefix' || survival === 'torn' ? random.below(countSectors(ranges) + 1) : 0;
    let keptEnd = this.#durableLength;
    eachSector(ranges, (from, to) => {
      const fate = sectorFate(survival, place++, keptPlaces, random);
      counts[fate] += 1;
      const end = fate === 'kept' ? to : fate === 'torn' ? from + random.below(to - from) : from;
      if (end > from) keptEnd = Math.max(keptEnd, from + this.#makeDurable(from, end));
    });
    this.#setDurableLength(this.#drawLength(survival, keptEnd, random));
    const isOne = this.#parted === undefined && this.#overwritten === undefined;
    // Sectors may have been kept past the final length.
    if (!isOne) this.#content = this.#part().fill(0, this.#durableLength);
    this.#parted = undefined;
    this.#length = this.#durableLength;
    this.#dirty = [];
    this.#syncing.clear();
    return counts;
  }

  /** The length found after a crash: a growth may be there without its bytes, a truncation may be undone. */
  #drawLength(survival: Survival, keptEnd: number, random: Random): number {
    if (survival === 'dropAll') return this.#durableLength;
    if (survival === 'namesLost') return this.#length;
    if (this.#length <= this.#durableLength) {
      return random.chance(1, 2) ? this.#length : this.#durableLength;
    }
    const grownEnd = Math.min(keptEnd, this.#length);
    if (survival === 'prefix') return grownEnd;
    const anyEnd = grownEnd + random.below(this.#length - grownEnd + 1);
    const ends = [grownEnd, anyEnd, this.#length] as const;
    return ends[random.below(ends.length)] ?? grownEnd;
  }

  #unsynced(): number[] {
    return [...[...this.#syncing].flatMap(({ ranges }) => ranges), ...this.#dirty];
  }

  #clean(from: number, to: number): void {
    const dirty = this.#dirty;
    if (dirty.length === 2 && dirty[0] === from && dirty[1] === to) {
      // Mostly the only range; popping keeps the array for the next write.
      dirty.pop();
      dirty.pop();
      return;
    }
    this.#dirty = withoutRange(dirty, from, to);
  }

  #noteDirty(from: number, to: number): void {
    if (from >= to) return;
    const last = this.#dirty.length - 1;
    const lastTo = this.#dirty[last];
    // Appending, the common case, extends the last range.
    if (lastTo === from) this.#dirty[last] = to;
    else this.#dirty.push(from, to);
  }

  /** Called before a write covers a range: while the images share a buffer, keeps a copy of the durable bytes there. */
  #putAside(from: number, to: number): void {
    if (this.#parted !== undefined || from >= to) return;
    if (this.#overwritten !== undefined) {
      this.#part();
      return;
    }
    // A file can grow by many zeros: bytes that are not durable need no copy.
    const bytes = Buffer.allocUnsafe(Math.max(0, Math.min(to, this.#durableLength) - from));
    this.#content.copy(bytes, 0, from, from + bytes.length);
    this.#overwritten = { from, to, bytes };
  }

  /** Makes the last write durable in the shared buffer. Returns false if it was not that range. */
  #settleLast(from: number, to: number): boolean {
    const last = this.#overwritten;
    if (last?.from !== from || last.to !== to) return false;
    this.#overwritten = undefined;
    return true;
  }

  /** Gives the durable image a buffer of its own. */
  #part(): Buffer<ArrayBuffer> {
    if (this.#parted !== undefined) return this.#parted;
    // Behind the durable length are zeros, which are added when they are needed.
    const length = this.#durableLength;
    const durable = Buffer.allocUnsafeSlow(length);
    this.#content.copy(durable, 0, 0, length);
    const last = this.#overwritten;
    if (last !== undefined && last.from < length) {
      durable.set(last.bytes, last.from);
      durable.fill(0, last.from + last.bytes.length, Math.min(last.to, length));
    }
    this.#overwritten = undefined;
    this.#parted = durable;
    return durable;
  }

  #makeDurable(from: number, to: number): number {
    if (from >= to) return 0;
    if (!this.#settleLast(from, to)) this.#content.copy(this.#partedTo(to), from, from, to);
    return to - from;
  }

  #setDurableLength(length: number): void {
    if (length < this.#durableLength) this.#part().fill(0, length, this.#durableLength);
    else if (this.#parted !== undefined) this.#partedTo(length);
    this.#durableLength = length;
  }

  /** The durable image's own buffer, with space for at least `bytes`. */
  #partedTo(bytes: number): Buffer<ArrayBuffer> {
    const parted = this.#part();
    if (bytes <= parted.length) return parted;
    const room = grown(parted, parted.length, bytes);
    this.#parted = room;
    return room;
  }
}

/** The ranges without what lies in `from`..`to`. */
function withoutRange(ranges: readonly number[], from: number, to: number): number[] {
  const left: number[] = [];
  for (let index = 0; index + 1 < ranges.length; index += 2) {
    const start = ranges[index] ?? 0;
    const end = ranges[index + 1] ?? 0;
    if (start < from) left.push(start, Math.min(end, from));
    if (end > to) left.push(Math.max(start, to), end);
  }
  return left;
}

function sectorFate(
  survival: Survival,
  place: number,
  keptPlaces: number,
  random: Random,
): 'kept' | 'dropped' | 'torn' {
  if (survival === 'subset') return random.chance(1, 2) ? 'kept' : 'dropped';
  if (survival === 'dropAll') return 'dropped';
  if (survival === 'namesLost') return 'kept';
  if (place < keptPlaces) return 'kept';
  return survival === 'torn' && place === keptPlaces ? 'torn' : 'dropped';
}

function countSectors(ranges: readonly number[]): number {
  let count = 0;
  eachSector(ranges, () => (count += 1));
  return count;
}

/** Calls `see` with each sector's part of each range, in order. */
function eachSector(ranges: readonly number[], see: (from: number, to: number) => void): void {
  for (let index = 0; index + 1 < ranges.length; index += 2) {
    const end = ranges[index + 1] ?? 0;
    for (let from = ranges[index] ?? 0; from < end;) {
      const to = Math.min(end, from - (from % sectorBytes) + sectorBytes);
      see(from, to);
      from = to;
    }
  }
}

/** A larger buffer for at least `bytes`: the first `used` copied, the rest zeros. */
/** A buffer of at least `bytes` bytes that begins with the first `used` bytes of `buffer`. */
export function grown(buffer: Buffer, used: number, bytes: number): Buffer<ArrayBuffer> {
  const room = Buffer.alloc(Math.max(bytes, buffer.length * 2, 4096));
  buffer.copy(room, 0, 0, used);
  return room;
}
