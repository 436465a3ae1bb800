/**
 * Writes the output of a merge: new segments of kind `merge` with their hint files. They count only once the manifest
 * names them. Records keep their sequence numbers and get the new segment's checksums.
 */
import { assert } from '../../base/assert.ts';
import { viewOf } from '../../base/views.ts';
import type { Disk } from '../../io/disk.ts';
import { writeFully } from '../../io/disk.ts';
import type { Catalog } from '../log/segment-catalog.ts';
import { hintName, segmentName } from '../log/file-names.ts';
import { HintWriter } from '../index/hint-file.ts';
import { hashKey } from '../index/key-hash.ts';
import {
  groupHeadBytes,
  recordBytes,
  recordHeadBytes,
  recordKeyBytes,
  recordSeq,
  recordToken,
  recordValueBytes,
  removalMark,
  sealGroup,
  sealRecord,
} from '../log/record.ts';
import type { Segment } from '../log/segment.ts';

/** Bytes of records that share a group head. */
const groupBodyBytesMax = 32 * 1024;
/**
 * Bytes between two syncs. Few, so that no sync takes long: a flush of the log, and the merge's next slice, wait for
 * it.
 */
const syncBytes = 256 * 1024;
const bufferBytesMin = 128 * 1024;

/** The group to which records are being added. */
interface OpenGroup {
  /** Its position in the buffer. */
  readonly at: number;
  readonly firstSeq: number;
  count: number;
  hashXor: number;
  tokenXor: number;
}

/** The output of one merge. */
export class MergeOutput {
  readonly #disk: Disk;
  readonly #directory: string;
  readonly #catalog: Catalog;
  readonly #segmentBytes: number;
  /** Complete and durable segments. */
  readonly segments: Segment[] = [];
  #segment: Segment | undefined;
  #number: number | undefined;
  #hint: HintWriter | undefined;
  /** Encoded groups that are not written yet. */
  #buffer = Buffer.allocUnsafeSlow(bufferBytesMin);
  #view = viewOf(this.#buffer);
  #used = 0;
  #group: OpenGroup | undefined;
  #unsyncedBytes = 0;

  constructor(disk: Disk, directory: string, catalog: Catalog, segmentBytes: number) {
    this.#disk = disk;
    this.#directory = directory;
    this.#catalog = catalog;
    this.#segmentBytes = segmentBytes;
  }

  /** Copies the record at `at` of `bytes`; the next `drain` writes it. */
  add(bytes: Buffer, at: number): void {
    const segment = this.#segment;
    assert(segment !== undefined, 'prepare comes before add');
    const keyBytes = recordKeyBytes(bytes, at);
    const valueBytes = recordValueBytes(bytes, at);
    const span = recordBytes(keyBytes, valueBytes);
    this.#reserve(groupHeadBytes + span);
    const group = (this.#group ??= this.#beginGroup(recordSeq(bytes, at)));
    const place = this.#used;
    bytes.copy(this.#buffer, place + recordHeadBytes, at + recordHeadBytes, at + span);
    const { salt, hashSeed } = segment.identity;
    const seq = recordSeq(bytes, at);
    this.#used = sealRecord(this.#view, place, seq, recordToken(bytes, at), keyBytes, valueBytes, salt, 0);
    group.count += 1;
    group.hashXor ^= hashKey(this.#buffer, place + recordHeadBytes, keyBytes, hashSeed);
    group.tokenXor ^= recordToken(bytes, at);
    this.#hint?.add(this.#buffer, place, segment.length + place);
    segment.noteSeq(seq);
    if (valueBytes === removalMark) segment.removalBytes += span;
    if (this.#used - group.at >= groupBodyBytesMax) this.#endGroup();
  }

  /** Opens an output segment if there is none. Must be called before the first `add`, and after every `drain`. */
  async prepare(): Promise<void> {
    if (this.#segment !== undefined) return;
    this.#number = this.#catalog.reserve();
    this.#segment = await this.#catalog.create(this.#number, 'merge');
    this.#hint = new HintWriter(this.#disk, this.#directory, this.#segment.identity);
  }

  /** Writes what was added; completes the segment if it is long enough. */
  async drain(): Promise<void> {
    this.#endGroup();
    const segment = this.#segment;
    if (segment?.file === undefined || this.#used === 0) return;
    await writeFully(segment.file, [this.#buffer.subarray(0, this.#used)], segment.length);
    segment.length += this.#used;
    this.#unsyncedBytes += this.#used;
    this.#used = 0;
    await this.#hint?.drain();
    if (segment.length >= this.#segmentBytes) await this.#complete();
    else if (this.#unsyncedBytes >= syncBytes) await this.#sync(segment);
  }

  /** Completes the last segment. One without a record is removed. */
  async finish(): Promise<void> {
    await this.drain();
    if (this.#segment === undefined) return;
    if (this.#segment.seqMax > 0) await this.#complete();
    else await this.abandonOpen();
  }

  /**
   * Removes everything: the merge was given up. Files that cannot be removed are closed and remain as unlisted
   * segments.
   */
  async abandon(): Promise<void> {
    for (const segment of this.segments) await segment.file?.close();
    await this.abandonOpen();
    for (const segment of this.segments) await this.#catalog.removeFiles(segment);
  }

  /** Removes the segment under way. */
  async abandonOpen(): Promise<void> {
    const number = this.#number;
    const hint = this.#hint;
    const file = this.#segment?.file;
    this.#segment = undefined;
    this.#hint = undefined;
    this.#number = undefined;
    await file?.close();
    await hint?.abandon();
    if (number === undefined) return;
    await this.#removeIfThere(segmentName(number));
    await this.#removeIfThere(hintName(number));
  }

  async #complete(): Promise<void> {
    const segment = this.#segment;
    assert(segment !== undefined, 'an output is complete once');
    await this.#sync(segment);
    await this.#hint?.finish(segment.length);
    segment.sealed = true;
    segment.hinted = true;
    this.segments.push(segment);
    this.#segment = undefined;
    this.#hint = undefined;
    this.#number = undefined;
  }

  async #sync(segment: Segment): Promise<void> {
    await segment.file?.sync();
    this.#unsyncedBytes = 0;
  }

  async #removeIfThere(name: string): Promise<void> {
    const path = `${this.#directory}/${name}`;
    if ((await this.#disk.size(path)) !== undefined) await this.#disk.remove(path);
  }

  #beginGroup(firstSeq: number): OpenGroup {
    const at = this.#used;
    this.#used += groupHeadBytes;
    return { at, count: 0, hashXor: 0, tokenXor: 0, firstSeq };
  }

  #endGroup(): void {
    const group = this.#group;
    const segment = this.#segment;
    if (group === undefined || segment === undefined) return;
    const { at, count, hashXor, tokenXor, firstSeq } = group;
    const fileAt = segment.length + at;
    const { salt } = segment.identity;
    sealGroup(this.#view, at, this.#used, salt, fileAt, count, firstSeq, fileAt, hashXor, tokenXor);
    this.#group = undefined;
  }

  #reserve(bytes: number): void {
    const needed = this.#used + bytes;
    if (needed <= this.#buffer.length) return;
    const grown = Buffer.allocUnsafeSlow(Math.max(needed, this.#buffer.length * 2));
    this.#buffer.copy(grown, 0, 0, this.#used);
    this.#buffer = grown;
    this.#view = viewOf(grown);
  }
}
