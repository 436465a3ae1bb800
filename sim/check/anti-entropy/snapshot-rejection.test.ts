import { describe, expect, it } from 'vitest';

import type { CheckReport } from '../report.ts';
import type { SnapshotSave } from './snapshot-rejection.ts';
import { checkSnapshotSaves, checkSnapshotRejection } from './snapshot-rejection.ts';

const tamper = { node: 'n1', atUs: 10, verdict: 'Corrupted' } as const;
const rejection = { node: 'n1', atUs: 20, reason: 'Corrupted' };

const nothing = { tampers: [], rejections: [], damaged: new Set<string>(), gone: new Set<string>() };

function judged(of: Partial<Parameters<typeof checkSnapshotRejection>[0]>): CheckReport {
  return checkSnapshotRejection({ ...nothing, ...of });
}

describe('snapshot-rejection', () => {
  it('wants one rejection for each tampered snapshot, for its reason', () => {
    expect(judged({ tampers: [tamper], rejections: [rejection] })).toMatchObject({ ok: true, checked: 1 });
    expect(judged({ tampers: [tamper] })).toMatchObject({ ok: false });
    expect(judged({ tampers: [tamper], rejections: [{ ...rejection, reason: 'BadShape' }] }).ok).toBe(false);
  });

  it('skips what is left over only at a node whose disk other faults have damaged', () => {
    expect(judged({ rejections: [rejection] }).ok).toBe(false);
    const damaged = new Set(['n1']);
    expect(judged({ rejections: [rejection], damaged })).toMatchObject({
      ok: true,
      checked: 0,
      skipped: 1,
    });
    expect(judged({ rejections: [{ ...rejection, node: 'n2' }], damaged }).ok).toBe(false);
    expect(judged({ tampers: [tamper], damaged }).ok).toBe(false);
  });

  it('wants no report of a node that is gone for good', () => {
    const gone = new Set(['n1']);
    expect(judged({ tampers: [tamper], gone })).toMatchObject({ ok: true, checked: 0, skipped: 1 });
    const wrong = { ...rejection, reason: 'BadShape' };
    expect(judged({ tampers: [tamper], rejections: [wrong], gone }).ok).toBe(false);
    expect(judged({ tampers: [tamper], gone: new Set(['n2']) }).ok).toBe(false);
  });
});

describe('saves of trees', () => {
  const save = { incarnation: 'n1, life 1', intervalUs: 1_000_000, stopping: false, dirtyCount: 0 };

  it('come no more often than the interval says, except at a stop', () => {
    const saved = (...atUs: readonly number[]): SnapshotSave[] =>
      atUs.map((one) => ({ ...save, atUs: one, position: one }));
    expect(checkSnapshotSaves(saved(5, 1_000_005, 2_500_000)).ok).toBe(true);
    expect(checkSnapshotSaves(saved(5, 1_000_005, 1_500_000)).ok).toBe(false);
    const last = { ...save, atUs: 1_500_000, position: 9, stopping: true };
    expect(checkSnapshotSaves([...saved(5, 1_000_005), last]).ok).toBe(true);
  });

  it('are not repeated while nothing changes', () => {
    const saved = (dirtyCount: number, positions: readonly number[]): SnapshotSave[] =>
      positions.map((position, index) => ({ ...save, atUs: 2_000_000 * index, position, dirtyCount }));
    expect(checkSnapshotSaves(saved(0, [7, 8])).ok).toBe(true);
    expect(checkSnapshotSaves(saved(1, [7, 7])).ok).toBe(true);
    expect(checkSnapshotSaves(saved(0, [7, 7])).ok).toBe(false);
  });
});
