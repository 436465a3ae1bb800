/**
 * Scans a segment from its front, group by group, and reports sound records, records with rotten values, places that
 * cannot be read, and where a torn tail begins. It changes nothing.
 *
 * In a sealed segment, a group that fails its checks is damage: it was whole once. In the open segment it is damage
 * only if a later group states that it was durable (`durable before` is beyond it). Otherwise it was never answered,
 * and the segment ends there. Behind damage the scan continues at the group's stated end or, if its head is not sound,
 * at the next sound group head.
 *
 * No verdict rests on one read, which may have been misdirected. What is not a whole group is read again, and so is
 * everything behind it before the segment is taken to end there.
 */
import { DiskError, readFully } from '../../io/disk.ts';
import {
  groupBodyBytes,
  groupCount,
  groupDurableBefore,
  groupFirstSeq,
  groupHashXor,
  groupHeadBytes,
  groupHeadIsSound,
  groupMagicBytes,
  groupTokenXor,
  recordHeadBytes,
  recordHeadIsSound,
  recordKeyBytes,
  recordSeq,
  recordSpan,
  recordToken,
  recordValueIsSound,
  segmentHeadBytes,
} from '../log/record.ts';
import type { SegmentIdentity } from '../log/record.ts';
import { headOfRecords } from '../log/group-head.ts';
import { hashKey } from '../index/key-hash.ts';
import type { ScannedFile, ScanOptions, ScanResult, ScanVisitor } from './scan-visitor.ts';

const windowBytesDefault = 1024 * 1024;
/** What is given up at once if the disk refuses to read. */
const pieceBytes = 4096;

/**
 * Scans a segment. Rejects with the file's error if a read fails; in a sealed segment a `DiskError` counts as damage.
 */
export async function scanSegment(
  file: ScannedFile,
  identity: SegmentIdentity,
  visitor: ScanVisitor,
  options: ScanOptions,
): Promise<ScanResult> {
  const size = await file.size();
  const scan = new Scan(file, identity, visitor, options, size);
  return scan.run();
}

class Scan {
  readonly #file: ScannedFile;
  readonly #identity: SegmentIdentity;
  readonly #visitor: ScanVisitor;
  readonly #sealed: boolean;
  readonly #rest: (() => Promise<void>) | undefined;
  readonly #windowBytes: number;
  readonly #start: number;
  /** Bytes of the file that can be read and count. */
  readonly #limit: number;
  /** Bytes that should be there. */
  readonly #expected: number;
  /** The file's bytes from `#from` on. */
  #window: Buffer = Buffer.alloc(0);
  #from = 0;
  #storage: Buffer = Buffer.alloc(0);
  #durableBefore = segmentHeadBytes;
  #groupCount = 0;
  readonly #places: number[] = [];

  constructor(
    file: ScannedFile,
    identity: SegmentIdentity,
    visitor: ScanVisitor,
    options: ScanOptions,
    size: number,
  ) {
    this.#file = file;
    this.#identity = identity;
    this.#visitor = visitor;
    this.#sealed = options.sealedLength !== undefined;
    this.#expected = options.sealedLength ?? size;
    this.#limit = Math.min(size, this.#expected);
    this.#rest = options.rest;
    this.#windowBytes = options.windowBytes ?? windowBytesDefault;
    this.#start = options.from ?? segmentHeadBytes;
  }

  async run(): Promise<ScanResult> {
    let at = this.#start;
    while (at < this.#limit) {
      at = this.#groupsInWindow(at);
      if (at >= this.#limit) break;
      const next = (await this.#group(at)) ?? (await this.#groupReadAgain(at)) ?? (await this.#damaged(at));
      if (next === undefined) return this.#result(at, await this.#tornBytesReadTwice(at));
      at = next;
    }
    if (this.#limit < this.#expected) {
      const bytes = this.#expected - Math.max(at, this.#limit);
      this.#visitor.breach({
        kind: 'truncated',
        offset: this.#limit,
        bytes,
        lost: undefined,
        seqMax: undefined,
      });
    }
    return this.#result(Math.max(at, this.#start), 0);
  }

