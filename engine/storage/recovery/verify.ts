/**
 * Checks a store that no process has open, and reports its content and every fault with file and offset. It reads every
 * byte that counts and changes nothing.
 */
import { crc32 } from '../../base/checksum.ts';
import { LockstepError } from '../../base/errors.ts';
import type { Disk } from '../../io/disk.ts';
import { DiskError, readFully } from '../../io/disk.ts';
import type { DamageKind } from './damage.ts';
import { hintName, manifestName, segmentName } from '../log/file-names.ts';
import type { HintReading } from '../index/hint-file.ts';
import { hintEntryBytes, readHint } from '../index/hint-file.ts';
import { readManifest } from './identity.ts';
import type { ManifestSegment } from '../log/manifest.ts';
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
import { youngerThan } from './unlisted-segments.ts';

/** Something that is not as it was written. */
export interface Finding {
  /** Name within the store's directory. */
  readonly file: string;
  readonly offset: number;
  readonly bytes: number;
  readonly kind: DamageKind | 'manifest' | 'hint' | 'stray';
  readonly detail: string;
}

/** The content of one segment. */
export interface SegmentReport {
  readonly number: number;
  readonly kind: 'log' | 'merge';
  readonly sealed: boolean;
  readonly bytes: number;
  readonly records: number;
  readonly removals: number;
  readonly hint: HintReading;
  /** Bytes behind the last whole group of the open segment; the next start cuts them. No damage. */
  readonly tornBytes: number;
}

/** The content and the faults of a store. */
export interface StoreReport {
  readonly storeId: string;
  readonly nodeName: string;
  readonly createdMs: number;
  readonly segments: readonly SegmentReport[];
  readonly findings: readonly Finding[];
}

/** Called with the bytes checked so far and the bytes of the whole store. */
export type VerifyProgress = (bytesDone: number, bytesAll: number) => void;

const sentences: Readonly<Record<DamageKind, string>> = {
  value: 'a value does not match its checksum',
  record: 'a record does not match its checksum',
  group: "a group's head does not match its checksum; its records are sound",
  region: 'these bytes are no records',
  head: "the segment's head is not what was written",
  truncated: 'the file ends before what was written',
  missing: 'the file is not there',
  unreadable: 'the disk refuses to read it',
};

/** Checks every byte of a store. Rejects with `NotFound` if there is none, and with what `readManifest` throws. */
export async function verifyStore(
  disk: Disk,
  directory: string,
  progress: VerifyProgress,
): Promise<StoreReport> {
  const reading = await readManifest(disk, directory);
  if (reading === undefined) throw new LockstepError('NotFound', `${directory} holds no store`);
  const { manifest, whole } = reading;
  const findings: Finding[] = whole ? [] : [manifestFinding];
  for (const file of await youngerThan(manifest, disk, directory)) {
    const bytes = (await disk.size(`${directory}/${file}`)) ?? 0;
    findings.push({ file, offset: 0, bytes, kind: 'stray', detail: strayDetail });
  }
  const segments: SegmentReport[] = [];
  const bytesAll = manifest.segments.reduce((sum, segment) => sum + segment.length, 0);
  let bytesDone = 0;
  for (const segment of manifest.segments) {
    segments.push(await new SegmentCheck(disk, directory, manifest.storeId, segment, findings).run());
    bytesDone += segment.length;
    progress(bytesDone, bytesAll);
  }
  const { storeId, nodeName, createdMs } = manifest;
  return { storeId: storeId.toString('hex'), nodeName, createdMs, segments, findings };
}

const strayDetail =
  'the manifest is older than this segment and does not name it; a start refuses, `lockstep store rebuild` takes it in';

const manifestFinding: Finding = {
  file: manifestName,
  offset: 0,
  bytes: 0,
  kind: 'manifest',
  detail: 'one of its two copies does not match its checksum; the next start writes both again',
};

class SegmentCheck {
  readonly #disk: Disk;
  readonly #directory: string;
  readonly #storeId: Buffer;
  readonly #segment: ManifestSegment;
  readonly #findings: Finding[];
  readonly #name: string;
  #records = 0;
  #removals = 0;
  /** Checksum over the hint entries of the sound records, in order. */
  #digest = 0;
  #tornBytes = 0;
  readonly #entry = Buffer.alloc(hintEntryBytes);

