/**
 * One open segment: its file, what of it counts, and who is reading it. A segment that was merged away is removed
 * only after its last reader has left.
 */
import { assert } from '../../base/assert.ts';
import type { DiskFile } from '../../io/disk.ts';
import type { ManifestSegment } from './manifest.ts';
import type { SegmentIdentity, SegmentKind } from './record.ts';

export class Segment {
  readonly identity: SegmentIdentity;
  /** Absent when the file is lost. */
  readonly file: DiskFile | undefined;
  sealed: boolean;
  /** Bytes of the file when it was made, zeros behind the head; 0 when it was found. */
  readonly madeBytes: number;
  /** Bytes that count: all that was ever answered lies below. */
  length: number;
  /** Lowest and highest sequence number; `seqMin` > `seqMax` while there is none. */
  seqMin = Number.MAX_SAFE_INTEGER;
  seqMax = 0;
  /** Bytes of records that are their keys' newest. */
  liveBytes = 0;
  /** Bytes of removals. */
  removalBytes = 0;
  /** Something in it was found unreadable; it is kept as evidence and never merged. */
  damaged = false;
  /** Merged away: the manifest names it no more. */
  retired = false;
  /** A merge's output that not all of its keys point at yet: its live bytes say nothing, and it is not merged. */
  unsettled = false;
  /** A hint file describes it. */
  hinted = false;
  #readers = 0;
  #onIdle: (() => void) | undefined;

  constructor(
    identity: SegmentIdentity,
    file: DiskFile | undefined,
    length: number,
    sealed: boolean,
    madeBytes = 0,
  ) {
    this.identity = identity;
    this.madeBytes = madeBytes;
    this.file = file;
    this.length = length;
    this.sealed = sealed;
  }

  get number(): number {
    return this.identity.number;
  }

  get kind(): SegmentKind {
    return this.identity.kind;
  }

  noteSeq(seq: number): void {
    if (seq < this.seqMin) this.seqMin = seq;
    if (seq > this.seqMax) this.seqMax = seq;
  }

  /** Keeps the file open until the matching `leave`. */
  enter(): void {
    this.#readers += 1;
  }

  leave(): void {
    assert(this.#readers > 0, 'a reader leaves once');
    this.#readers -= 1;
    if (this.#readers === 0) this.#onIdle?.();
  }

  /** Calls `idle` once nobody reads the segment: now, or when the last reader leaves. */
  whenIdle(idle: () => void): void {
    if (this.#readers === 0) idle();
    else this.#onIdle = idle;
  }

  toManifest(): ManifestSegment {
    return {
      number: this.number,
      kind: this.kind,
      sealed: this.sealed,
      length: this.sealed ? this.length : 0,
      seqMin: this.sealed ? this.seqMin : 0,
      seqMax: this.sealed ? this.seqMax : 0,
    };
  }
}
