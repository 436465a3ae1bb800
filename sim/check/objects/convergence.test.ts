import { describe, expect, it } from 'vitest';

import type { DumpedValue, ReplicaDump } from './convergence.ts';
import { checkConvergence, HintlessDeaths, keysInFlight } from './convergence.ts';
import { deleteAt, putAt, readAt } from '../history-fixture.ts';

function holds(node: string, ...values: readonly (readonly [name: string, bytes: string])[]): ReplicaDump {
  const dumped = values.map(([name, bytes]): [string, DumpedValue] => [
    name,
    { name, token: 1, bytes: bytes === 'damaged' ? bytes : Buffer.from(bytes) },
  ]);
  return { node, atUs: 9, values: new Map(dumped) };
}

const owners = (): readonly string[] => ['n1', 'n2', 'n3'];
const none: ReadonlySet<string> = new Set();

describe('convergence', () => {
  const whole = [holds('n1', ['b/k', 'one']), holds('n2', ['b/k', 'one'])];

  it('holds when all owners hold the same bytes, whatever others kept', () => {
    const dumps = [...whole, holds('n3', ['b/k', 'one']), holds('n4', ['b/k', 'older'])];
    const report = checkConvergence(dumps, owners, none);
    expect([report.ok, report.checked, report.skipped]).toEqual([true, 2, 0]);
  });

  it('breaks over other bytes, a lacking key, a damaged record and an owner without a disk', () => {
    const broken = [holds('n3', ['b/k', 'two']), holds('n3'), holds('n3', ['b/k', 'damaged'])];
    for (const dump of broken) {
      const report = checkConvergence([...whole, dump], owners, none);
      expect([report.ok, report.firstBad?.atUs]).toEqual([false, 9]);
    }
    expect(checkConvergence(whole, owners, none).ok).toBe(false);
  });

  it('breaks when the first owner is the one that lacks the key', () => {
    const dumps = [holds('n1'), ...whole.slice(1), holds('n3', ['b/k', 'one'])];
    expect(checkConvergence(dumps, owners, none).ok).toBe(false);
  });

  it('a tombstone beside nothing may be a removal whose record a damaged disk has lost', () => {
    const whole = [holds('n1'), holds('n2')];
    const dead = holds('n3', ['b/k', 'tombstone']);
    expect(checkConvergence([...whole, dead], owners, none).ok).toBe(false);
    const damaged = { ...dead, buried: new Set(['b/k']) };
    const report = checkConvergence([...whole, damaged], owners, none);
    expect([report.ok, report.checked, report.skipped]).toEqual([true, 1, 1]);
    const first = checkConvergence([{ ...damaged, node: 'n1' }, holds('n2'), holds('n3')], owners, none);
    expect([first.ok, first.checked, first.skipped]).toEqual([true, 0, 2]);
    // Another node holds a value: then both must hold it.
    const value = holds('n2', ['b/k', 'one']);
    expect(checkConvergence([holds('n1'), value, damaged], owners, none).ok).toBe(false);
  });

  it('skips a flushed object beside nothing on a damaged disk, whose removal the damage may have hit', () => {
    const others = [holds('n1'), holds('n2')];
    const dead = { ...holds('n3', ['b/k', 'one']), flushed: ['b/k'] };
    expect(checkConvergence([...others, dead], owners, none).reasons).toHaveLength(2);
    const report = checkConvergence([...others, { ...dead, buried: new Set(['b/k']) }], owners, none);
    expect([report.ok, report.checked, report.skipped]).toEqual([true, 2, 2]);
  });

  it('skips and counts what is in flight', () => {
    const report = checkConvergence([...whole, holds('n3')], owners, new Set(['b/k']));
    expect([report.ok, report.checked, report.skipped]).toEqual([true, 0, 1]);
  });

  it('counts writes of unknown outcome as in progress, and reads never', () => {
    const history = [
      putAt(1, 'a', { key: 'b/heard' }),
      putAt(2, 'b', { key: 'b/silent', completedUs: undefined }),
      deleteAt(3, { key: 'b/late', completedUs: 50 }),
      readAt(4, [], { key: 'b/read', completedUs: undefined }),
    ];
    expect([...keysInFlight(history, 10)]).toEqual(['b/silent', 'b/late']);
  });

  describe('where hints alone repair', () => {
    const lacking = [...whole, holds('n3')];
    const verdict = (node: string, asked: string, atUs: number): readonly [boolean, number] => {
      const history = [putAt(10, 'a', { key: 'b/k', node: asked }), putAt(90, 'b', { key: 'b/other' })];
      const deaths = new HintlessDeaths(history, [{ node, atUs }], 5, ['n1', 'n2', 'n3', 'n4', 'n9']);
      const { ok, skipped } = checkConvergence(lacking, owners, none, deaths);
      return [ok, skipped];
    };

    it('excuses a key whose coordinator died before it could have made a hint', () => {
      expect(verdict('n1', 'n1', 10)).toEqual([true, 1]);
      expect(verdict('n1', 'n1', 16)).toEqual([true, 1]);
      expect(verdict('n2', 'n9', 12)).toEqual([true, 1]);
      expect(verdict('gone', 'n9', 12)).toEqual([true, 1]);
    });

    it('excuses nothing when another node died, or the coordinator did so before the write or later', () => {
      expect(verdict('n2', 'n1', 12)).toEqual([false, 0]);
      expect(verdict('n1', 'n1', 9)).toEqual([false, 0]);
      expect(verdict('n1', 'n1', 17)).toEqual([false, 0]);
      expect(verdict('n2', 'n9', 17)).toEqual([false, 0]);
      expect(verdict('n4', 'n9', 12)).toEqual([false, 0]);
    });
  });
});
