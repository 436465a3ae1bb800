/**
 * Opens a store: from the files of a directory to the newest valid state in memory.
 *
 * The steps are: take the lock; make the file names durable; read the manifest (or make one); remove unlisted files;
 * read every segment, by its hint file or by a scan; settle the open segment. A crash may interrupt any step; the next
 * start repeats it. Settling cuts what was never answered, rewrites and syncs what is not known to be durable, and
 * seals the segment in the manifest. Nothing is appended to a segment of an earlier incarnation.
 *
 * The tail is rewritten before it is trusted because a sync may have failed in the last incarnation. The operating
 * system may then return bytes that the disk never took, and would treat them as clean.
 */
import { assert } from '../../base/assert.ts';
import type { Token } from '../../base/ids.ts';
import { viewOf } from '../../base/views.ts';
import { sometimes } from '../../base/sometimes.ts';
import type { DiskFile } from '../../io/disk.ts';
import { readFully } from '../../io/disk.ts';
import type { StoreIo } from '../store-io.ts';
import { Catalog } from '../log/segment-catalog.ts';
import type { StoreIdentity } from '../log/segment-catalog.ts';
import type { Damage } from './damage.ts';
import { Damages } from './damage.ts';
import { hintName, manifestName, numberOfName, probeName, segmentName } from '../log/file-names.ts';
import { readHint } from '../index/hint-file.ts';
import { KeyDirectory } from '../index/key-directory.ts';
import { createStore, readManifest, refuseForeign, waysOut } from './identity.ts';
import type { Manifest, ManifestSegment } from '../log/manifest.ts';
import {
  encodeSegmentHead,
  recordBytes,
  recordHeadBytes,
  recordKeyBytes,
  recordSeq,
  recordToken,
  recordValueBytes,
  removalMark,
  segmentHeadBytes,
  segmentIdentity,
} from '../log/record.ts';
import { scanSegment } from './scan.ts';
import type { Breach, ScanResult } from './scan-visitor.ts';
import { Segment } from '../log/segment.ts';
import { refuseYounger } from './unlisted-segments.ts';
import { writeBack } from './tail-rewrite.ts';

/** What a start found, for the log, metrics and the operator. */
export interface RecoveryReport {
  /** The directory held no store: this one is new. */
  readonly created: boolean;
  readonly keyCount: number;
  readonly segmentCount: number;
  /** Sealed segments whose hint file was used, missing, or ignored. */
  hintsUsed: number;
  hintsAbsent: number;
  hintsBad: number;
  /** Torn tails cut (0 or 1 per start), and their bytes. */
  tornTails: number;
  tornBytes: number;
  /** Unlisted files removed. */
  strayFiles: number;
  /** Unlisted segments renamed because a listed one is missing. */
  filesSetAside: number;
}

/** The parts of a store as recovery leaves them. */
export interface Recovered {
  readonly catalog: Catalog;
  readonly keys: KeyDirectory;
  readonly book: Damages;
  readonly lastSeq: number;
  readonly report: RecoveryReport;
}

/** What a breach may have cost. */
const anyRecords = { lost: undefined, seqMax: undefined } as const;
const noRecord = { lost: 'none', seqMax: undefined } as const;

/**
 * Recovers the store; the caller holds the lock. Rejects with `StoreForeign`, `FormatUnsupported`, `Corrupted` or a
 * `DiskError`.
 */
export async function recover(io: StoreIo, directory: string, nodeName: string): Promise<Recovered> {
  await io.disk.syncDirectory(directory);
  const found = await readManifest(io.disk, directory);
  const manifest = found?.manifest ?? (await createStore(io, directory, nodeName));
  refuseForeign(manifest, nodeName, directory);
  await refuseYounger(manifest, io.disk, directory, waysOut);
  const recovery = new Recovery(io, directory, manifest, found === undefined);
  try {
    await recovery.removeUnlisted(await io.disk.list(directory));
    await recovery.readSegments();
    await recovery.finish(found?.whole ?? true);
    return recovery.result();
  } catch (error) {
    await recovery.abandon();
    throw error;
  }
}

class Recovery {
  readonly #io: StoreIo;
  readonly #directory: string;
  readonly #manifest: Manifest;
  readonly #catalog: Catalog;
  readonly #keys: KeyDirectory;
  readonly #book: Damages;
  readonly #report: RecoveryReport;
  readonly #breaches: { readonly breach: Breach; readonly segment: Segment }[] = [];
  #removedIds: number[] = [];
  #viewed: Buffer = Buffer.alloc(0);
  #view = viewOf(this.#viewed);
  #lastSeq = 0;
  /** The open segment of the last incarnation was settled: the manifest must record it. */
  #changed = false;

