/** The table of invariants: every row is complete, and what a run does for it follows from the row. */
import { describe, expect, it } from 'vitest';

import { noSilentFailuresRow } from './program/failures.ts';
import { everydayFloors, grownFloors, invariantTable, needsAny } from './invariants.ts';
import { atomicityRow } from './transactions/transactions.ts';

describe('the table of invariants', () => {
  it('has a check in every row but that of determinism, which compares two runs', () => {
    expect(invariantTable.filter(({ check }) => check === undefined).map(({ name }) => name)).toEqual([
      'determinism',
    ]);
  });

  it('has the rows in the order of their codes', () => {
    const numbers = invariantTable.map(({ code }) => Number(code.replace('INV', '')));
    expect(numbers).toEqual(numbers.toSorted((left, right) => left - right));
  });

  it('has a sentence for each promise and for each breach that fits a line of a list', () => {
    for (const { name, promise, breach } of invariantTable) {
      expect(promise.length, name).toBeLessThanOrEqual(80 - 30);
      expect(breach, name).not.toBe('');
    }
  });
});

it('a run does what the invariants of its plan need, and no more', () => {
  expect(needsAny({ 'metrics-reconcile': 1 }, 'accounts')).toBe(true);
  expect(needsAny({ 'metrics-reconcile': 1 }, 'exchanges', 'routes')).toBe(false);
  expect(needsAny({ durability: 1 }, 'accounts', 'exchanges', 'disk-records', 'routes')).toBe(false);
  // A floor of 0 asks for the check all the same.
  expect(needsAny({ 'hint-delivery': 0 }, 'quiet-cluster')).toBe(true);
});

it('floors grow with what a run recorded, and never shrink', () => {
  const size = { samples: 30, incarnations: 4, scrapes: 5 };
  const floors = { durability: 7, 'metrics-reconcile': 2_000, 'valid-exposition': 50 };
  expect(grownFloors(floors, size)).toEqual({
    durability: 7,
    'metrics-reconcile': 3_000,
    'valid-exposition': 50,
  });
  expect(grownFloors({ durability: 0 }, size)).toEqual({ durability: 0 });
});

it('the everyday floors are those of the rows', () => {
  expect(everydayFloors()).toMatchObject({ durability: 30, determinism: 1 });
  expect(everydayFloors()).not.toHaveProperty('atomicity');
});

it('a row reports under its name, and not at all on a run without its subject', () => {
  const failures = [{ atUs: 7, text: 'n1: a task failed' }];
  const report = noSilentFailuresRow.check?.({ incarnations: [], failures });
  expect(report).toMatchObject({ invariant: noSilentFailuresRow.name, ok: false });
  expect(atomicityRow.check?.({ transactions: undefined })).toBeUndefined();
});
