import { expect, it } from 'vitest';

import { reapedTombstonesOf } from './reaped-tombstones.ts';
import { emptyConcern, emptyRecording } from './recording.fixture.ts';

const held = (lane: number, atUs: number, text: string, key = 0) => ({ lane, atUs, key, text });
const tombstone = 'a tombstone (64 bytes)';

it('a tombstone is reaped where nothing follows it, and the youngest comes first', () => {
  const states = [
    held(0, 1000, tombstone),
    held(1, 2000, tombstone),
    held(1, 1_500_000, 'nothing'),
    held(0, 1_600_000, 'nothing'),
    held(2, 1000, '«w» (9 bytes)'),
    held(2, 2000, 'nothing'),
    held(2, 3000, tombstone, 1),
    held(2, 9000, 'nothing', 1),
  ];
  expect(reapedTombstonesOf({ ...emptyRecording(), concern: emptyConcern(), states }, 0)).toEqual([
    { lane: 1, atUs: 1_500_000, ageUs: 1_498_000 },
    { lane: 0, atUs: 1_600_000, ageUs: 1_599_000 },
  ]);
});

it('a disk that lost a tombstone has not reaped it', () => {
  const marks = [{ lane: 0, atUs: 40_000, kind: 'start' as const, text: '', about: [] }];
  const states = [held(0, 1000, tombstone), held(0, 50_000, 'nothing')];
  expect(reapedTombstonesOf({ ...emptyRecording(), concern: emptyConcern(), marks, states }, 0)).toEqual([]);
});