  constructor(disk: Disk, directory: string, storeId: Buffer, segment: ManifestSegment, findings: Finding[]) {
    this.#disk = disk;
    this.#directory = directory;
    this.#storeId = storeId;
    this.#segment = segment;
    this.#findings = findings;
    this.#name = segmentName(segment.number);
  }

  async run(): Promise<SegmentReport> {
    const { number, kind, sealed } = this.#segment;
    const size = await this.#disk.size(`${this.#directory}/${this.#name}`);
    if (size === undefined) this.#find('missing', 0, this.#segment.length);
    else await this.#checkFile();
    const hint = await this.#checkHint();
    const bytes = sealed ? this.#segment.length : (size ?? 0);
    return {
      number,
      kind,
      sealed,
      bytes,
      records: this.#records,
      removals: this.#removals,
      hint,
      tornBytes: this.#tornBytes,
    };
  }

  async #checkFile(): Promise<void> {
    const { number, kind, sealed, length } = this.#segment;
    const file = await this.#disk.open(`${this.#directory}/${this.#name}`, 'read');
    try {
      const head = Buffer.alloc(segmentHeadBytes);
      await readFully(file, head, 0);
      if (!head.equals(encodeSegmentHead(this.#storeId, number, kind)))
        this.#find('head', 0, segmentHeadBytes);
      const result = await scanSegment(
        file,
        segmentIdentity(this.#storeId, number, kind),
        {
          record: (bytes, at, offset) => this.#record(bytes, at, offset),
          lostValue: (bytes, at, offset) => {
            const span = recordBytes(recordKeyBytes(bytes, at), recordValueBytes(bytes, at));
            this.#find('value', offset, span);
          },
          breach: (breach) => this.#find(breach.kind, breach.offset, breach.bytes),
        },
        { sealedLength: sealed ? length : undefined },
      );
      this.#tornBytes = result.tornBytes;
    } catch (error) {
      if (!(error instanceof DiskError)) throw error;
      this.#find('unreadable', 0, length);
    } finally {
      await file.close();
    }
  }

  #record(bytes: Buffer, at: number, offset: number): void {
    this.#records += 1;
    if (recordValueBytes(bytes, at) === removalMark) this.#removals += 1;
    const keyAt = at + recordHeadBytes;
    const keyBytes = recordKeyBytes(bytes, at);
    this.#digest = this.#fold(
      this.#digest,
      bytes.subarray(keyAt, keyAt + keyBytes),
      recordSeq(bytes, at),
      recordToken(bytes, at),
      offset,
      recordValueBytes(bytes, at),
    );
  }

  async #checkHint(): Promise<HintReading> {
    const { number, kind, sealed, length } = this.#segment;
    if (!sealed) return 'absent';
    let digest = 0;
    const identity = segmentIdentity(this.#storeId, number, kind);
    const reading = await readHint(
      this.#disk,
      this.#directory,
      identity,
      length,
      (bytes, keyAt, keyBytes, seq, token, offset, valueBytes) =>
        (digest = this.#fold(
          digest,
          bytes.subarray(keyAt, keyAt + keyBytes),
          seq,
          token,
          offset,
          valueBytes,
        )),
    );
    if (reading === 'absent') return reading;
    const damaged = this.#findings.some(({ file }) => file === this.#name);
    if (reading === 'bad') this.#findHint('it does not match its checksums; it is ignored');
    else if (!damaged && digest !== this.#digest) this.#findHint('it does not say what the segment holds');
    return reading;
  }

  #fold(digest: number, key: Buffer, seq: number, token: number, offset: number, valueBytes: number): number {
    const entry = this.#entry;
    entry.writeUInt32BE(Math.floor(seq / 0x100000000), 0);
    entry.writeUInt32BE(seq >>> 0, 4);
    entry.writeUInt32BE(token, 8);
    entry.writeUInt32BE(offset, 12);
    entry.writeUInt32BE(valueBytes, 16);
    entry.writeUInt16BE(key.length, 20);
    return crc32(key, crc32(entry, digest));
  }

  #find(kind: DamageKind, offset: number, bytes: number): void {
    this.#findings.push({ file: this.#name, offset, bytes, kind, detail: sentences[kind] });
  }

  #findHint(detail: string): void {
    this.#findings.push({ file: hintName(this.#segment.number), offset: 0, bytes: 0, kind: 'hint', detail });
  }
}
