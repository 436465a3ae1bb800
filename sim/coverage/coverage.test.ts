import { readFileSync, readdirSync } from 'node:fs';

import { describe, expect, it } from 'vitest';

import { rareBranches } from '../../engine/base/sometimes.ts';
import { Coverage } from './coverage.ts';
import { excuseOf, idOf } from './table.ts';
import { coverageTables } from './tables.ts';

describe('the chance that the next run reaches something new', () => {
  it('is unknown after one run', () => {
    const coverage = new Coverage();
    expect(coverage.add(['a'])).toEqual(['a']);
    expect(coverage.novelty).toBeUndefined();
  });

  it('is the share of runs with a cell that no other run reached', () => {
    const coverage = new Coverage();
    for (const reached of [['a', 'b'], ['a', 'b'], ['a', 'c', 'd'], ['a']]) coverage.add(reached);
    expect(coverage.novelty?.chance).toBe(0.25);
    expect(coverage.novelty?.low).toBeCloseTo(0.0456, 3);
    expect(coverage.novelty?.high).toBeCloseTo(0.6994, 3);
    expect(coverage.reachedBy(2)).toEqual(['a', 'b']);
  });

  it('falls to an interval near zero when runs repeat each other', () => {
    const coverage = new Coverage();
    for (let run = 0; run < 1000; run++) coverage.add(['a', 'b']);
    expect(coverage.novelty).toMatchObject({ chance: 0, low: 0 });
    expect(coverage.novelty?.high).toBeLessThan(0.004);
  });
});

describe('the tables', () => {
  const ids = coverageTables.flatMap((table) => table.cells.map((cell) => idOf(table, cell)));

  it('have no cell twice', () => {
    expect(new Set(ids).size).toBe(ids.length);
  });

  it('have only excuses that apply to some cell', () => {
    for (const table of coverageTables) {
      for (const excuse of table.excuses) {
        const found = table.cells.some((cell) => excuseOf({ excuses: [excuse] }, cell) !== undefined);
        expect(found, `${table.name}: ${excuse.reason}`).toBe(true);
      }
    }
  });

  it('sort cells into reached, empty and excused', () => {
    const coverage = new Coverage();
    coverage.add(['messages/gossip/serving', 'settings/of_a_scenario/5']);
    const messages = coverage.tables.find(({ name }) => name === 'messages');
    const table = coverageTables.find(({ name }) => name === 'messages');
    expect(messages?.reached).toEqual([{ cell: ['gossip', 'serving'], runs: 1 }]);
    const counted = (messages?.empty.length ?? 0) + (messages?.excused.length ?? 0) + 1;
    expect(counted).toBe(table?.cells.length);
    expect(coverage.summary.reached).toBe(2);
  });
});

it('every rare branch stands at exactly one place of the engine', () => {
  const engine = new URL('../../engine/', import.meta.url);
  const places: string[] = [];
  for (const name of readdirSync(engine, { recursive: true, encoding: 'utf8' })) {
    if (!name.endsWith('.ts') || name.endsWith('.test.ts')) continue;
    const text = readFileSync(new URL(name, engine), 'utf8');
    places.push(...[...text.matchAll(/\bsometimes\(\s*'([^']+)'/g)].map(([, site = '']) => site));
  }
  expect(places.toSorted()).toEqual(Object.keys(rareBranches).toSorted());
});
