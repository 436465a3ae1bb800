import { expect, it } from 'vitest';

import { pipelineCommands } from '../../evidence/redis-pipelines.ts';
import type { RedisRecord } from '../../evidence/redis.ts';
import type { ReadTerms } from './redis-reads.ts';
import { checkRedisReads } from './redis-reads.ts';

const about = { id: 'q1', kind: 'sets', amount: 1 } as const;

/** SETs, an MGET and GETs with the given reply to the last of them. */
function sets(node: string, last: string): RedisRecord {
  const replies = pipelineCommands(about).map(({ kind }) => (kind === 'set' ? '+OK' : 'nil'));
  return {
    ...{ ...about, client: 'r1', node, datacenter: 'dc1', key: 0, other: 0, final: false },
    ...{ invokedUs: 0, completedUs: 9, outcome: 'ok', reason: '', counted: undefined, balances: [] },
    found: undefined,
    replies: [...replies.slice(0, -1), last],
  };
}

const termsOf = (able: number, need: number): ReadTerms => ({
  datacenters: new Map([['dc1', { able, need }]]),
  hindered: new Set(['n3']),
});

it('a GET may not fail for want of answers while enough replicas can answer', () => {
  const verdict = (record: RedisRecord, terms: ReadTerms | undefined): readonly [boolean, number] => {
    const { ok, checked } = checkRedisReads([record], terms);
    return [ok, checked];
  };
  expect(verdict(sets('n1', 'nil'), termsOf(2, 2))[0]).toBe(true);
  for (const error of ['-NOQUORUM 1 of 2', '-TIMEOUT the deadline passed'])
    expect(verdict(sets('n1', error), termsOf(2, 2))[0]).toBe(false);
  // It is refused for another reason; too few can answer; the node itself is hindered; the plan does not tell.
  expect(verdict(sets('n1', '-OVERLOADED'), termsOf(2, 2))[0]).toBe(true);
  for (const [record, terms] of [
    [sets('n1', '-TIMEOUT'), termsOf(1, 2)],
    [sets('n3', '-TIMEOUT'), termsOf(2, 2)],
    [sets('n1', '-TIMEOUT'), undefined],
  ] as const)
    expect(verdict(record, terms)).toEqual([true, 0]);
});
