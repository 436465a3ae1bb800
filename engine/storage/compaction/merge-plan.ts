/**
 * Plans merges: which segments are worth merging. A pure decision over their figures.
 *
 * The youngest log segment decays: recent writes that replaced most of it will soon replace more, so copying out of it
 * now is wasted. It waits until the next segment is sealed, unless nothing in it is live (source: Rosenblum and
 * Ousterhout, "The Design and Implementation of a Log-Structured File System", 1992, 3.5: free space in segments that
 * still change is worth less). One more segment of dead bytes may therefore be on the disk.
 *
 * Dead segments are merged first and alone: that needs no space, and a full disk may have none for more.
 *
 * A segment's garbage is what a merge would not copy. Removals alone are not garbage: a removal may be dropped only if
 * no segment outside the merge can hold an older record of its key. They therefore count only if everything is merged.
 */
import type { MergeOptions } from '../options.ts';
import type { SegmentKind } from '../log/record.ts';
import { segmentHeadBytes } from '../log/record.ts';

/** The figures of a segment from which merges are planned; lengths in bytes. */
export interface SegmentFigures {
  readonly number: number;
  readonly kind: SegmentKind;
  readonly length: number;
  readonly liveBytes: number;
  readonly removalBytes: number;
  /** False for the open segment of the log. */
  readonly sealed: boolean;
  /** Sealed, sound, and not merged yet. Other segments are left alone. */
  readonly mergeable: boolean;
}

/** A merge and the reason for it. */
export interface MergePlan {
  readonly reason: 'dead' | 'garbage' | 'small' | 'removals';
  /** Numbers of the segments to merge, ascending. */
  readonly numbers: readonly number[];
}

/** The next merge; undefined if none is worthwhile. `segments` lists log segments in ascending order. */
export function planMerge(
  segments: readonly SegmentFigures[],
  options: MergeOptions,
  segmentBytes: number,
): MergePlan | undefined {
  const mergeable = segments.filter((segment) => segment.mergeable);
  const waiting = decaying(segments, options);
  const dirty = mergeable.filter((segment) => segment !== waiting && isDirty(segment, options));
  const dead = dirty.filter(isDead);
  if (dead.length > 0) return { reason: 'dead', numbers: dead.map(({ number }) => number) };
  if (dirty.length > 0) return { reason: 'garbage', numbers: bounded(dirty, options.copyBytesMax) };
  const small = mergeable.filter((segment) => segment.length < segmentBytes / 4);
  if (small.length >= options.smallCountMin) {
    return { reason: 'small', numbers: bounded(small, options.copyBytesMax) };
  }
  return planRemovals(segments, mergeable, options);
}

/** The youngest log segment, if it is dirty but waits until the next one is sealed. */
export function decaying(
  segments: readonly SegmentFigures[],
  options: MergeOptions,
): SegmentFigures | undefined {
  const youngest = segments.findLast(({ mergeable, kind }) => mergeable && kind === 'log');
  if (youngest === undefined || !isDirty(youngest, options)) return undefined;
  return isDead(youngest) ? undefined : youngest;
}

/**
 * Merges everything except the open segment, if removals make up the share that triggers a merge. A sealed segment that
 * stays may hold older records, also where no segment is open yet after a start: the removals would be copied in vain,
 * again and again.
 */
function planRemovals(
  segments: readonly SegmentFigures[],
  mergeable: readonly SegmentFigures[],
  options: MergeOptions,
): MergePlan | undefined {
  if (segments.some((segment) => segment.sealed && !segment.mergeable)) return undefined;
  const length = mergeable.reduce((sum, segment) => sum + segment.length, 0);
  const gone = mergeable.reduce((sum, segment) => sum + segment.removalBytes + garbageBytes(segment), 0);
  const removals = mergeable.reduce((sum, segment) => sum + segment.removalBytes, 0);
  if (removals === 0 || gone * 100 < length * options.deadPercentMin) return undefined;
  return { reason: 'removals', numbers: mergeable.map((segment) => segment.number) };
}

function isDirty(segment: SegmentFigures, options: MergeOptions): boolean {
  const garbage = garbageBytes(segment);
  return garbage > 0 && garbage * 100 >= segment.length * options.deadPercentMin;
}

/** Whether a merge copies nothing out of it. */
function isDead({ liveBytes, removalBytes }: SegmentFigures): boolean {
  return liveBytes === 0 && removalBytes === 0;
}

function garbageBytes(segment: SegmentFigures): number {
  return Math.max(0, segment.length - segmentHeadBytes - segment.liveBytes - segment.removalBytes);
}

/** The emptiest first, as many as may be copied at once, at least one. */
function bounded(segments: readonly SegmentFigures[], copyBytesMax: number): readonly number[] {
  const emptiestFirst = segments.toSorted(
    (left, right) =>
      left.liveBytes / left.length - right.liveBytes / right.length || left.number - right.number,
  );
  const chosen: number[] = [];
  let copyBytes = 0;
  for (const segment of emptiestFirst) {
    copyBytes += segment.liveBytes + segment.removalBytes;
    if (chosen.length > 0 && copyBytes > copyBytesMax) break;
    chosen.push(segment.number);
  }
  return chosen.toSorted((left, right) => left - right);
}
