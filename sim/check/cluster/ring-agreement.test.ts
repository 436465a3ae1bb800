import { describe, expect, it } from 'vitest';

import type { RingRecord } from './ring-agreement.ts';
import { checkRingAgreement } from './ring-agreement.ts';

function says(node: string, more: Partial<NonNullable<RingRecord['seen']>> = {}): RingRecord {
  return { node, atUs: 7, seen: { view: 'v', owners: ['n1', 'n2'], moving: [], ...more } };
}

describe('ring-agreement', () => {
  const owners = ['n2', 'n1'];

  it('holds when all nodes name the same owners and nothing moves', () => {
    const report = checkRingAgreement([says('n1'), says('n2')], owners);
    expect([report.ok, report.checked]).toEqual([true, 6]);
  });

  it('breaks over another view, a missing or an extra owner, a move that does not end, and silence', () => {
    const broken: readonly RingRecord[] = [
      says('n2', { view: 'w' }),
      says('n2', { owners: ['n1'] }),
      says('n2', { owners: ['n1', 'n2', 'n3'] }),
      says('n2', { moving: ['n3'] }),
      { node: 'n2', atUs: 7, seen: undefined },
    ];
    for (const record of broken) {
      const report = checkRingAgreement([says('n1'), record], owners);
      expect([report.ok, report.firstBad?.atUs]).toEqual([false, 7]);
    }
  });
});
