/**
 * The segments of an open store and the manifest that names them. Changes of the manifest are made one after another;
 * each replaces one file, so a crash finds the state before or after.
 */
import { assert, failAssertion } from '../../base/assert.ts';
import { Deferred } from '../../base/deferred.ts';
import type { Disk } from '../../io/disk.ts';
import { DiskError, replaceFile, writeFully } from '../../io/disk.ts';
import type { StoreIo } from '../store-io.ts';
import type { CatalogFigures } from '../figures.ts';
import { hintName, manifestName, segmentName } from './file-names.ts';
import { encodeManifest } from './manifest.ts';
import type { Manifest } from './manifest.ts';
import { encodeSegmentHead, segmentHeadBytes, segmentIdentity } from './record.ts';
import type { SegmentKind } from './record.ts';
import { Segment } from './segment.ts';
import type { SpareFile } from './spare-file.ts';

/** The part of the manifest that never changes. */
export type StoreIdentity = Pick<Manifest, 'storeId' | 'nodeName' | 'createdMs'>;

/** The catalog of one store. */
export class Catalog {
  readonly identity: StoreIdentity;
  readonly #io: StoreIo;
  readonly #disk: Disk;
  readonly #directory: string;
  readonly #segments = new Map<number, Segment>();
  #nextNumber: number;
  /** Numbers of log segments that no manifest has named yet. */
  readonly #unnamed = new Set<number>();
  #publishing: Promise<void> = Promise.resolve();
  #spare: SpareFile | undefined;
  readonly #removals = new Set<Promise<void>>();

  constructor(io: StoreIo, directory: string, identity: StoreIdentity, nextNumber: number) {
    this.#disk = io.disk;
    this.#io = io;
    this.#directory = directory;
    this.identity = identity;
    this.#nextNumber = nextNumber;
  }

  /** All segments, in the order in which they were added. */
  get segments(): Iterable<Segment> {
    return this.#segments.values();
  }

  /** Number of segments. */
  get segmentCount(): number {
    return this.#segments.size;
  }

  /** The lowest number not given to a segment. */
  get nextNumber(): number {
    return this.#nextNumber;
  }

  /** The segment with this number; undefined if there is none. */
  find(number: number): Segment | undefined {
    return this.#segments.get(number);
  }

  /** The segment with this number, which must exist. */
  mustFind(number: number): Segment {
    const segment = this.#segments.get(number);
    assert(segment !== undefined, 'the key directory names segments that exist');
    return segment;
  }

  /** Path of a file of the store's directory. */
  pathOf(name: string): string {
    return `${this.#directory}/${name}`;
  }