  #result(end: number, tornBytes: number): ScanResult {
    return { end, tornBytes, durableBefore: this.#durableBefore, groupCount: this.#groupCount };
  }

  /** Visits the group at `at` if it is whole; resolves with the offset behind it. Waits only where the window ends. */
  async #group(at: number): Promise<number | undefined> {
    if (!this.#holds(at, groupHeadBytes)) await this.#load(at, groupHeadBytes);
    const end = this.#groupEnd(at);
    if (end === undefined) return undefined;
    if (!this.#holds(at, end - at)) await this.#load(at, end - at);
    return this.#visitGroup(at, end) ? end : undefined;
  }

  #groupReadAgain(at: number): Promise<number | undefined> {
    this.#forgetWindow();
    return this.#group(at);
  }

  #forgetWindow(): void {
    this.#window = this.#window.subarray(0, 0);
  }

  /** Visits whole groups from `at` on within the window; returns the offset of the first that is not whole in it. */
  #groupsInWindow(at: number): number {
    for (let next = at; ;) {
      const end = this.#holds(next, groupHeadBytes) ? this.#groupEnd(next) : undefined;
      if (end === undefined || !this.#holds(next, end - next) || !this.#visitGroup(next, end)) return next;
      next = end;
    }
  }

  /** Where the group at `at` ends by its head, which is in the window; undefined without a sound head. */
  #groupEnd(at: number): number | undefined {
    if (!groupHeadIsSound(this.#window, at - this.#from, at, this.#identity.salt)) return undefined;
    const end = at + groupHeadBytes + groupBodyBytes(this.#window, at - this.#from);
    return end > this.#limit ? undefined : end;
  }

  #visitGroup(at: number, end: number): boolean {
    if (end > this.#from + this.#window.length) return false;
    if (!this.#isWhole(at - this.#from, end - this.#from)) return false;
    this.#visitor.group?.(this.#window, at - this.#from, end - this.#from, at);
    for (const place of this.#places) this.#visitor.record(this.#window, place, this.#from + place);
    this.#noteGroup(at - this.#from);
    return true;
  }

  #holds(offset: number, bytes: number): boolean {
    return offset >= this.#from && Math.min(offset + bytes, this.#limit) <= this.#from + this.#window.length;
  }

  async #tornBytesReadTwice(at: number): Promise<number> {
    const torn = await this.#tornBytes(at);
    if (torn === 0) return 0;
    this.#forgetWindow();
    return Math.min(torn, await this.#tornBytes(at));
  }

  /** Bytes from `at` to the last one that is not zero. Zeros are written ahead of the log and are no torn write. */
  async #tornBytes(at: number): Promise<number> {
    let torn = 0;
    for (let from = at; from < this.#limit; from = this.#from + this.#window.length) {
      await this.#load(from, Math.min(this.#windowBytes, this.#limit - from));
      let last = this.#window.length - 1;
      while (last >= from - this.#from && this.#window[last] === 0) last -= 1;
      if (this.#from + last >= from) torn = this.#from + last + 1 - at;
    }
    return torn;
  }

  #noteGroup(position: number): void {
    this.#durableBefore = Math.max(this.#durableBefore, groupDurableBefore(this.#window, position));
    this.#groupCount += 1;
  }

  /** Whether every record of the group matches its checksums, and their number and order the head. Fills `#places`. */
  #isWhole(position: number, end: number): boolean {
    const bytes = this.#window;
    const salt = this.#identity.salt;
    const firstSeq = groupFirstSeq(bytes, position);
    const count = groupCount(bytes, position);
    this.#places.length = 0;
    let at = position + groupHeadBytes;
    while (at < end) {
      if (!recordHeadIsSound(bytes, at, end, salt) || !recordValueIsSound(bytes, at, end, salt)) return false;
      if (this.#identity.kind === 'log' && recordSeq(bytes, at) !== firstSeq + this.#places.length)
        return false;
      this.#places.push(at);
      at += recordSpan(bytes, at, end);
    }
    return this.#places.length === count;
  }

  /**
   * Handles bytes at `at` that are no whole group. Resolves with the offset to continue at; undefined if the segment
   * ends here.
   */
  async #damaged(at: number): Promise<number | undefined> {
    let later = await this.#laterGroups(at);
    if (!this.#sealed && !later.durable) {
      this.#forgetWindow();
      later = await this.#laterGroups(at);
      if (!later.durable) return undefined;
    }
    await this.#load(at, groupHeadBytes);
    if (!groupHeadIsSound(this.#window, at - this.#from, at, this.#identity.salt)) {
      return this.#salvageHeadless(at, later.next ?? this.#limit, later.nextSeq);
    }
    const end = at + groupHeadBytes + groupBodyBytes(this.#window, at - this.#from);
    await this.#load(at, Math.min(end, this.#limit) - at);
    const readable = Math.min(end, this.#from + this.#window.length);
    this.#salvageGroup(at, readable, end);
    this.#noteGroup(at - this.#from);
    return readable;
  }

  /** Finds sound group heads behind `at`: the first one, and whether any states that `at` was durable. */
  async #laterGroups(at: number): Promise<{ next?: number; nextSeq?: number; durable: boolean }> {
    let next: number | undefined;
    let nextSeq: number | undefined;
    for (let from = at + 1; from + groupHeadBytes <= this.#limit;) {
      await this.#load(from, Math.min(this.#windowBytes, this.#limit - from));
      const place = this.#window.indexOf(groupMagicBytes, from - this.#from);
      if (place < 0) {
        from = this.#from + this.#window.length - (groupMagicBytes.length - 1);
        if (from + groupHeadBytes > this.#limit) break;
        continue;
      }
      const found = this.#from + place;
      if (found + groupHeadBytes > this.#limit) break;
      await this.#load(found, groupHeadBytes);
      const position = found - this.#from;
      if (groupHeadIsSound(this.#window, position, found, this.#identity.salt)) {
        next ??= found;
        nextSeq ??= groupFirstSeq(this.#window, position);
        if (this.#sealed || groupDurableBefore(this.#window, position) > at) {
          return { next, nextSeq, durable: true };
        }
      }
      from = found + 1;
    }
    return {
      ...(next === undefined ? {} : { next }),
      ...(nextSeq === undefined ? {} : { nextSeq }),
      durable: false,
    };
  }

  /** Visits the readable records of a group with a sound head, and reports the others. */
  #salvageGroup(at: number, readable: number, end: number): void {
    const bytes = this.#window;
    const position = at - this.#from;
    const limit = readable - this.#from;
    const count = groupCount(bytes, position);
    let hash = groupHashXor(bytes, position);
    let token = groupTokenXor(bytes, position);
    let found = 0;
    let lostAt: number | undefined;
    let place = position + groupHeadBytes;
    while (place < limit && this.#place(place, limit, found < count)) {
      if (this.#visit(place, limit)) {
        hash ^= this.#hashAt(place);
        token ^= recordToken(bytes, place);
        found += 1;
      } else {
        lostAt ??= place;
      }
      place += recordSpan(bytes, place, limit);
    }
    const lostCount = count - found;
    if (lostCount === 0 && end === readable) return;
    const from = lostAt ?? Math.min(place, limit);
    this.#visitor.breach({
      kind: end > readable ? 'truncated' : 'record',
      offset: this.#from + from,
      bytes: end - this.#from - from,
      lost: lostCount === 0 ? 'none' : lostCount === 1 ? { hash: hash >>> 0, token: token >>> 0 } : undefined,
      seqMax: this.#identity.kind === 'log' ? groupFirstSeq(bytes, position) + count - 1 : undefined,
    });
  }

  /** Whether the record at `place` is readable, or its stated length leads to a readable one or to the group's end. */
  #place(place: number, limit: number, expected: boolean): boolean {
    const { salt } = this.#identity;
    const span = recordSpan(this.#window, place, limit);
    if (!expected || span === 0) return false;
    const next = place + span;
    if (recordHeadIsSound(this.#window, place, limit, salt)) return true;
    return next === limit || recordHeadIsSound(this.#window, next, limit, salt);
  }

  /** Visits the record if its head is sound. */
  #visit(place: number, limit: number): boolean {
    const { salt } = this.#identity;
    if (!recordHeadIsSound(this.#window, place, limit, salt)) return false;
    if (recordValueIsSound(this.#window, place, limit, salt)) {
      this.#visitor.record(this.#window, place, this.#from + place);
    } else {
      this.#visitor.lostValue(this.#window, place, this.#from + place);
    }
    return true;
  }

  /** Handles a place without a sound group head, up to the next sound one: its records may still be sound. */
  async #salvageHeadless(at: number, next: number, nextSeq: number | undefined): Promise<number> {
    await this.#load(at, next - at);
    const limit = Math.min(next - this.#from, this.#window.length);
    const { salt } = this.#identity;
    let place = at - this.#from + groupHeadBytes;
    let records = 0;
    while (place + recordHeadBytes <= limit && recordHeadIsSound(this.#window, place, limit, salt)) {
      const span = recordSpan(this.#window, place, limit);
      if (span === 0) break;
      this.#visit(place, limit);
      place += span;
      records += 1;
    }
    const complete = records > 0 && place === limit;
    const head = complete
      ? headOfRecords(this.#window, at - this.#from, limit, at, this.#identity)
      : undefined;
    this.#visitor.breach({
      kind: complete ? 'group' : 'region',
      offset: at,
      bytes: next - at,
      lost: complete ? 'none' : undefined,
      seqMax: this.#identity.kind === 'log' && nextSeq !== undefined ? nextSeq - 1 : undefined,
      ...(head === undefined ? {} : { head }),
    });
    return next;
  }

  #hashAt(place: number): number {
    const keyAt = place + recordHeadBytes;
    return hashKey(this.#window, keyAt, recordKeyBytes(this.#window, place), this.#identity.hashSeed);
  }

  /** Makes `bytes` bytes from `offset` on (fewer at the limit) part of the window. */
  async #load(offset: number, bytes: number): Promise<void> {
    if (this.#holds(offset, bytes)) return;
    await this.#rest?.();
    const wanted = Math.min(Math.max(bytes, this.#windowBytes), this.#limit - offset);
    if (this.#storage.length < wanted) this.#storage = Buffer.allocUnsafeSlow(wanted);
    const into = this.#storage.subarray(0, wanted);
    const count = await this.#read(into, offset);
    this.#window = into.subarray(0, count);
    this.#from = offset;
  }

  async #read(into: Buffer, offset: number): Promise<number> {
    try {
      return await readFully(this.#file, into, offset);
    } catch (error) {
      // In the open segment, unreadable bytes cannot be told from what a crash left: the caller decides.
      if (!(error instanceof DiskError) || !this.#sealed) throw error;
      return this.#readAround(into, offset);
    }
  }

  /** Reads piece by piece; refused pieces read as zeros, which are no group. */
  async #readAround(into: Buffer, offset: number): Promise<number> {
    for (let at = 0; at < into.length; at += pieceBytes) {
      const piece = into.subarray(at, at + pieceBytes);
      try {
        const count = await readFully(this.#file, piece, offset + at);
        if (count < piece.length) return at + count;
      } catch (error) {
        if (!(error instanceof DiskError)) throw error;
        piece.fill(0);
      }
    }
    return into.length;
  }
}
