import { expect, it } from 'vitest';

import { levelReach } from '../../evidence/level-reach.ts';
import type { DatabaseAct } from '../../evidence/redis-databases.ts';
import { audited, databaseActOf } from '../../evidence/redis-databases.ts';
import type { RedisRecord } from '../../evidence/redis.ts';
import { checkRedisFlushes } from './redis-flushes.ts';

/** A command of that kind on the database, from `invokedUs` to a microsecond later. */
function command(kind: DatabaseAct['kind'], invokedUs: number, replies: readonly string[]): RedisRecord {
  for (let number = 0; ; number++) {
    const record: RedisRecord = {
      ...{ id: `q${number}`, kind: 'database', amount: number, client: 'r1', node: 'n1', datacenter: 'dc1' },
      ...{ key: 0, other: 0, final: false, invokedUs, completedUs: invokedUs + 1, outcome: 'ok', reason: '' },
      ...{ counted: undefined, balances: [], found: undefined, replies },
    };
    if (databaseActOf(record, false).kind === kind) return record;
  }
}

it('the halves of a pair agree, unless a flush that deletes key by key may have taken one', () => {
  const write = command('setPair', 10, []);
  const flushAt = (invokedUs: number): RedisRecord => command('flush', invokedUs, []);
  const halves = (left: string, right: string, flush: RedisRecord, byKey: boolean): readonly number[] => {
    const read = command('getPair', 20, ['+OK', `*${JSON.stringify([left, right])}`]);
    const records = [write, flush, read];
    const { reasons, skipped } = checkRedisFlushes(records, levelReach({}), new Set(), byKey);
    return [reasons.filter((reason) => reason.startsWith('half of a transaction')).length, skipped];
  };
  const half = `=${write.id}`;
  expect(halves(half, half, flushAt(15), false)).toEqual([0, 0]);
  expect(halves('nil', half, flushAt(15), false)).toEqual([1, 0]);
  expect(halves('nil', half, flushAt(15), true)).toEqual([0, 1]);
  // The flush was over before the pair was written; both halves are there, and differ.
  expect(halves('nil', half, flushAt(5), true)).toEqual([1, 0]);
  expect(halves('=another', half, flushAt(15), true)).toEqual([1, 0]);
});

it('SCAN comes to an end, and names each key that no flush may have taken', () => {
  const write = command('set', 10, []);
  const { key } = databaseActOf(write, false) as { readonly key: string };
  const found = audited.keys.map((one) => (one === key ? `=${write.id}` : 'nil'));
  const audit: RedisRecord = { ...command('size', 20, ['+OK', ...found]), amount: 0 };
  const faults = (keys: readonly string[], ended: boolean, flushUs: number): readonly string[] => {
    const records = [write, command('flush', flushUs, []), { ...audit, walked: { keys, ended } }];
    return checkRedisFlushes(records, levelReach({})).reasons;
  };
  expect(faults([key], true, 5)).toEqual([]);
  expect(faults([], true, 5)).toEqual([expect.stringContaining(`${key} is not there`)]);
  expect(faults([], true, 15)).not.toContainEqual(expect.stringContaining(`${key} is not there`));
  expect(faults([key], false, 5)).toEqual([expect.stringContaining('SCAN comes to no end')]);
});
