/**
 * A file as two images: what the living system sees, and what is certainly on the disk. Between them stand the ranges
 * that were written and not yet synced; a sync copies the ranges that it covers, so it costs what it covers, and a
 * crash decides sector by sector what of them is found afterwards.
 *
 * Bytes past an image's length are zeros, always.
 *
 * Mostly a write is made durable before the next one, and both images are one and the same: they stay in one memory,
 * with what the last write covered put aside, and part at whatever else makes them differ.
 */
import type { Random } from '../../../engine/io/random.ts';

export const sectorBytes = 512;

/** What a crash leaves of what was never synced. Each draws from the host's own stream. */
export type Survival =
  /** The process died, the system lived on: everything written is there. */
  | 'keepAll'
  /** Nothing that was not synced is there. */
  | 'dropAll'
  /** Each sector and each name by a draw of its own. */
  | 'subset'
  /** Per file, in the order of writing up to a drawn sector. */
  | 'prefix'
  /** As `prefix`, and the sector there is found in part. */
  | 'torn'
  /** `lost-directory-entries`. Everything written is there, and every name is as its directory's last sync left it. */
  | 'namesLost';

/** What a sync that is under way covers: ranges as (from, to) pairs in the order of writing, and the length. */
export interface Covered {
  readonly ranges: readonly number[];
  length: number;
}

export interface SectorCounts {
  kept: number;
  dropped: number;
  torn: number;
}

/** What a write covered: the bytes that were durable there; past them are zeros. */
interface Overwritten {
  readonly from: number;
  readonly to: number;
  readonly bytes: Uint8Array;
}

export class FileImage {
  readonly id: number;
  #content = Buffer.alloc(0);
  #length = 0;
  /** Undefined while it is the content with `#overwritten` put back. */
  #parted: Buffer<ArrayBuffer> | undefined;
  #durableLength = 0;
  #overwritten: Overwritten | undefined;
  /** Written since the last sync began. */
  #dirty: number[] = [];
  readonly #syncing = new Set<Covered>();
  /** Bytes that are not as they were written: (from, to) pairs. */
  #altered: number[] = [];

  constructor(id: number) {
    this.id = id;
  }

  /** Length in bytes, as the living system sees it. */
  get length(): number {
    return this.#length;
  }

  /** The bytes that any crash leaves. A view: not to be kept. */
  get durable(): Buffer {
    const whole = this.#overwritten === undefined ? (this.#parted ?? this.#content) : this.#part();
    return whole.subarray(0, this.#durableLength);
  }

  /** A view of what was written. */
  view(from: number, to: number): Buffer {
    return this.#content.subarray(from, to);
  }

  /** Copies bytes from `offset` into `into`, at most `bytesMax`; how many. */
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
      // What grows here again must be found as zeros, not as what was there.
      this.#noteDirty(length, this.#length);
    } else if (length > this.#content.length) {
      this.#content = grown(this.#content, this.#length, length);
    }
    this.#length = length;
  }

  /** A sync begins: it covers all that was written before. */
  beginSync(): Covered {
    const covered = { ranges: this.#dirty, length: this.#length };
    this.#dirty = [];
    this.#syncing.add(covered);
    return covered;
  }

  /** The sync succeeds. Returns how many bytes it made durable. */
  finishSync(covered: Covered): number {
    this.#syncing.delete(covered);
    const length = Math.min(covered.length, this.#length);
    let bytes = 0;
    for (let index = 0; index + 1 < covered.ranges.length; index += 2) {
      bytes += this.#makeDurable(
        covered.ranges[index] ?? 0,
        Math.min(covered.ranges[index + 1] ?? 0, length),
      );
    }
    this.#setDurableLength(length);
    return bytes;
  }

  /** A durable write succeeds: these bytes are durable and nothing else is. Returns how many. */
  syncRange(from: number, until: number): number {
    const to = Math.min(until, this.#length);
    this.#clean(from, until);
    const bytes = this.#makeDurable(from, to);
    if (to > this.#durableLength && bytes > 0) this.#setDurableLength(to);
    // A sync under way began before this and must not cut it off.
    for (const covered of this.#syncing) covered.length = Math.max(covered.length, to);
    return bytes;
  }

  /** A durable write fails, or lies: its bytes are clean for the system and not on the disk, for ever. */
  dropRange(from: number, to: number): void {
    this.#part();
    this.#clean(from, to);
  }

  /** The sync fails, or lies: what it covered is clean for the system and not on the disk, for ever. */
  dropSync(covered: Covered): void {
    this.#part();
    this.#syncing.delete(covered);
  }

  /** The process that waited for syncs is dead; what they covered is still to be synced. */
  abandonSyncs(): void {
    this.#dirty = this.#unsynced();
    this.#syncing.clear();
  }

  /** `bit-rot`. Flips a bit in both images; false when there is no such byte. */
  rot(offset: number, bit: number): boolean {
    if (offset >= this.#length) return false;
    const durable = this.#part();
    this.#content[offset] = (this.#content[offset] ?? 0) ^ (1 << bit);
    if (offset < this.#durableLength) durable[offset] = (durable[offset] ?? 0) ^ (1 << bit);
    this.noteAltered(offset, offset + 1);
    return true;
  }

  /** From now on a range does not hold what its writer believes, until it is written again. */
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

  /** Another file of the same bytes, all of them durable. */
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
    // Sectors may have been kept past the length that was.
    if (!isOne) this.#content = this.#part().fill(0, this.#durableLength);
    this.#parted = undefined;
    this.#length = this.#durableLength;
    this.#dirty = [];
    this.#syncing.clear();
    return counts;
  }

  /** The length found after a crash: a growth may be there without its bytes, a cut may be undone. */
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
      // Mostly it is all there is, and the next write is noted in the same list.
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
    // Appending, the common case, makes one range.
    if (lastTo === from) this.#dirty[last] = to;
    else this.#dirty.push(from, to);
  }

  /** A write is about to cover a range: while the images are one, its durable bytes are put aside. */
  #putAside(from: number, to: number): void {
    if (this.#parted !== undefined || from >= to) return;
    if (this.#overwritten !== undefined) {
      this.#part();
      return;
    }
    // Zeros that make a file longer are many: of what is not durable there is nothing to keep.
    const bytes = Buffer.allocUnsafe(Math.max(0, Math.min(to, this.#durableLength) - from));
    this.#content.copy(bytes, 0, from, from + bytes.length);
    this.#overwritten = { from, to, bytes };
  }

  /** The last write becomes durable, in the one memory of both images. False when it was not that range. */
  #settleLast(from: number, to: number): boolean {
    const last = this.#overwritten;
    if (last?.from !== from || last.to !== to) return false;
    this.#overwritten = undefined;
    return true;
  }

  /** From now on the durable image has a memory of its own. */
  #part(): Buffer<ArrayBuffer> {
    if (this.#parted !== undefined) return this.#parted;
    // What lies behind is zeros, which are made when they are needed.
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

  /** The durable image's own memory, with room for so many bytes. */
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

/** Room for `bytes`, the first `used` copied, the rest zeros. */
function grown(buffer: Buffer, used: number, bytes: number): Buffer<ArrayBuffer> {
  const room = Buffer.alloc(Math.max(bytes, buffer.length * 2, 4096));
  buffer.copy(room, 0, 0, used);
  return room;
}
