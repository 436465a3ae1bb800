import { expect, it } from 'vitest';

import { keysOfRedis } from './redis-keys.ts';
import { databaseActOf, databaseWords } from './redis-databases.ts';
import { describeRedis } from './redis.ts';
import type { RedisRecord } from './redis.ts';

const record: RedisRecord = {
  ...{ id: 'q1', kind: 'incr', client: 'r0', node: 'n1', datacenter: 'dc1', key: 2, other: 1, amount: 5 },
  ...{ invokedUs: 0, completedUs: 1, outcome: 'ok', reason: '', counted: undefined, balances: [] },
  ...{ found: undefined, replies: [], final: false },
};

it('an operation names the keys of its commands', () => {
  expect(keysOfRedis(record)).toEqual(['c2']);
  expect(keysOfRedis({ ...record, kind: 'transfer' })).toEqual(['a2', 'a1']);
  expect(keysOfRedis({ ...record, kind: 'watched', other: 0 })).toEqual(['a0', 'c2']);
  expect(keysOfRedis({ ...record, kind: 'snapshot', balances: [1, 2] })).toEqual(['a0', 'a1']);
  expect(keysOfRedis({ ...record, kind: 'publish' })).toEqual([]);
});

it('an operation on a flushed database is described by its commands', () => {
  const told = [0, 3, 10, 75, 95].map((amount) => databaseWords(databaseActOf({ amount }, false)));
  expect(told).toEqual([
    'audit in database 3',
    'FLUSHDB in database 3',
    'SET v0 in database 3',
    'MULTI-SET x0 y0 in database 3',
    'DBSIZE in database 3',
  ]);
  expect(databaseWords({ kind: 'flush', all: true })).toBe('FLUSHALL');
});

it('a value that expires is described by its commands', () => {
  const mortal = { ...record, kind: 'mortal', key: 3 } as const;
  expect(describeRedis({ ...mortal, amount: 288 })).toBe('#q1 r0 SET m3 q1 PX 288 at n1: ok ');
  expect(describeRedis({ ...mortal, amount: 252 })).toBe(
    '#q1 r0 MULTI, SET m3 q1, GETEX m3 PX 252, EXEC at n1: ok ',
  );
  expect(describeRedis({ ...mortal, amount: 251 })).toBe(
    '#q1 r0 MULTI, SET m3  PX 251, APPEND m3 q1, EXEC at n1: ok ',
  );
});
