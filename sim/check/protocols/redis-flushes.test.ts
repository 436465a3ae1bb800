import { expect, it } from 'vitest';

import { levelReach } from '../../evidence/level-reach.ts';
import { databaseActOf } from '../../evidence/redis-databases.ts';
import type { RedisRecord } from '../../evidence/redis.ts';
import { checkRedisFlushes } from './redis-flushes.ts';

/** A transaction that reads both keys of a pair. */
function readsPair(left: string, right: string): RedisRecord {
  for (let number = 0; ; number++) {
    const record: RedisRecord = {
      ...{ id: `q${number}`, kind: 'database', amount: number, client: 'r1', node: 'n1', datacenter: 'dc1' },
      ...{ key: 0, other: 0, final: false, invokedUs: 0, completedUs: 9, outcome: 'ok', reason: '' },
      ...{ counted: undefined, balances: [], found: undefined },
      replies: ['+OK', `*${JSON.stringify([left, right])}`],
    };
    if (databaseActOf(record, false).kind === 'getPair') return record;
  }
}

it('the halves of a pair agree, unless a flush deletes key by key', () => {
  const halves = (record: RedisRecord, byKey: boolean): readonly [number, number] => {
    const { reasons, skipped } = checkRedisFlushes([record], levelReach({}), new Set(), byKey);
    return [reasons.filter((reason) => reason.startsWith('half of a transaction')).length, skipped];
  };
  expect(halves(readsPair('nil', '=q7'), false)).toEqual([1, 0]);
  expect(halves(readsPair('=q7', '=q7'), false)).toEqual([0, 0]);
  expect(halves(readsPair('nil', '=q7'), true)).toEqual([0, 1]);
});
