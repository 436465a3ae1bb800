/** Tests the anti-entropy checks: each with the evidence that must break it. */
import { describe, expect, test } from 'vitest';

import type { ExchangeRecord } from './exchanges.ts';
import { checkExchanges, checkRepairs, checkStaleSnapshots, checkSweeps } from './exchanges.ts';

const exchange: ExchangeRecord = {
  node: 'n1',
  peer: 'n2',
  beganUs: 1,
  endedUs: 2,
  end: 'finished',
  code: '',
  listed: 0,
  reported: [],
  differing: new Set(),
  differingAtEnd: new Set(),
  touched: new Map(),
  touchedWithin: new Map(),
  doubted: new Set(),
  fromElsewhere: new Set(),
  removed: new Set(),
  flushed: new Set(),
  sinceSnapshot: new Set(),
  skipped: '',
  altered: false,
};
const repairedK = { key: 'k', outcome: 'repaired' };
const differs = new Set(['k']);

describe('exchange-soundness', () => {
  const ok = (record: Partial<ExchangeRecord>): boolean =>
    checkExchanges([{ ...exchange, ...record }], []).ok;

  test('holds when what is reported is what differs', () => {
    expect(ok({ reported: [repairedK], differing: differs })).toBe(true);
    expect(ok({ reported: [repairedK], touched: new Map([['k', 1]]) })).toBe(true);
    expect(ok({ differing: differs, touched: new Map([['k', 1]]) })).toBe(true);
    expect(ok({ differing: differs, end: 'aborted' })).toBe(true);
    expect(ok({ differing: differs, doubted: differs })).toBe(true);
  });

  test('breaks for a key that was the same, and for one that was passed over', () => {
    expect(ok({ reported: [repairedK] })).toBe(false);
    expect(ok({ differing: differs })).toBe(false);
  });

  test('a flushed object that one side still has may be reported, and need not be', () => {
    const flushed = { differing: differs, flushed: differs };
    expect(ok(flushed)).toBe(true);
    expect(ok({ ...flushed, reported: [repairedK] })).toBe(true);
    const stale = { ...exchange, ...flushed, sinceSnapshot: differs };
    expect(checkStaleSnapshots([stale]).ok).toBe(true);
    expect(checkStaleSnapshots([{ ...stale, flushed: new Set() }]).ok).toBe(false);
  });

  test('breaks for an exchange whose nodes do not understand each other', () => {
    expect(ok({ end: 'aborted', code: 'Timeout' })).toBe(true);
    expect(ok({ end: 'aborted', code: 'FrameInvalid' })).toBe(false);
    expect(ok({ end: 'aborted', code: 'Internal', skipped: 'the ring changes' })).toBe(false);
  });

  test('breaks for a leaf that does not match the store', () => {
    const leaf = { node: 'n1', atUs: 3, segment: 7, saved: '1 keys 4/5', derived: '1 keys 4/5' };
    expect(checkExchanges([], [leaf])).toMatchObject({ ok: true, checked: 1 });
    expect(checkExchanges([], [{ ...leaf, derived: '1 keys 4/6' }]).ok).toBe(false);
  });

  test('skips what cannot be judged', () => {
    const record = { ...exchange, differing: differs, skipped: 'the ring changes' };
    expect(checkExchanges([record], [])).toMatchObject({ ok: true, checked: 0, skipped: 1 });
  });
});

describe('repair-soundness', () => {
  const ok = (record: Partial<ExchangeRecord>): boolean => checkRepairs([{ ...exchange, ...record }], []).ok;

  test('breaks for a record that is no successor', () => {
    const succession = { node: 'n1', atUs: 1, key: 'k', fault: '' };
    expect(checkRepairs([], [succession]).ok).toBe(true);
    expect(checkRepairs([], [{ ...succession, fault: 'n1.a:4 was deleted and is back' }]).ok).toBe(false);
  });

  test('breaks for a repair that repaired nothing, unless others wrote the key', () => {
    const repair = { reported: [repairedK], differing: differs, touchedWithin: new Map([['k', 1]]) };
    expect(ok(repair)).toBe(true);
    expect(ok({ ...repair, differingAtEnd: differs })).toBe(false);
    expect(ok({ ...repair, differingAtEnd: differs, touchedWithin: new Map() })).toBe(false);
    expect(ok({ ...repair, differingAtEnd: differs, touchedWithin: new Map([['k', 2]]) })).toBe(true);
    expect(ok({ ...repair, differingAtEnd: differs, fromElsewhere: differs })).toBe(true);
    const unwritten = { ...repair, differingAtEnd: differs, touchedWithin: new Map() };
    expect(ok(unwritten)).toBe(false);
    expect(ok({ ...unwritten, removed: differs })).toBe(true);
    expect(ok({ ...repair, differingAtEnd: differs, doubted: differs })).toBe(true);
  });

  test('breaks for a sweep that begins before its interval is over', () => {
    const sweep = { incarnation: 'n1, life 1', atUs: 1_000_000, intervalUs: 60_000_000 };
    expect(checkSweeps([sweep, { ...sweep, atUs: 61_000_000 }])).toMatchObject({ ok: true, checked: 1 });
    expect(checkSweeps([sweep, { ...sweep, atUs: 60_000_000 }]).ok).toBe(false);
    expect(checkSweeps([sweep, { ...sweep, incarnation: 'n1, life 2', atUs: 2_000_000 }]).ok).toBe(true);
  });

  test('breaks for lists among equals, unless a leaf was altered', () => {
    expect(ok({ listed: 3 })).toBe(false);
    expect(ok({ listed: 3, altered: true })).toBe(true);
    expect(ok({ listed: 3, touched: new Map([['k', 1]]) })).toBe(true);
  });
});

describe('stale-snapshot-safety', () => {
  test('breaks for a key that changed after the snapshot, differs, and is called equal', () => {
    const stale = { ...exchange, sinceSnapshot: new Set(['k', 'l']) };
    expect(checkStaleSnapshots([stale])).toMatchObject({ ok: true, checked: 2 });
    expect(checkStaleSnapshots([{ ...stale, differing: differs }]).ok).toBe(false);
    expect(checkStaleSnapshots([{ ...stale, differing: differs, reported: [repairedK] }]).ok).toBe(true);
  });
});