  constructor(io: StoreIo, directory: string, manifest: Manifest, created: boolean) {
    this.#io = io;
    this.#directory = directory;
    this.#book = new Damages(io.log, directory);
    this.#manifest = manifest;
    const identity: StoreIdentity = {
      storeId: manifest.storeId,
      nodeName: manifest.nodeName,
      createdMs: manifest.createdMs,
    };
    const numbers = manifest.segments.map(({ number }) => number + 1);
    this.#catalog = new Catalog(io, directory, identity, Math.max(manifest.nextNumber, ...numbers));
    this.#keys = new KeyDirectory(segmentIdentity(manifest.storeId, 0, 'log').hashSeed);
    this.#report = {
      created,
      keyCount: 0,
      segmentCount: 0,
      hintsUsed: 0,
      hintsAbsent: 0,
      hintsBad: 0,
      tornTails: 0,
      tornBytes: 0,
      strayFiles: 0,
      filesSetAside: 0,
    };
  }

  /**
   * Removes unlisted files and never reuses their numbers. While a listed segment is missing, unlisted segments may
   * hold the same records: they are renamed, not removed.
   */
  async removeUnlisted(names: readonly string[]): Promise<void> {
    const listed = new Set(this.#manifest.segments.map((segment) => segment.number));
    const here = new Set(names);
    const missing = [...listed].some((number) => !here.has(segmentName(number)));
    for (const name of names) {
      const number = numberOfName(name);
      if (number === undefined && name !== `${manifestName}.new` && name !== probeName) continue;
      if (number !== undefined && listed.has(number) && !name.endsWith('.new')) continue;
      if (missing && name.endsWith('.log')) await this.#setAside(name);
      else await this.#removeUnlistedFile(name);
      while (number !== undefined && this.#catalog.nextNumber <= number) this.#catalog.reserve();
    }
  }

  async #removeUnlistedFile(name: string): Promise<void> {
    sometimes('recovery.unlisted-removed');
    await this.#io.disk.remove(`${this.#directory}/${name}`);
    this.#report.strayFiles += 1;
  }

  async #setAside(name: string): Promise<void> {
    const path = `${this.#directory}/${name}`;
    sometimes('recovery.unlisted-set-aside');
    const kept = `${path}.aside`;
    await this.#io.disk.rename(path, kept);
    this.#report.filesSetAside += 1;
    this.#io.log.event('warn', 'store.segment.kept', { path: kept });
  }

  async readSegments(): Promise<void> {
    for (const listed of this.#manifest.segments) {
      const segment = await this.#openSegment(listed);
      if (segment !== undefined) await this.#readSegment(segment, listed);
    }
  }

  async #openSegment(listed: ManifestSegment): Promise<Segment | undefined> {
    const identity = segmentIdentity(this.#manifest.storeId, listed.number, listed.kind);
    const path = this.#catalog.pathOf(segmentName(listed.number));
    const size = await this.#io.disk.size(path);
    const file = size === undefined ? undefined : await this.#io.disk.open(path, 'readWrite');
    const segment = new Segment(identity, file, listed.length, listed.sealed);
    if (listed.sealed) {
      segment.seqMin = listed.seqMin;
      segment.seqMax = listed.seqMax;
    }
    this.#catalog.adopt(segment);
    return segment;
  }

  async #readSegment(segment: Segment, listed: ManifestSegment): Promise<void> {
    if (listed.sealed && (await this.#readByHint(segment))) {
      await this.#checkExtent(segment);
    } else if (segment.file === undefined) {
      sometimes('recovery.segment-missing');
      this.#breach(segment, { kind: 'missing', offset: 0, bytes: segment.length, ...anyRecords });
      this.#changed ||= !segment.sealed;
      segment.sealed = true;
    } else {
      segment.removalBytes = 0;
      await this.#checkHead(segment, segment.file);
      const result = await this.#scan(segment, segment.file);
      if (!listed.sealed) await this.#settleTail(segment, segment.file, result);
    }
    if (listed.sealed) this.#lastSeq = Math.max(this.#lastSeq, segment.seqMax);
  }

  async #readByHint(segment: Segment): Promise<boolean> {
    const { number } = segment;
    const { disk } = this.#io;
    const reading = await readHint(
      disk,
      this.#directory,
      segment.identity,
      segment.length,
      (bytes, keyAt, keyBytes, seq, token, offset, valueBytes) =>
        this.#accept(bytes, keyAt, keyBytes, seq, token, number, offset, valueBytes, false),
    );
    if (reading === 'sound') this.#report.hintsUsed += 1;
    if (reading === 'absent') this.#report.hintsAbsent += 1;
    if (reading === 'bad') {
      sometimes('recovery.hint-file-ignored');
      this.#report.hintsBad += 1;
    }
    const path = this.#catalog.pathOf(hintName(number));
    if (reading === 'bad') this.#io.log.event('warn', 'store.hint.ignored', { path });
    segment.hinted = reading === 'sound';
    return reading === 'sound';
  }

  /** The hint file gives the keys. A missing or short file would show when they are read, so it is reported now. */
  async #checkExtent(segment: Segment): Promise<void> {
    const size = (await segment.file?.size()) ?? 0;
    if (size >= segment.length) return;
    const kind = segment.file === undefined ? 'missing' : 'truncated';
    this.#breach(segment, { kind, offset: size, bytes: segment.length - size, ...noRecord });
  }

  async #checkHead(segment: Segment, file: DiskFile): Promise<void> {
    const expected = encodeSegmentHead(this.#manifest.storeId, segment.number, segment.kind);
    const found = Buffer.alloc(segmentHeadBytes);
    let count = await readFully(file, found, 0);
    // Reads again before it reports damage.
    if (!found.equals(expected)) count = await readFully(file, found.fill(0), 0);
    if (found.equals(expected)) return;
    if (count < segmentHeadBytes && !segment.sealed) {
      // The head was durable before the segment counted: a shorter file has lost everything after it.
      const bytes = segmentHeadBytes - count;
      this.#breach(segment, { kind: 'truncated', offset: count, bytes, ...anyRecords });
      return;
    }
    this.#breach(segment, { kind: 'head', offset: 0, bytes: segmentHeadBytes, ...noRecord });
  }

  async #scan(segment: Segment, file: DiskFile): Promise<ScanResult> {
    const sealedLength = segment.sealed ? segment.length : undefined;
    const take = (bytes: Buffer, at: number, offset: number, damaged: boolean): void => {
      const seq = recordSeq(bytes, at);
      const keyAt = at + recordHeadBytes;
      if (!segment.sealed) segment.noteSeq(seq);
      const keyBytes = recordKeyBytes(bytes, at);
      const valueBytes = recordValueBytes(bytes, at);
      this.#accept(
        bytes,
        keyAt,
        keyBytes,
        seq,
        recordToken(bytes, at),
        segment.number,
        offset,
        valueBytes,
        damaged,
      );
    };
    return scanSegment(
      file,
      segment.identity,
      {
        record: (bytes, at, offset) => take(bytes, at, offset, false),
        lostValue: (bytes, at, offset) => {
          sometimes('recovery.key-damaged');
          take(bytes, at, offset, true);
          const token = recordToken(bytes, at) as Token;
          const span = recordBytes(recordKeyBytes(bytes, at), recordValueBytes(bytes, at));
          this.#damaged(segment, { kind: 'value', offset, bytes: span, keyCount: 1, tokens: [token] });
        },
        breach: (breach) => this.#breach(segment, breach),
      },
      { sealedLength },
    );
  }

  /** Takes one record from a hint or a scan: the highest sequence number of a key wins. */
  #accept(
    bytes: Buffer,
    keyAt: number,
    keyBytes: number,
    seq: number,
    token: number,
    segment: number,
    offset: number,
    valueBytes: number,
    damaged: boolean,
  ): void {
    if (seq > this.#lastSeq) this.#lastSeq = seq;
    const hash = this.#keys.hashBytes(bytes, keyAt, keyBytes);
    const view = this.#viewOf(bytes);
    let id = this.#keys.findHashed(hash, view, keyAt, keyBytes);
    if (valueBytes === removalMark) {
      this.#catalog.mustFind(segment).removalBytes += recordBytes(keyBytes, valueBytes);
    }
    if (id === 0) id = this.#keys.add(hash, bytes, view, keyAt, keyBytes, token);
    else if (this.#keys.seqOf(id) >= seq) return;
    else this.#bury(id);
    this.#keys.setToken(id, token);
    if (valueBytes === removalMark) {
      this.#keys.place(id, segment, offset, 0, seq, 'removed');
      this.#removedIds.push(id);
    } else {
      this.#keys.place(id, segment, offset, valueBytes, seq, damaged ? 'damaged' : 'live');
      const span = recordBytes(keyBytes, valueBytes);
      const holder = this.#catalog.mustFind(segment);
      holder.liveBytes += span;
      if (damaged) holder.lostBytes += span;
    }
  }

  /** One view for all records that are read into one buffer. */
  #viewOf(bytes: Buffer): DataView {
    if (this.#viewed !== bytes) this.#view = viewOf(bytes);
    this.#viewed = bytes;
    return this.#view;
  }

  /** The record that the key's row points at is dead. */
  #bury(id: number): void {
    const state = this.#keys.stateOf(id);
    if (state === 'removed') return;
    const span = recordBytes(this.#keys.keyBytesOf(id), this.#keys.valueBytesOf(id));
    const holder = this.#catalog.mustFind(this.#keys.segmentOf(id));
    holder.liveBytes -= span;
    if (state === 'damaged') holder.lostBytes -= span;
  }

  /** Cuts what was never answered, makes the rest durable, and seals the segment. */
  async #settleTail(segment: Segment, file: DiskFile, result: ScanResult): Promise<void> {
    if (result.tornBytes > 0) {
      sometimes('recovery.tail-cut');
      this.#report.tornTails += 1;
      this.#report.tornBytes += result.tornBytes;
      const path = this.#catalog.pathOf(segmentName(segment.number));
      const fields = { path, offset: result.end, bytes: result.tornBytes };
      this.#io.log.event('warn', 'store.tail.cut', fields);
    }
    if ((await file.size()) > result.end) await file.truncate(result.end);
    await writeBack(file, segment.identity, result.durableBefore, result.end);
    await file.sync();
    segment.length = result.end;
    segment.sealed = true;
    this.#changed = true;
  }

  #breach(segment: Segment, breach: Breach): void {
    this.#breaches.push({ breach, segment });
  }

  #damaged(segment: Segment, damage: Omit<Damage, 'segment' | 'foundBy'>): void {
    segment.damaged = true;
    this.#book.add({ ...damage, segment: segment.number, foundBy: 'recovery' });
  }

  async finish(manifestWhole: boolean): Promise<void> {
    for (const { breach, segment } of this.#breaches) this.#settleBreach(breach, segment);
    for (const id of new Set(this.#removedIds))
      if (this.#keys.stateOf(id) === 'removed') this.#keys.remove(id);
    this.#removedIds = [];
    const empty = [...this.#catalog.segments].filter(
      (segment) => segment.length <= segmentHeadBytes && !segment.damaged && this.#changed,
    );
    const path = this.#catalog.pathOf(manifestName);
    if (!manifestWhole) {
      sometimes('recovery.manifest-repaired');
      this.#io.log.event('warn', 'store.manifest.mended', { path });
    }
    if (this.#changed || !manifestWhole) await this.#catalog.publish([], empty);
    for (const segment of empty) this.#catalog.drop(segment);
  }

  /** Closes all files after a failure, since the process may continue. */
  async abandon(): Promise<void> {
    await this.#catalog.closeFiles();
  }

  /** Decides what a breach has cost, now that every other record is known. */
  #settleBreach(breach: Breach, segment: Segment): void {
    const { kind, offset, bytes, lost } = breach;
    const tokens = lost === 'none' ? [] : lost === undefined ? 'all' : [lost.token as Token];
    this.#damaged(segment, { kind, offset, bytes, keyCount: 0, tokens });
    if (lost === 'none') return;
    segment.hidesRecords = true;
    if (breach.seqMax === undefined && segment.seqMax === 0) this.#numberLostRecords(segment);
    const seqMax = breach.seqMax ?? segment.seqMax;
    this.#lastSeq = Math.max(this.#lastSeq, seqMax);
    this.#book.suspect({ hash: lost?.hash, seqMax });
  }

  /**
   * Nothing is known of the records of an open segment that is gone: they were newer than all that are here. They get
   * the next number, which no write takes. The manifest records it, so that later starts doubt no newer key.
   */
  #numberLostRecords(segment: Segment): void {
    this.#lastSeq += 1;
    segment.seqMax = this.#lastSeq;
    this.#changed = true;
  }

  result(): Recovered {
    const report = { ...this.#report, keyCount: this.#keys.size, segmentCount: this.#catalog.segmentCount };
    assert(this.#lastSeq >= 0, 'sequence numbers are not negative');
    return { catalog: this.#catalog, keys: this.#keys, book: this.#book, lastSeq: this.#lastSeq, report };
  }
}
