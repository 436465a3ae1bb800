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
 * no segment outside the merge can hold an older record of its key. They therefore count only if everything is merged:
 * part by part, the oldest segments first, so that the disk needs space for one part only.
 *
 * A damaged segment is merged alone, as soon as it is mergeable: until then removals beside it cannot be dropped.
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
  /** Its lowest and highest sequence number. */
  readonly seqMin: number;
  readonly seqMax: number;
  /** No record in it is older than a record of the same key up to this sequence number. */
  readonly cleanSeq: number;
  /** False for the open segment of the log. */
  readonly sealed: boolean;
  readonly damaged: boolean;
  /** Sealed, sound or healed, and not merged yet. Other segments are left alone. */
  readonly mergeable: boolean;
}

/** A merge and the reason for it. */
export interface MergePlan {
  readonly reason: 'dead' | 'garbage' | 'damaged' | 'small' | 'removals';
  /** Numbers of the segments to merge, ascending. */
  readonly numbers: readonly number[];
  /** With `removals`: the merges of all parts drop the removals up to this sequence number. */
  readonly removalsUpTo?: number;
}

/**
 * The next merge; undefined if none is worthwhile. `segments` lists log segments in ascending order. `removalsUpTo`: that
 * of the merges that are under way to drop removals, if there are such.
 */
export function planMerge(
  segments: readonly SegmentFigures[],
  options: MergeOptions,
  segmentBytes: number,
  removalsUpTo?: number,
): MergePlan | undefined {
  const mergeable = segments.filter((segment) => segment.mergeable && !segment.damaged);
  const waiting = decaying(segments, options);
  const dirty = mergeable.filter((segment) => segment !== waiting && isDirty(segment, options));
  const dead = dirty.filter(isDead);
  if (dead.length > 0) return { reason: 'dead', numbers: dead.map(({ number }) => number) };
  if (dirty.length > 0) return { reason: 'garbage', numbers: bounded(dirty, options.copyBytesMax) };
  const healed = segments.find((segment) => segment.mergeable && segment.damaged);
  if (healed !== undefined) return { reason: 'damaged', numbers: [healed.number] };
  const small = mergeable.filter((segment) => segment.length < segmentBytes / 4);
  if (small.length >= options.smallCountMin) {
    return { reason: 'small', numbers: bounded(small, options.copyBytesMax) };
  }
  return planRemovals(segments, mergeable, options, removalsUpTo);
}

/** The youngest log segment, if it is dirty but waits until the next one is sealed. */
export function decaying(
  segments: readonly SegmentFigures[],
  options: MergeOptions,
): SegmentFigures | undefined {
  const youngest = segments.findLast(
    ({ mergeable, damaged, kind }) => mergeable && !damaged && kind === 'log',
  );
  if (youngest === undefined || !isDirty(youngest, options)) return undefined;
  return isDead(youngest) ? undefined : youngest;
}

/**
 * Merges everything except the open segment, if removals make up the share that triggers a merge: the oldest segments
 * first, of which none holds a record older than a removal afterwards. A sealed segment that cannot be merged may hold
 * such records, also where no segment is open yet after a start: the removals would be copied in vain, again and again.
 */
function planRemovals(
  segments: readonly SegmentFigures[],
  mergeable: readonly SegmentFigures[],
  options: MergeOptions,
  underWay: number | undefined,
): MergePlan | undefined {
  if (segments.some((segment) => segment.sealed && !segment.mergeable)) return undefined;
  if (underWay === undefined && !isWorthwhile(mergeable, options)) return undefined;
  const removalsUpTo = underWay ?? Math.max(...mergeable.map(({ seqMax }) => seqMax));
  const oldestFirst = mergeable
    .filter(({ seqMin, cleanSeq }) => Math.max(seqMin, cleanSeq) < removalsUpTo)
    .toSorted((left, right) => left.seqMin - right.seqMin || left.number - right.number);
  if (oldestFirst.length === 0) return undefined;
  return { reason: 'removals', numbers: firstOf(oldestFirst, options.copyBytesMax), removalsUpTo };
}

function isWorthwhile(segments: readonly SegmentFigures[], options: MergeOptions): boolean {
  const sum = (bytesOf: (segment: SegmentFigures) => number): number =>
    segments.reduce((bytes, segment) => bytes + bytesOf(segment), 0);
  const removals = sum(({ removalBytes }) => removalBytes);
  const length = sum((segment) => segment.length);
  return removals > 0 && (removals + sum(garbageBytes)) * 100 >= length * options.deadPercentMin;
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
  return firstOf(emptiestFirst, copyBytesMax);
}

/** As many of the first segments as may be copied at once, at least one: their numbers, ascending. */
function firstOf(segments: readonly SegmentFigures[], copyBytesMax: number): readonly number[] {
  const chosen: number[] = [];
  let copyBytes = 0;
  for (const segment of segments) {
    copyBytes += segment.liveBytes + segment.removalBytes;
    if (chosen.length > 0 && copyBytes > copyBytesMax) break;
    chosen.push(segment.number);
  }
  return chosen.toSorted((left, right) => left - right);
}