  /**
   * Sizes. Disk bytes count segments that the manifest names; live bytes include records of merged ones not yet moved.
   */
  figures(): CatalogFigures {
    let diskBytes = 0;
    let liveBytes = 0;
    for (const segment of this.#segments.values()) {
      if (!segment.retired) diskBytes += segment.length;
      liveBytes += segment.liveBytes;
    }
    return { segmentCount: this.#segments.size, diskBytes, liveBytes };
  }

  /** A number that no segment has or had. */
  reserve(): number {
    return this.#nextNumber++;
  }

  /** The same, for a segment of the log. */
  reserveForLog(): number {
    const number = this.reserve();
    this.#unnamed.add(number);
    return number;
  }

  /** Adds a segment found at the start. */
  adopt(segment: Segment): void {
    if (this.#segments.has(segment.number)) failAssertion('a segment is adopted once', segment.number);
    if (segment.number >= this.#nextNumber)
      failAssertion('numbers of segments are reserved', segment.number, this.#nextNumber);
    this.#segments.set(segment.number, segment);
  }

  /** From now on the file of a dropped segment may become the next segment of the log. */
  reuseFiles(spare: SpareFile): void {
    this.#spare = spare;
  }

  /** Makes an empty segment file with a durable head. It counts once it is published. */
  async create(number: number, kind: SegmentKind): Promise<Segment> {
    const path = this.pathOf(segmentName(number));
    const reusedBytes = kind === 'log' ? await this.#spare?.giveAs(path) : undefined;
    const file = await this.#disk.open(path, reusedBytes === undefined ? 'create' : 'readWrite');
    try {
      await writeFully(file, [encodeSegmentHead(this.identity.storeId, number, kind)], 0);
      await file.sync();
    } catch (error) {
      await file.close();
      throw error;
    }
    const identity = segmentIdentity(this.identity.storeId, number, kind);
    return new Segment(identity, file, segmentHeadBytes, false, reusedBytes ?? segmentHeadBytes);
  }

  /**
   * Makes the store consist of its segments, plus `added`, minus `removed`: durable when this resolves. Removed
   * segments stay readable in memory until `drop`.
   */
  publish(added: readonly Segment[], removed: readonly Segment[]): Promise<void> {
    const turn = this.#publishing.then(() => this.#publish(added, removed));
    this.#publishing = turn.catch(() => undefined);
    return turn;
  }

  async #publish(added: readonly Segment[], removed: readonly Segment[]): Promise<void> {
    const listed = [...this.#segments.values()].filter(
      (segment) => !segment.retired && !removed.includes(segment),
    );
    const segments = [...listed, ...added]
      .toSorted((left, right) => left.number - right.number)
      .map((segment) => segment.toManifest());
    for (const segment of added) {
      const { number } = segment;
      if (number >= this.#nextNumber)
        failAssertion('numbers of segments are reserved', number, this.#nextNumber);
      if (this.#segments.has(number)) failAssertion('a segment is added once', number);
      this.#unnamed.delete(number);
    }
    for (const { number, retired } of removed)
      if (retired || !this.#segments.has(number)) failAssertion('a segment is removed once', number);
    const nextNumber = Math.min(this.#nextNumber, ...this.#unnamed);
    const manifest: Manifest = { ...this.identity, nextNumber, segments };
    // The manifest must not become durable before the file names that it relies on.
    if (added.length > 0) await this.#disk.syncDirectory(this.#directory);
    await replaceFile(this.#disk, this.pathOf(manifestName), encodeManifest(manifest));
    for (const segment of removed) segment.retired = true;
    for (const segment of added) this.#segments.set(segment.number, segment);
  }

  /** Removes a segment that no key points into from memory; its files are removed once its last reader has left. */
  drop(segment: Segment): void {
    const { number, retired, liveBytes } = segment;
    if (!retired) failAssertion('the manifest names a dropped segment no more', number);
    if (liveBytes !== 0) failAssertion('no key points into a dropped segment', number, liveBytes);
    if (!this.#segments.delete(number)) failAssertion('a segment is dropped once', number);
    segment.whenIdle(() => {
      const removal = this.#removeQuietly(segment);
      this.#removals.add(removal);
      this.#io.spawn('store.segment.remove', () => removal.finally(() => this.#removals.delete(removal)));
    });
  }

  /** Closes and removes the files of a dropped segment. A crash in between leaves unlisted files. */
  async removeFiles(segment: Segment): Promise<void> {
    await segment.file?.close();
    await this.#removeHint(segment);
    const path = this.pathOf(segmentName(segment.number));
    if (segment.damaged) await this.#setAside(path);
    else await this.#disk.remove(path);
  }

  /** The file of a damaged segment is evidence: it stays, under a name that no start reads. */
  async #setAside(path: string): Promise<void> {
    const kept = `${path}.damaged`;
    await this.#disk.rename(path, kept);
    this.#io.log.event('warn', 'store.segment.kept', { path: kept });
  }

  async #removeHint(segment: Segment): Promise<void> {
    if (segment.hinted) await this.#disk.remove(this.pathOf(hintName(segment.number)));
    segment.hinted = false;
  }

  /** Files that cannot be removed now stay as unlisted files, which the next start removes. */
  async #removeQuietly(segment: Segment): Promise<void> {
    try {
      if (!(await this.#isKept(segment))) await this.removeFiles(segment);
    } catch (error) {
      if (!(error instanceof DiskError)) throw error;
      this.#io.log.event('warn', 'store.segment.left', { segment: segment.number, detail: error.message });
    }
  }

  /** Whether the segment's file has become the spare one. If it cannot be cleared it is removed like any other. */
  async #isKept(segment: Segment): Promise<boolean> {
    const { number, file } = segment;
    if (file === undefined || segment.damaged || this.#spare === undefined) return false;
    try {
      await this.#removeHint(segment);
      return await this.#spare.keep(file, this.pathOf(segmentName(number)));
    } catch (error) {
      if (!(error instanceof DiskError)) throw error;
      this.#io.log.event('warn', 'store.spare.failed', { segment: number, detail: error.message });
      return false;
    }
  }

  /** Resolves when no file is being removed. */
  async settle(): Promise<void> {
    await Promise.all(this.#removals);
  }

  async #removeSpare(path: string): Promise<void> {
    try {
      await this.#disk.remove(path);
    } catch (error) {
      if (!(error instanceof DiskError)) throw error;
      this.#io.log.event('warn', 'store.segment.left', { path, detail: error.message });
    }
  }

  /** Closes all files, each once it has no reader. */
  async closeFiles(): Promise<void> {
    const spare = this.#spare?.close();
    await this.settle();
    if (spare !== undefined) await this.#removeSpare(spare);
    for (const segment of this.#segments.values()) {
      const left = new Deferred<void>();
      segment.whenIdle(() => left.resolve());
      await left.promise;
      await segment.file?.close();
    }
  }
}
