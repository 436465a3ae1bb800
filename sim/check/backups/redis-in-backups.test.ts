import { expect, it } from 'vitest';

import type { BackedUpRedisKey, BackupContents } from '../../evidence/backups.ts';
import type { RedisRecord } from '../../evidence/redis.ts';
import { wholeDisks } from '../objects/disk-losses.ts';
import { Tally } from '../report.ts';
import { checkRedisInBackup } from './redis-in-backups.ts';

const record: RedisRecord = {
  ...{ id: 'q1', kind: 'incr', client: 'r0', node: 'n1', datacenter: 'dc1', key: 2, other: 1, amount: 5 },
  ...{ invokedUs: 10, completedUs: 20, outcome: 'ok', reason: '', counted: undefined, balances: [] },
  ...{ found: undefined, replies: [], final: false },
};

/** The moment of the backup lies between 1 s and 1.1 s. */
const moment = { id: 'k0', heldUs: 1_000_000, releasedUs: 1_100_000, completedUs: 2_000_000 };

function key(name: string, value: string, expiresUs?: number): BackedUpRedisKey {
  return { key: name, value, expiresUs };
}

/** The first reason, or an empty text. */
function complaint(
  redisKeys: readonly BackedUpRedisKey[],
  redis: readonly RedisRecord[],
  over: { readonly inDoubt?: readonly string[]; readonly mixed?: readonly string[] } = {},
): string {
  const tally = new Tally('backup-consistency');
  const { inDoubt = [], mixed = [] } = over;
  const contents: BackupContents = {
    ...{ objects: [], transactionKeys: [], redisKeys, inDoubt, aborted: [], unreadable: 0 },
  };
  const clockErrors = new Map([['n1', { leastMs: -50, mostMs: 0 }]]);
  const evidence = { redis, clockErrors, diskLosses: wholeDisks, mixed: new Set(mixed) };
  checkRedisInBackup({ ...moment, contents }, evidence, tally);
  return tally.report().reasons[0] ?? '';
}

it('a counter holds what was acknowledged, and nothing that had not begun', () => {
  const under = { ...record, completedUs: 1_500_000 };
  const later = { ...record, invokedUs: 1_200_000, completedUs: 1_300_000 };
  const all = [record, under, later];
  expect(complaint([key('c2', '1')], all)).toBe('');
  expect(complaint([key('c2', '2')], all)).toBe('');
  expect(complaint([key('c2', '3')], all)).toContain('2 had begun');
  expect(complaint([], all)).toContain('holds nothing under c2: 1 increments were acknowledged');
  expect(complaint([], all, { inDoubt: ['n1-1'] })).toBe('');
  expect(complaint([], all, { mixed: ['redis/c2'] })).toBe('');
});

it('balances add up to zero', () => {
  const read = { ...record, kind: 'snapshot' } as const;
  expect(complaint([key('a0', '7'), key('a1', '-7')], [read])).toBe('');
  expect(complaint([key('a0', '7'), key('a1', '-6')], [read])).toContain('add up to 1');
  expect(complaint([key('a0', '7')], [read], { mixed: ['redis/a1'] })).toBe('');
});

it('a value that expires is there until then, and expires as its write said', () => {
  const long = { ...record, kind: 'mortal', amount: 1500 } as const;
  const short = { ...long, amount: 700 };
  expect(complaint([key('m2', 'q1', 1_460_000)], [long])).toBe('');
  expect(complaint([key('m2', 'q1', 1_400_000)], [long])).toContain('until 1400000 us');
  expect(complaint([key('m2', 'q1', 1_510_000)], [long])).toContain('until 1510000 us');
  expect(complaint([key('m2', 'q1')], [long])).toContain('without an expiry');
  expect(complaint([key('m2', 'q7', 1_500_000)], [long])).toContain('which no client wrote');
  expect(complaint([], [long])).toContain('lacks m2');
  expect(complaint([], [short])).toBe('');
  expect(complaint([], [long, { ...long, id: 'q2', outcome: 'unknown' }])).toBe('');
});

it('a watched key holds what its client wrote last', () => {
  const watched = { ...record, kind: 'watched', replies: ['+OK'] } as const;
  const touched = { ...watched, amount: 1 };
  const watching = { ...watched, id: 'q2', amount: 4, replies: [], completedUs: 1_500_000 };
  const expiring = { ...watching, amount: 2 };
  expect(complaint([key('w-r0', 'q1')], [touched, watching])).not.toContain('w-r0');
  expect(complaint([key('c2', '1')], [touched, watching])).toContain('holds nothing under w-r0');
  expect(complaint([key('c2', '1'), key('w-r0', 'q1', 5)], [touched])).toContain('q1, expiry 5');
  expect(complaint([key('c2', '1')], [{ ...touched, replies: [] }])).toBe('');
  expect(complaint([key('c2', '1')], [touched, expiring])).toBe('');
});
