/**
 * One open segment: its file, how much of it counts, and its readers. The file of a merged segment is removed only
 * after its last reader has left.
 */
import { assert } from '../../base/assert.ts';
import type { DiskFile } from '../../io/disk.ts';
import type { ManifestSegment } from './manifest.ts';
import type { SegmentIdentity, SegmentKind } from './record.ts';

/** A segment of an open store. */
export class Segment {
  readonly identity: SegmentIdentity;
  /** Absent if the file is lost. */
  readonly file: DiskFile | undefined;
  sealed: boolean;
  /** Bytes of the file when it was made, including zeros behind the head; 0 if it was found at a start. */
  readonly madeBytes: number;
  /** Bytes that count: everything that was ever answered is below this offset. */
  length: number;
  /** Lowest and highest sequence number; `seqMin` > `seqMax` while there are none. */
  seqMin = Number.MAX_SAFE_INTEGER;
  seqMax = 0;
  /** Bytes of records that are their keys' newest. */
  liveBytes = 0;
  /** Bytes of removals. */
  removalBytes = 0;
  /** A part of it was found unreadable. It is merged only once this incarnation lacks nothing of it (`isHealed`). */
  damaged = false;
  /** Bytes of unreadable records that are their keys' newest; a part of `liveBytes`. */
  lostBytes = 0;
  /** The start found that records are lost of which it knows no key, or no removal. */
  hidesRecords = false;
  /** A merge has missed removals there that this incarnation knows. */
  hidesRemovals = false;
  /** No record here is older than a record of the same key up to this sequence number. */
  cleanSeq = 0;
  /** Merged: the manifest does not name it any more. */
  retired = false;
  /** A merge's output at which not all of its keys point yet: its live bytes are not valid, and it is not merged. */
  unsettled = false;
  /** It has a valid hint file. */
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

  /**
   * Whether it is damaged, and nothing is missed in the memory or on the disk without it: all newest records in the
   * damage have been written again. Doubt of unknown records would end with it, so such a segment stays as it is.
   */
  get isHealed(): boolean {
    return this.damaged && this.lostBytes === 0 && !this.hidesRecords && !this.hidesRemovals;
  }

  /** Extends the range of sequence numbers. */
  noteSeq(seq: number): void {
    if (seq < this.seqMin) this.seqMin = seq;
    if (seq > this.seqMax) this.seqMax = seq;
  }

  /** Keeps the file open until the matching `leave`. */
  enter(): void {
    this.#readers += 1;
  }

  /** Ends a read that `enter` began. */
  leave(): void {
    assert(this.#readers > 0, 'a reader leaves once');
    this.#readers -= 1;
    if (this.#readers === 0) this.#onIdle?.();
  }

  /** Calls `idle` once the segment has no reader: now, or when the last one leaves. */
  whenIdle(idle: () => void): void {
    if (this.#readers === 0) idle();
    else this.#onIdle = idle;
  }

  /** What the manifest records of this segment. */
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
