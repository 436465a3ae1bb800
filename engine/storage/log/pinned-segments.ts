/**
 * Segments of an open store as they are at one moment, for a reader that copies them while the store goes on. Their
 * bytes below the noted length never change; a merge that replaces them leaves their files until they are released.
 */
import type { ManifestSegment } from './manifest.ts';
import type { Segment } from './segment.ts';

/** One segment as it was pinned. */
export interface PinnedSegment extends ManifestSegment {
  /** A part of it was found unreadable. */
  readonly damaged: boolean;
}

/** Re-reads a segment and reports its damage; calls `rest` after each window. Rejects with `StorageFailed`. */
export type SegmentCheck = (segment: Segment, rest: () => Promise<void>) => Promise<void>;

/** The pinned segments of one store. */
export class PinnedSegments {
  readonly segments: readonly PinnedSegment[];
  readonly #held = new Map<number, Segment>();
  readonly #check: SegmentCheck;

  /** Pins these segments. Those whose file is lost are left out. */
  constructor(segments: Iterable<Segment>, check: SegmentCheck) {
    this.#check = check;
    const pinned: PinnedSegment[] = [];
    for (const segment of segments) {
      if (segment.file === undefined || segment.retired) continue;
      segment.enter();
      this.#held.set(segment.number, segment);
      const { number, kind, sealed, length, seqMin, seqMax, damaged } = segment;
      pinned.push({ number, kind, sealed, length, seqMin, seqMax, damaged });
    }
    this.segments = pinned.toSorted((left, right) => left.number - right.number);
  }

  /**
   * Reads up to `into.length` bytes of a segment at `offset`. Resolves with their number: 0 at its noted end, undefined
   * if the segment is not pinned. Rejects with `DiskError`.
   */
  async readAt(number: number, into: Uint8Array, offset: number): Promise<number | undefined> {
    const pinned = this.segments.find((segment) => segment.number === number);
    const file = this.#held.get(number)?.file;
    if (pinned === undefined || file === undefined) return undefined;
    const left = Math.max(0, Math.min(into.length, pinned.length - offset));
    return left === 0 ? 0 : file.readAt(into.subarray(0, left), offset);
  }

  /**
   * Re-reads a segment in windows, against its checksums, and reports what is damaged as a start would. Calls `rest`
   * between the windows, and rejects with what it rejects with; with `StorageFailed` if the disk fails. Does nothing if
   * the segment is not pinned.
   */
  async check(number: number, rest: () => Promise<void>): Promise<void> {
    const segment = this.#held.get(number);
    if (segment === undefined) return;
    segment.enter();
    try {
      await this.#check(segment, rest);
    } finally {
      segment.leave();
    }
  }

  /** Lets the files go. May be called again. */
  release(): void {
    for (const segment of this.#held.values()) segment.leave();
    this.#held.clear();
  }
}
