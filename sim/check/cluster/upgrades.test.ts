import { describe, expect, it } from 'vitest';

import type { FinalizeCall, UpgradeEvidence, VersionStatement } from '../../evidence/upgrades.ts';
import { checkUpgrades } from './upgrades.ts';

const finalized: FinalizeCall = {
  ...{ id: 'f0', node: 'n1', invokedUs: 100, completedUs: 200, detail: '', wanted: 7, lacking: [] },
  ...{ outcome: 'finalized', minimum: 7 },
};
const refused: FinalizeCall = { ...finalized, outcome: 'refused', minimum: undefined, lacking: ['n2'] };

function all(minimum: number | undefined): readonly VersionStatement[] {
  return ['n1', 'n2'].map((node) => ({ node, atUs: 900, minimum }));
}

/** The first reason, or an empty text. */
function complaint(over: Partial<UpgradeEvidence>): string {
  const evidence: UpgradeEvidence = {
    ...{ first: 3, newest: 7, calls: [finalized], starts: [], settled: all(7), final: all(7) },
    ...{ last: finalized, forgetful: [] },
  };
  return checkUpgrades({ ...evidence, ...over }).reasons[0] ?? '';
}

describe('a call', () => {
  it('is refused while a member lacks the version, and changes nothing', () => {
    expect(complaint({ calls: [refused], settled: all(3) })).toBe('');
    expect(complaint({ calls: [{ ...finalized, lacking: ['n2'] }] })).toContain('n2 lacked it all the time');
    expect(complaint({ calls: [refused], settled: all(7) })).toContain('the minimum 7');
  });

  it('counts for what members state after it', () => {
    expect(complaint({ settled: all(3) })).toContain('7 is right');
    const late = { ...finalized, invokedUs: 950, completedUs: 960 };
    expect(complaint({ calls: [late], settled: all(3) })).toBe('');
    expect(complaint({ calls: [late], settled: all(7) })).toContain('3 is right');
    const amid = { ...finalized, completedUs: 960 };
    const [before, after] = [all(3), all(7)].map((stated) => stated.slice(0, 1));
    const settled = [before, after].flatMap((one) => one ?? []);
    expect(complaint({ calls: [amid], settled })).toBe('');
  });

  it('without a definite answer leaves either minimum, at every member', () => {
    const open = { ...refused, outcome: 'unknown', lacking: [] } as const;
    expect(complaint({ calls: [open], settled: all(7) })).toBe('');
    expect(complaint({ calls: [open], settled: all(3) })).toBe('');
    const [first, second] = [all(7)[0], all(3)[1]].flatMap((one) => one ?? []);
    expect(complaint({ calls: [open], settled: [first, second].flatMap((one) => one ?? []) })).toContain(
      'n2 states the minimum 3',
    );
  });
});

it('no older build starts once an upgrade is finalized, except on a disk that forgets', () => {
  const start = { node: 'n2', version: 3 };
  expect(complaint({ starts: [{ ...start, atUs: 150 }] })).toBe('');
  expect(complaint({ starts: [{ ...start, atUs: 300 }] })).toContain('f0 had finalized version 7');
  expect(complaint({ starts: [{ ...start, atUs: 300 }], forgetful: ['n2'] })).toBe('');
});

it('with every member on today’s build the operator finalizes, and all state it', () => {
  const last = { ...refused, lacking: [], detail: '409 no' };
  expect(complaint({ last })).toContain('does not finalize: 409 no');
  expect(complaint({ final: all(undefined) })).toContain('states no minimum');
});
