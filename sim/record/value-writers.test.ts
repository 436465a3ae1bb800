import { expect, it } from 'vitest';

import type { RecordedOperation } from './recording.ts';
import { writersOf } from './value-writers.ts';

const lanes = [
  { name: 'x3', kind: 'client' as const },
  { name: 'c2', kind: 'client' as const },
];
const operation = (id: string, lane: number, text: string): RecordedOperation => ({
  ...{ id, lane, text, node: 0, invokedUs: 1, completedUs: 2, outcome: 'ok', about: [] },
});

it('a value names the transaction or the put that wrote it', () => {
  const operations = [
    operation('#t73', 0, '#73 x3 stamp triples/s0.0 at n1: ok'),
    operation('#t7', 0, '#7 x3 stamp triples/s0.0 at n1: ok'),
    operation('#t73', 1, '#73 c2 stamp triples/s0.0 at n1: ok'),
    operation('#4', 1, '#4 c2 put newest/k1 «w:c2:13» at n1: ok'),
    operation('#5', 1, '#5 c2 get newest/k1 at n1: ok «w:c2:13»'),
  ];
  expect(writersOf('s0 is torn: s0.0=«w:x3:t73.0» s0.7=«»', operations, { lanes })).toEqual([0]);
  expect(writersOf('newest/k1 lacks «w:c2:13»', operations, { lanes })).toEqual([3]);
  expect(writersOf('s0 is empty', operations, { lanes })).toEqual([]);
});
