import { describe, expect, it } from 'vitest';

import { checkSnapshotSaves, checkSnapshotRejection } from './snapshot-rejection.ts';

const tamper = { node: 'n1', atUs: 10, verdict: 'Corrupted' } as const;
const rejection = { node: 'n1', atUs: 20, reason: 'Corrupted' };

describe('snapshot-rejection', () => {
  it('wants one rejection for each tampered snapshot, for its reason', () => {
    expect(checkSnapshotRejection([tamper], [rejection])).toMatchObject({ ok: true, checked: 1 });
    expect(checkSnapshotRejection([tamper], [])).toMatchObject({ ok: false });
    expect(checkSnapshotRejection([tamper], [{ ...rejection, reason: 'BadShape' }]).ok).toBe(false);
  });

  it('skips what is left over only at a node whose disk other faults have damaged', () => {
    expect(checkSnapshotRejection([], [rejection]).ok).toBe(false);
    const damaged = new Set(['n1']);
    expect(checkSnapshotRejection([], [rejection], damaged)).toMatchObject({
      ok: true,
      checked: 0,
      skipped: 1,
    });
    expect(checkSnapshotRejection([], [{ ...rejection, node: 'n2' }], damaged).ok).toBe(false);
    expect(checkSnapshotRejection([tamper], [], damaged).ok).toBe(false);
  });
});

it('a node saves its tree no more often than its interval says', () => {
  const save = { incarnation: 'n1, life 1', intervalUs: 1_000_000 };
  const saved = (...atUs: readonly number[]): boolean =>
    checkSnapshotSaves(atUs.map((one) => ({ ...save, atUs: one }))).ok;
  expect(saved(5, 1_000_005, 2_500_000)).toBe(true);
  expect(saved(5, 1_000_005, 1_500_000)).toBe(false);
});
