import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import type { NodeId } from '../../base/ids.ts';
import { CommittedOutcomes } from './committed-transactions.ts';
import type { CommittedOutcome } from './committed-transactions.ts';
import type { Xid } from '../formats/xid.ts';
import { XidSource } from '../formats/xid.ts';

const n1 = 'n1' as NodeId;
const epoch = '0123456789ab';
const { prefix } = new XidSource(n1, epoch);
const xidOf = (number: number): Xid => `${prefix}${number}` as Xid;

function outcomeOf(number: number, nodes: readonly string[], operationCount: number): CommittedOutcome {
  const branches = nodes.map((node) => {
    return { node: node as NodeId, vote: 'commit' as const, pending: operationCount % 2 === 0 };
  });
  return { kind: 'committed', xid: xidOf(number), operationCount, branches };
}

describe('committed outcomes', () => {
  it('are returned as they were kept, the newest for each id', () => {
    const kept = fc.record({
      number: fc.integer({ min: 1, max: 40 }),
      nodes: fc.subarray(['n1', 'n2', 'n3']),
      operationCount: fc.integer({ min: 0, max: 0xffff }),
      drop: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(kept), (all) => {
        const outcomes = new CommittedOutcomes(prefix);
        const twin = new Map<Xid, CommittedOutcome>();
        for (const { number, nodes, operationCount, drop } of all) {
          const outcome = outcomeOf(number, nodes, operationCount);
          expect(outcomes.keep(outcome)).toBe(true);
          twin.set(outcome.xid, outcome);
          if (!drop) continue;
          outcomes.delete(outcome.xid);
          twin.delete(outcome.xid);
        }
        for (let number = 0; number <= 41; number++)
          expect(outcomes.get(xidOf(number))).toEqual(twin.get(xidOf(number)));
      }),
    );
  });

  it('give way to newer ones, and one that comes too late does not replace a newer one', () => {
    const outcomes = new CommittedOutcomes(prefix);
    const last = 200_000;
    for (let number = 1; number <= last; number++) outcomes.keep(outcomeOf(number, ['n1'], 1 + (number % 9)));
    for (let number = last; number > last - 120_000; number -= 97)
      expect(outcomes.get(xidOf(number))?.operationCount).toBe(1 + (number % 9));
    expect(outcomes.get(xidOf(1))).toBeUndefined();
    expect(outcomes.keep(outcomeOf(1, ['n1'], 3))).toBe(false);
    outcomes.delete(xidOf(1));
    expect(outcomes.get(xidOf(131_073))?.operationCount).toBe(1 + (131_073 % 9));
  });

  it('are those of one incarnation, and each id has one form', () => {
    const outcomes = new CommittedOutcomes(prefix);
    outcomes.keep(outcomeOf(7, ['n1'], 1));
    for (const other of [`n2-${epoch}-7`, 'n1-0123456789ac-7', `${prefix}07`, `${prefix}`, `${prefix}7x`])
      expect(outcomes.get(other as Xid)).toBeUndefined();
    const far = `${prefix}9999999999999999` as Xid;
    expect(outcomes.keep({ ...outcomeOf(7, ['n1'], 1), xid: far })).toBe(false);
    expect(outcomes.get(xidOf(7))?.operationCount).toBe(1);
  });

  it('are refused without a count of operations, and beyond 200 distinct lists of votes', () => {
    const outcomes = new CommittedOutcomes(prefix);
    expect(outcomes.keep({ kind: 'committed', xid: xidOf(1), branches: [] })).toBe(false);
    const kept = Array.from({ length: 300 }, (_, at) => outcomes.keep(outcomeOf(at + 1, [`n${at}`], 1)));
    expect(kept.filter(Boolean)).toHaveLength(200);
    expect(outcomes.get(xidOf(300))).toBeUndefined();
    expect(outcomes.get(xidOf(200))?.branches[0]?.node).toBe('n199');
  });
});
