import fc from 'fast-check';
import { expect, it } from 'vitest';

import { LockstepError } from '../../engine/base/errors.ts';
import { commonRun, identityDifference, parseCheckpoint } from './checkpoint.ts';
import type { Checkpoint } from './checkpoint.ts';
import { emptyTally } from './tally.ts';

const checkpoint: Checkpoint = {
  ...{ format: 1, version: '0.1.0', build: 'ab'.repeat(32), firstSeed: 1, shard: { index: 0, count: 2 } },
  ...{ startedAt: '2026-01-02T03:04:05.000Z', wallMs: 5 },
  scenarios: [{ name: 'calm', seeds: [[1, 9]], tally: emptyTally() }],
  coverage: { runs: 0, cells: [] },
};

it('a checkpoint is read as it was written', () => {
  expect(parseCheckpoint(JSON.stringify(checkpoint))).toEqual(checkpoint);
});

it.each([
  ['{"format": 1', 'is not JSON'],
  ['{"format": 2}', 'reads checkpoints of format 1, not 2'],
  ['null', 'not none'],
  ['{"format": 1, "scenarios": []}', 'version is no text'],
  [JSON.stringify({ ...checkpoint, shard: { index: 2, count: 2 } }), 'shard is no index below a count'],
  [JSON.stringify({ ...checkpoint, build: 7 }), 'build is no text'],
  [JSON.stringify({ ...checkpoint, startedAt: null }), 'startedAt is no text'],
  [JSON.stringify({ ...checkpoint, mutant: {} }), 'mutant is no text'],
  [JSON.stringify({ ...checkpoint, wallMs: null }), 'wallMs is no number'],
  [JSON.stringify({ ...checkpoint, coverage: null }), 'coverage has no list of cells'],
  [JSON.stringify({ ...checkpoint, scenarios: [{ name: 'calm' }] }), 'scenarios[0] lacks its name'],
])('what is none is refused: %s', (text, why) => {
  expect(() => parseCheckpoint(text)).toThrow(why);
});

it('any other JSON is refused as a bad request', () => {
  fc.assert(
    fc.property(fc.json(), (text) => {
      expect(() => parseCheckpoint(text)).toThrow(LockstepError);
    }),
  );
});

it('a checkpoint with one altered part is refused as a bad request, or has parts of the types that it promises', () => {
  fc.assert(
    fc.property(fc.constantFrom(...Object.keys(checkpoint)), fc.jsonValue(), (name, value) => {
      const text = JSON.stringify({ ...checkpoint, [name]: value });
      try {
        const { version, build, startedAt, wallMs } = parseCheckpoint(text);
        expect([version, build, startedAt].map((one) => typeof one)).toEqual(['string', 'string', 'string']);
        expect(wallMs).toBeTypeOf('number');
      } catch (error) {
        if (!(error instanceof LockstepError)) throw error;
      }
    }),
  );
});

it('says what two campaigns differ in, and which seed both ran', () => {
  const other = { ...checkpoint, shard: { index: 1, count: 2 } };
  expect(identityDifference(checkpoint, other, true)).toBe('--shard is 0/2 in one and 1/2 in the other');
  expect(identityDifference(checkpoint, other, false)).toBeUndefined();
  expect(identityDifference(checkpoint, { ...other, mutant: 'ack-before-sync' }, false)).toContain(
    '--mutant',
  );
  expect(commonRun(checkpoint, checkpoint)).toBe('calm, seed 1');
  const even = { ...other, scenarios: [{ name: 'calm', seeds: [[2, 8]], tally: emptyTally() }] } as const;
  expect(commonRun(checkpoint, even)).toBeUndefined();
});
