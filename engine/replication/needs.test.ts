import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { AskedRead, AskedWrite } from './needs.ts';
import type { ConsistencyLevel, Need, ReadNeed } from './requests.ts';
import { consistencyLevels } from './requests.ts';
import { absenceNeed, bucketReadNeed, bucketWriteNeed, nothingAsked, readNeed, writeNeed } from './needs.ts';
import { defaultProperties } from '../buckets/properties.ts';

const need = fc.oneof(
  fc.constantFrom<Need>('default', 'one', 'quorum', 'all'),
  fc.integer({ min: 0, max: 6 }),
);
const copies = fc.integer({ min: 1, max: 5 });

/** How many replicas a need waits for; a level other than DC_ONE waits for a majority at least. */
function numberOf(one: ReadNeed, level: ConsistencyLevel, count: number): number {
  const words = { primary: 1, one: 1, quorum: Math.floor(count / 2) + 1, all: count };
  if (typeof one === 'number') return one;
  if (typeof one === 'object') return Math.max(one.atLeast, words.quorum);
  return one === 'default' ? (level === 'DC_ONE' ? 1 : words.quorum) : words[one];
}

test('a read asks the primary alone unless another parameter needs more than one replica', () => {
  const terms = { readLevel: 'DC_QUORUM', writeLevel: 'DC_QUORUM', replicaCount: () => 3 } as const;
  expect(readNeed(terms, 'primary', 'default', 'default')).toBe('primary');
  expect(readNeed(terms, 'primary', 1, 'one')).toBe('primary');
  expect(readNeed(terms, 'primary', 'all', 'default')).toBe('all');
  expect(absenceNeed(terms, 'primary', false)).toBe(undefined);
});

test('one need waits for as many replicas as the strongest parameter given, and for one at least', () => {
  const level = fc.constantFrom(...consistencyLevels);
  fc.assert(
    fc.property(level, copies, need, need, need, need, (at, count, first, second, third, fourth) => {
      const terms = { readLevel: at, writeLevel: at, replicaCount: () => count };
      const others = (list: Need[]): number[] =>
        list.map((one) => (one === 'default' ? 0 : numberOf(one, at, count)));
      const read = readNeed(terms, first, second, third);
      expect(numberOf(read, at, count)).toBe(
        Math.max(1, numberOf(first, at, count), ...others([second, third])),
      );
      const write = writeNeed(terms, first, second, third, fourth);
      expect(numberOf(write, at, count)).toBe(
        Math.max(1, numberOf(first, at, count), ...others([second, third, fourth])),
      );
    }),
    { numRuns: 1000 },
  );
});

test('the configured level holds unless a parameter asks for more', () => {
  const terms = { readLevel: 'DC_SAFE_QUORUM', writeLevel: 'DC_ONE', replicaCount: () => 3 } as const;
  expect(readNeed(terms, 'default', 2, 'quorum')).toBe('default');
  expect(readNeed(terms, 'default', 3, 'default')).toBe(3);
  expect(writeNeed(terms, 'default', 1, 'one', 'default')).toBe('default');
  expect(writeNeed(terms, 'default', 'quorum', 'default', 'default')).toBe('quorum');
});

test('pr, pw, dw and node_confirms raise a level of several datacenters', () => {
  const level = 'DC_EACH_SAFE_QUORUM';
  const terms = { readLevel: level, writeLevel: level, replicaCount: () => 3 } as const;
  expect(readNeed(terms, 'default', 3, 'default')).toEqual({ atLeast: 3 });
  expect(writeNeed(terms, 'default', 'all', 'default', 'default')).toEqual({ atLeast: 3 });
  expect(writeNeed(terms, 'default', 'default', 2, 'quorum')).toBe('default');
  // `r` and `w` replace the level.
  expect(readNeed(terms, 2, 3, 'default')).toBe(3);
  expect(writeNeed(terms, 1, 'default', 'default', 'default')).toBe(1);
});

test('the parameter that asks for the most is named: the stricter kind where they ask alike, and a level by r or w', () => {
  const terms = { readLevel: 'DC_QUORUM', writeLevel: 'DC_QUORUM', replicaCount: () => 3 } as const;
  const read = (asked: Partial<AskedRead & AskedWrite>): string =>
    bucketReadNeed(terms, defaultProperties, { ...nothingAsked, ...asked }).quorum;
  const write = (asked: Partial<AskedRead & AskedWrite>): string =>
    bucketWriteNeed(terms, defaultProperties, { ...nothingAsked, ...asked }).quorum;
  expect([read({}), write({})]).toEqual(['r', 'w']);
  expect([read({ pr: 1 }), read({ pr: 2 }), read({ r: 'all', pr: 'quorum' })]).toEqual(['r', 'pr', 'r']);
  expect([read({ r: 'primary' }), read({ r: 'primary', pr: 2 })]).toEqual(['r', 'pr']);
  expect([read({ nodeConfirms: 2 }), read({ nodeConfirms: 3 })]).toEqual(['r', 'node_confirms']);
  expect([write({ dw: 2 }), write({ dw: 3, pw: 3 }), write({ w: 3, dw: 2, pw: 2 })]).toEqual([
    'dw',
    'pw',
    'w',
  ]);
  const ofBucket = { ...defaultProperties, pw: 'all' } as const;
  expect(bucketWriteNeed(terms, ofBucket, nothingAsked).quorum).toBe('pw');
});
