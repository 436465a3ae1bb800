import { describe, expect, it } from 'vitest';

import type { SegmentFigures } from './merge-plan.ts';
import { planMerge } from './merge-plan.ts';
import { mergeDefaults } from '../options.ts';

const segmentBytes = 1000;
const options = { ...mergeDefaults, smallCountMin: 3, copyBytesMax: 1500 };

function segment(number: number, live: number, removal = 0, length = 1000): SegmentFigures {
  const bytes = { length, liveBytes: live, removalBytes: removal };
  const seqs = { seqMin: number * 10, seqMax: number * 10 + 9, cleanSeq: 0 };
  return { number, kind: 'log', ...bytes, ...seqs, sealed: true, damaged: false, mergeable: true };
}

/** The youngest log segment, without garbage. */
const youngest = segment(99, 1000);

describe('planMerge', () => {
  it('plans nothing for a store in which nearly everything is live', () => {
    expect(planMerge([segment(1, 900), segment(2, 800)], options, segmentBytes)).toBeUndefined();
  });

  it('merges segments that are half garbage', () => {
    const plan = planMerge(
      [segment(1, 900), segment(2, 400), segment(3, 100), youngest],
      options,
      segmentBytes,
    );
    expect(plan).toEqual({ reason: 'garbage', numbers: [2, 3] });
  });

  it('takes the emptiest first and copies no more than allowed', () => {
    const segments = [
      segment(1, 400),
      segment(2, 350),
      segment(3, 10),
      segment(4, 420),
      segment(5, 430),
      segment(6, 410),
      youngest,
    ];
    expect(planMerge(segments, options, segmentBytes)?.numbers).toEqual([1, 2, 3, 6]);
  });

  it('takes dead segments first and alone, since they need no space', () => {
    const segments = [segment(1, 0), segment(2, 100), segment(3, 0), segment(4, 0, 900), youngest];
    expect(planMerge(segments, options, segmentBytes)).toEqual({ reason: 'dead', numbers: [1, 3] });
  });

  it('merges one segment however many bytes are copied', () => {
    const large = segment(1, 40_000, 0, 100_000);
    expect(planMerge([large, youngest], options, segmentBytes)?.numbers).toEqual([1]);
  });

  it('waits for the youngest log segment until the next is sealed, or nothing in it is live', () => {
    const merged = { ...segment(7, 100), kind: 'merge' } as const;
    const decaying = segment(6, 100);
    expect(planMerge([decaying], options, segmentBytes)).toBeUndefined();
    expect(planMerge([decaying, merged], options, segmentBytes)?.numbers).toEqual([7]);
    expect(planMerge([decaying, segment(8, 900)], options, segmentBytes)?.numbers).toEqual([6]);
    expect(planMerge([segment(6, 0)], options, segmentBytes)?.numbers).toEqual([6]);
  });

  it('joins small segments once there are enough', () => {
    const small = [1, 2, 3].map((number) => segment(number, 120, 0, 200));
    expect(planMerge(small.slice(1), options, segmentBytes)).toBeUndefined();
    expect(planMerge(small, options, segmentBytes)).toEqual({ reason: 'small', numbers: [1, 2, 3] });
  });

  it('merges everything when removals make up the share, since only then they can be dropped', () => {
    const segments = [segment(1, 600, 300), segment(2, 100, 800)];
    const plan = { reason: 'removals', numbers: [1, 2], removalsUpTo: 29 };
    expect(planMerge(segments, { ...options, copyBytesMax: 2000 }, segmentBytes)).toEqual(plan);
  });

  it('merges everything for removals in parts, the oldest segments first, each once', () => {
    const removals = [2, 3, 4].map((number) => segment(number, 100, 800));
    const oldest = { ...segment(7, 1000), kind: 'merge', seqMin: 1, seqMax: 60 } as const;
    const first = planMerge([...removals, oldest], options, segmentBytes);
    expect(first).toEqual({ reason: 'removals', numbers: [7], removalsUpTo: 60 });
    const copied = { ...oldest, number: 8, cleanSeq: 60 };
    const second = planMerge([...removals, copied], options, segmentBytes, 60);
    expect(second).toEqual({ reason: 'removals', numbers: [2], removalsUpTo: 60 });
    // Segments that are sealed meanwhile do not prolong the merges; the share need not be reached any more.
    const others = [segment(9, 1000), { ...segment(3, 1000), cleanSeq: 61 }];
    expect(planMerge([copied, ...others], options, segmentBytes, 60)).toBeUndefined();
    expect(planMerge([copied, ...others, segment(4, 1000, 0)], options, segmentBytes, 60)?.numbers).toEqual([
      4,
    ]);
  });

  it('merges a healed segment alone, before others are joined', () => {
    const healed = { ...segment(2, 500, 100), damaged: true };
    const small = [3, 4, 5].map((number) => segment(number, 120, 0, 200));
    expect(planMerge([healed, ...small], options, segmentBytes)).toEqual({ reason: 'damaged', numbers: [2] });
    expect(planMerge([healed, segment(6, 0)], options, segmentBytes)?.numbers).toEqual([6]);
  });

  it('never merges a segment that is not mergeable, nor removals beside one', () => {
    const damaged = { ...segment(1, 0), mergeable: false };
    const open = { ...segment(9, 0), sealed: false, mergeable: false };
    expect(planMerge([damaged, segment(2, 100, 800), open], options, segmentBytes)).toBeUndefined();
    expect(planMerge([damaged, segment(2, 100, 800)], options, segmentBytes)).toBeUndefined();
    expect(planMerge([segment(2, 100, 800), open], options, segmentBytes)?.numbers).toEqual([2]);
  });
});
