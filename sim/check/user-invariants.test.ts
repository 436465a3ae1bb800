import { describe, expect, it } from 'vitest';

import { putAt, readAt } from './history-fixture.ts';
import type { Evidence, Invariant } from './user-invariants.ts';
import { checkOwn, evidenceOf, mustBeInvariants } from './user-invariants.ts';
import type { Tally } from './report.ts';

const operations = [putAt(1, 'a'), readAt(5, ['a']), readAt(9, [], { final: true })];
const evidence = evidenceOf({ operations, transactions: [], redis: [], jobs: [] });

/** Holds if the reads after the calm returned something. */
const found: Invariant = {
  name: 'final-reads-find',
  check: ({ finalReads }, tally) => {
    for (const { values, invokedUs } of finalReads)
      tally.compare(values.length > 0, invokedUs, () => 'found nothing');
  },
};

/** An invariant as an unchecked JavaScript caller passes it. */
function unread(invariant: unknown): Invariant {
  return invariant as Invariant;
}

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

  it.each<readonly [() => unknown, string]>([
    [() => 7, 'the invariant strange returned a number: it is to compare'],
    [async () => undefined, 'the invariant strange returned a promise (is it async?)'],
  ])('that returns something is refused (%#)', (check, complaint) => {
    const strange: Invariant = { name: 'strange', check };
    expect(() => checkOwn([strange], evidence, false)).toThrow(complaint);
  });

  it('that compares by something else than true or false is refused', () => {
    const given: readonly unknown[] = [undefined, 0, Promise.reject(new Error('late'))];
    for (const holds of given) {
      const strange: Invariant = {
        name: 'strange',
        check: (_, tally) => tally.compare(holds as boolean, 0, () => 'no'),
      };
      expect(() => checkOwn([strange], evidence, false)).toThrow('the invariant strange compares by ');
    }
  });

  it('that is async fails by itself: its later comparisons throw at their caller, and affect no other run', async () => {
    const heard: unknown[] = [];
    const hear = (reason: unknown): void => void heard.push(reason);
    process.on('unhandledRejection', hear);
    let late: unknown;
    const check = async (_: Evidence, tally: Tally): Promise<void> => {
      await Promise.resolve();
      try {
        tally.compare(false, 0, () => 'broken');
      } catch (error) {
        late = error;
        throw error;
      }
    };
    const patient = unread({ name: 'patient', check });
    expect(() => checkOwn([patient], evidence, false)).toThrow('the invariant patient returned a promise');
    await new Promise(setImmediate);
    process.removeListener('unhandledRejection', hear);
    expect(late).toMatchObject({
      code: 'BadRequest',
      message: expect.stringContaining(
        'the invariant patient goes on after its check has returned',
      ) as string,
    });
    expect(heard).toEqual([]);
  });

  it('has a name of its own', () => {
    expect(() => mustBeInvariants([found, found])).toThrow('two invariants are called final-reads-find');
  });
});
