import { describe, expect, it } from 'vitest';

import type { CorruptionRecords } from './corruption.ts';
import { checkCorruption } from './corruption.ts';
import { readAt } from '../history-fixture.ts';

const place = { node: 'n1', path: 'store/00000001.log', from: 100, to: 101 };
const flip = { ...place, atUs: 10 };
const handed = { ...place, atUs: 20, life: 2, endedUs: undefined };
const report = { ...place, from: 90, to: 150, atUs: 21, life: 2 };
const nothing: CorruptionRecords = { altered: [], handed: [], reports: [], failedReads: [] };

function broken(records: Partial<CorruptionRecords>): string | undefined {
  return checkCorruption([], { ...nothing, ...records }).firstBad?.text;
}

describe('data-integrity', () => {
  it('accepts what was written, and counts only what was read after something was altered', () => {
    const history = [readAt(5, ['a']), readAt(30, ['a', 'b'])];
    const outcome = checkCorruption(history, { ...nothing, altered: [flip] });
    expect(outcome).toMatchObject({ ok: true, checked: 2, skipped: 1 });
  });

  it('accuses a value that differs from what a client wrote (negative control)', () => {
    const outcome = checkCorruption([readAt(30, ['(changed: a)'])], { ...nothing, altered: [flip] });
    expect(outcome.firstBad?.text).toContain('(changed: a)');
  });

  it('accuses an incarnation that read rotten bytes and reports nothing (negative control)', () => {
    expect(broken({ altered: [flip], handed: [handed], reports: [report] })).toBe(undefined);
    expect(broken({ altered: [flip], handed: [handed] })).toContain('said nothing');
    expect(broken({ altered: [flip], handed: [handed], reports: [{ ...report, life: 1 }] })).toContain(
      'life 2',
    );
    const short = { ...handed, endedUs: 500_000 };
    expect(checkCorruption([], { ...nothing, handed: [short] })).toMatchObject({ ok: true, skipped: 1 });
  });

  it('accuses an incarnation that reports an untouched file as damaged (negative control)', () => {
    expect(broken({ reports: [report] })).toContain('which nothing has touched');
    expect(broken({ altered: [{ ...flip, path: '' }], reports: [report] })).toBe(undefined);
    const failed = { node: 'n1', path: place.path, life: 2, atUs: 20 };
    expect(broken({ failedReads: [failed], reports: [report] })).toBe(undefined);
    expect(broken({ failedReads: [{ ...failed, life: 1 }], reports: [report] })).toContain(
      'nothing has touched',
    );
  });
});
