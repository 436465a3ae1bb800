import { expect, it } from 'vitest';

import { levelReach } from '../../evidence/level-reach.ts';
import type { RedisRecord } from '../../evidence/redis.ts';
import { checkRedisCounters } from './redis-counters.ts';

let number = 0;

/** An operation on one counter that takes a millisecond from `atMs` on. */
function record(
  kind: 'incr' | 'read' | 'watched',
  counted: number | undefined,
  atMs: number,
  over: Partial<RedisRecord> = {},
): RedisRecord {
  const id = `q${number++}`;
  return {
    ...{ id, kind, counted, client: 'r0', node: 'n1', datacenter: 'dc1', key: 0, other: 0, amount: 1 },
    ...{ invokedUs: atMs * 1000, completedUs: (atMs + 1) * 1000, outcome: 'ok', reason: '' },
    ...{ balances: [], found: undefined, replies: [], final: false },
    ...over,
  };
}

function reasons(...records: readonly RedisRecord[]): string {
  return checkRedisCounters(records, levelReach({})).reasons.join('\n');
}

const elsewhere = { node: 'n4', datacenter: 'dc2' };

it('increments and reads that follow each other are right', () => {
  expect(
    reasons(record('incr', 1, 0), record('read', 1, 10), record('incr', 2, 20), record('read', 2, 30)),
  ).toBe('');
});

it('a read must show what was answered in its datacenter before it began', () => {
  expect(reasons(record('incr', 1, 0), record('incr', 2, 10), record('read', 1, 20))).toContain(
    'does not see',
  );
  // Levels count replicas of the client's datacenter.
  expect(reasons(record('incr', 1, 0), record('incr', 2, 10), record('read', 1, 20, elsewhere))).toBe('');
  expect(
    reasons(record('incr', 1, 0, elsewhere), record('incr', 2, 10), record('read', 0, 20, elsewhere)),
  ).toContain('does not see');
});

it('an increment must count every one that was answered, in whatever datacenter', () => {
  expect(reasons(record('incr', 1, 0), record('incr', 1, 10, elsewhere))).toContain(
    'one number for two increments',
  );
  expect(
    reasons(record('incr', 1, 0), record('incr', 2, 10), record('incr', 1, 20, { ...elsewhere, key: 0 })),
  ).toContain('does not see');
});

it('more than was sent is noticed, and less at the end', () => {
  expect(reasons(record('incr', 3, 0))).toContain('1 increments at most');
  expect(reasons(record('incr', 1, 0), record('read', 0, 50, { final: true }))).toContain(
    'were acknowledged',
  );
});

it('another datacenter shows every increment once the replicas are equal', () => {
  const records = [record('incr', 1, 0), record('read', 0, 50, { ...elsewhere, final: true })];
  expect(checkRedisCounters(records, levelReach({})).reasons).toEqual([]);
  expect(checkRedisCounters(records, levelReach({}, true)).reasons.join()).toContain('were acknowledged');
  const everywhere = levelReach({ write_consistency: 'DC_EACH_SAFE_QUORUM' });
  expect(checkRedisCounters(records, everywhere).reasons.join()).toContain('were acknowledged');
});

it('nodes tell the same balances at the end, those of another datacenter once the replicas are equal', () => {
  const snapshot = (balances: readonly number[], over: Partial<RedisRecord> = {}): RedisRecord => ({
    ...record('read', undefined, 50, over),
    ...{ kind: 'snapshot', balances, final: true },
  });
  const [here, beside, away] = [
    snapshot([1, -1]),
    snapshot([2, -2], { node: 'n2' }),
    snapshot([2, -2], elsewhere),
  ];
  expect(reasons(here, beside)).toContain('other balances');
  expect(reasons(here, away)).toBe('');
  expect(checkRedisCounters([here, away], levelReach({}, true)).reasons.join()).toContain('other balances');
});

it('WATCH keeps a script from running between MULTI and EXEC, and no other one', () => {
  const watched = (amount: number, counted: number | undefined, ...replies: readonly string[]): string =>
    reasons(
      record('watched', counted, 0, { amount, replies, outcome: counted === undefined ? 'fail' : 'ok' }),
    );
  // Plain; behind a write of the watched key; between MULTI and EXEC; both.
  expect(watched(4, 1, ':1', '+OK')).toBe('');
  expect(watched(5, 1, '+OK', ':1', '+OK')).toBe('');
  expect(watched(5, undefined, '+OK', 'nil', '+OK')).toContain('WATCH kept a script from running');
  expect(watched(6, 1, '+OK', '+QUEUED', '*[":1"]', '+OK')).toBe('');
  expect(watched(7, undefined, '+OK', '+OK', '+QUEUED', 'nil', '+OK')).toBe('');
  expect(watched(7, 1, '+OK', '+OK', '+QUEUED', '*[":1"]', '+OK')).toContain('the watched key was written');
  // The write, or the script, failed: nothing is known.
  expect(watched(7, 1, '-NOQUORUM', '+OK', '+QUEUED', '*[":1"]', '+OK')).toBe('');
  expect(watched(5, undefined, '+OK', '-TIMEOUT')).toBe('');
});

it('a counter of a transaction with two outcomes is not compared, and the others are', () => {
  const twice = [record('incr', 1, 0), record('incr', 1, 10)];
  const other = [record('incr', 1, 0, { key: 1 }), record('incr', 1, 10, { key: 1 })];
  const judge = (...records: readonly RedisRecord[]): string =>
    checkRedisCounters(records, levelReach({}), new Set(['redis/c0'])).reasons.join();
  expect(judge(...twice)).toBe('');
  expect(judge(...twice, ...other)).toContain('one number for two increments');
});
