import { describe, expect, it } from 'vitest';

import { putAt, readAt } from './history-fixture.ts';
import type { Invariant } from './own-invariants.ts';
import { checkOwn, evidenceOf, mustBeInvariants } from './own-invariants.ts';

const operations = [putAt(1, 'a'), readAt(5, ['a']), readAt(9, [], { final: true })];
const evidence = evidenceOf({ operations, transactions: [], redis: [], jobs: [] });

/** Whoever reads after the calm finds something. */
const found: Invariant = {
  name: 'final-reads-find',
  check: ({ finalReads }, tally) => {
    for (const { values, invokedUs } of finalReads)
      tally.compare(values.length > 0, invokedUs, () => 'found nothing');
  },
};

describe('an invariant of the caller', () => {
  it('sees the reads after the calm apart, and reports its first bad event', () => {
    expect(evidence.finalReads).toEqual([operations[2]]);
    expect(checkOwn([found], evidence, true)).toMatchObject([
      { invariant: 'final-reads-find', ok: false, checked: 1, firstBad: { atUs: 9, text: 'found nothing' } },
    ]);
    const sound = evidenceOf({ ...evidence, operations: operations.slice(0, 2) });
    expect(checkOwn([found], sound, true)).toMatchObject([{ ok: false, vacuous: true, checked: 0 }]);
    expect(checkOwn([{ ...found, floor: 0 }], sound, true)).toMatchObject([{ ok: true }]);
    expect(checkOwn([found], sound, false)).toMatchObject([{ ok: true }]);
  });

  it('that throws is named', () => {
    const throwing: Invariant = {
      name: 'asserts',
      check: () => {
        throw new Error('expected 1 to be 2');
      },
    };
    expect(() => checkOwn([throwing], evidence, true)).toThrow(
      'the invariant asserts threw: expected 1 to be 2',
    );
  });

  it('has a name of its own', () => {
    expect(() => mustBeInvariants([found, found])).toThrow('two invariants are called final-reads-find');
  });
});
