import { expect, it } from 'vitest';

import { formerEpochsOf } from './former-epochs.ts';
import { emptyConcern, emptyRecording } from './recording.fixture.ts';

it('names the copies of flushed epochs, those of the keys concerned first', () => {
  const state = { lane: 0, atUs: 1000, text: '=q1 (90 bytes)' };
  const run = { ...emptyRecording(), concern: emptyConcern(), subjects: ['k3', 'y0'] };
  const [concerned, other] = [
    { ...state, key: 0, former: true },
    { ...state, lane: 1, key: 1, former: true },
  ] as const;
  expect(formerEpochsOf({ ...run, states: [concerned, other] })).toEqual([
    'Flushed epochs: at 0.0010 s n1 writes k3 under an epoch that a flush had ended, although it had written other keys of that bucket under the later one.',
  ]);
  expect(formerEpochsOf({ ...run, states: [other] })).toHaveLength(1);
  expect(formerEpochsOf({ ...run, states: [{ ...state, key: 0 }] })).toEqual([]);
});
