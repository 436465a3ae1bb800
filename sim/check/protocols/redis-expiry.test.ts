import { expect, it } from 'vitest';

import { levelReach } from '../../evidence/level-reach.ts';
import type { RedisRecord } from '../../evidence/redis.ts';
import { checkRedisExpiry } from './redis-expiry.ts';

const ms = 1_000;
const exact = { leastMs: 0, mostMs: 0 };

function record(over: Partial<RedisRecord>): RedisRecord {
  return {
    id: 'q1',
    kind: 'mortal',
    client: 'r0',
    node: 'n1',
    datacenter: 'dc1',
    key: 0,
    other: 0,
    amount: 100,
    invokedUs: 0,
    completedUs: 1 * ms,
    outcome: 'ok',
    reason: '',
    counted: undefined,
    balances: [],
    found: undefined,
    replies: [],
    final: false,
    ...over,
  };
}

const look = (atMs: number, found: string | undefined): RedisRecord =>
  record({
    id: 'q2',
    kind: 'look',
    node: 'n2',
    invokedUs: atMs * ms,
    completedUs: (atMs + 1) * ms,
    found,
  });

const reasonsOf = (read: RedisRecord, clocks: Parameters<typeof checkRedisExpiry>[1]): readonly string[] =>
  checkRedisExpiry([record({}), read], clocks, levelReach({})).reasons;

it('with exact clocks a value lives exactly its time', () => {
  const clocks = new Map([
    ['n1', exact],
    ['n2', exact],
  ]);
  expect(reasonsOf(look(90, 'q1'), clocks)).toEqual([]);
  expect(reasonsOf(look(110, undefined), clocks)).toEqual([]);
  expect(reasonsOf(look(110, 'q1'), clocks)[0]).toContain('outlived');
  expect(reasonsOf(look(90, undefined), clocks)[0]).toContain('has not lived its time');
});

it('the errors of clocks excuse what they explain, and no more', () => {
  const behind = new Map([
    ['n1', exact],
    ['n2', { leastMs: -50, mostMs: 0 }],
  ]);
  expect(reasonsOf(look(140, 'q1'), behind)).toEqual([]);
  expect(reasonsOf(look(160, 'q1'), behind)[0]).toContain('outlived');
  // Neither dates the value nor is asked for it, but may drop it.
  const ahead = new Map([...behind, ['n3', { leastMs: 0, mostMs: 30 }]]);
  expect(reasonsOf(look(80, undefined), ahead)).toEqual([]);
  expect(reasonsOf(look(60, undefined), ahead)[0]).toContain('has not lived its time');
});

it('a write that its client gave up may be carried out as long as its node works on it', () => {
  const clocks = new Map([
    ['n1', exact],
    ['n2', exact],
  ]);
  const given = (atMs: number, outcome: RedisRecord['outcome']): readonly string[] => {
    const read = { ...look(atMs, 'q1'), final: true };
    return checkRedisExpiry([record({ outcome }), read], clocks, levelReach({ request_timeout_ms: 500 }))
      .reasons;
  };
  expect(given(550, 'unknown')).toEqual([]);
  expect(given(700, 'unknown')[0]).toContain('outlived');
  expect(given(550, 'ok')[0]).toContain('outlived');
});

it('a value of another datacenter may not have come yet, unless writes wait for every datacenter', () => {
  const clocks = new Map([
    ['n1', exact],
    ['n2', exact],
  ]);
  const elsewhere = { ...look(50, undefined), datacenter: 'dc2' };
  const seen = (settings: Readonly<Record<string, unknown>>, read = elsewhere): number =>
    checkRedisExpiry([record({}), read], clocks, levelReach(settings)).reasons.length;
  expect(seen({})).toBe(0);
  expect(seen({ write_consistency: 'DC_EACH_SAFE_QUORUM' })).toBe(1);
  expect(seen({ read_consistency: 'DC_ONE' }, look(50, undefined))).toBe(0);
});

it('a watched value that expires keeps EXEC from running', () => {
  const queued = ['+OK', '+QUEUED', '*[":1"]', '+OK'];
  const watched = (amount: number, replies: readonly string[], leastMs = 0): readonly string[] => {
    const clocks = new Map([['n1', { leastMs, mostMs: 0 }]]);
    return checkRedisExpiry([record({ kind: 'watched', amount, replies })], clocks, levelReach({})).reasons;
  };
  expect(watched(2, ['+OK', '+QUEUED', 'nil', '+OK'])).toEqual([]);
  expect(watched(2, queued)[0]).toContain('had expired');
  // The value does not expire; it was not read in time; the clock may have gone back.
  expect(watched(6, queued)).toEqual([]);
  expect(watched(2, [])).toEqual([]);
  expect(watched(2, queued, -200)).toEqual([]);
});
