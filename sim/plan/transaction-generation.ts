/** Generates the transactions of a plan from the ranges of a scenario's load. */
import fc from 'fast-check';

import type { TransactionLoad } from './scenario.ts';
import { integerIn, listOf, weighted } from './arbitraries.ts';
import type { PlanTransaction } from './plan-transactions.ts';
import { bunchParts } from './plan-transactions.ts';

/** The transactions of a plan; the caller adds their ids. */
export function transactionsOf(load: TransactionLoad): fc.Arbitrary<readonly Omit<PlanTransaction, 'id'>[]> {
  return listOf(
    load.count,
    weighted(load.kinds).chain((kind) => transactionOf(load, kind)),
  );
}

function transactionOf(
  load: TransactionLoad,
  kind: PlanTransaction['kind'],
): fc.Arbitrary<Omit<PlanTransaction, 'id'>> {
  return fc.record({
    client: fc.integer({ min: 0, max: load.clients - 1 }),
    thinkUs: integerIn(load.thinkUs),
    kind: fc.constant(kind),
    places: placesOf(load, kind),
    amount: fc.integer({
      min: 1,
      max: kind === 'transfer' ? 50 : kind === 'bunch' ? 2 * bunchParts.length : 2,
    }),
    forced: percent(kind === 'look' ? 0 : load.forcedPercent),
    named: percent(load.namedPercent),
    level: levelOf(load),
  });
}

function placesOf(
  { structures, placesMax }: TransactionLoad,
  kind: PlanTransaction['kind'],
): fc.Arbitrary<readonly number[]> {
  switch (kind) {
    case 'transfer':
      return distinctBelow(structures.accounts, 2, 2);
    case 'move':
      return distinctBelow(structures.triples, 2, 2);
    case 'append':
    case 'look':
      return distinctBelow(structures.lists, 1, Math.min(placesMax, structures.lists));
    case 'twin':
      return distinctBelow(structures.twins, 1, 1);
    case 'stamp':
    case 'erase':
    case 'restamp':
    case 'put':
    case 'bunch':
      return distinctBelow(structures.triples, 1, 1);
  }
}

function distinctBelow(count: number, least: number, most: number): fc.Arbitrary<readonly number[]> {
  const size = { minLength: least, maxLength: most, size: 'max' } as const;
  return fc.uniqueArray(fc.integer({ min: 0, max: count - 1 }), size);
}

function levelOf({ onePercent, eachPercent }: TransactionLoad): fc.Arbitrary<PlanTransaction['level']> {
  const near = percent(onePercent).map((one) => (one ? ('DC_ONE' as const) : ('DC_QUORUM' as const)));
  if (eachPercent === undefined) return near;
  return fc
    .tuple(percent(eachPercent), near)
    .map(([each, level]) => (each ? ('DC_EACH_SAFE_QUORUM' as const) : level));
}

function percent(chance: number): fc.Arbitrary<boolean> {
  return fc.integer({ min: 0, max: 99 }).map((drawn) => drawn < chance);
}
