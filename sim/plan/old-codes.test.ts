/** The kept plan files, which were written before faults and invariants had names. */
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

import { crashAndRestart } from '../../scenarios/crash-and-restart.ts';
import { invariantTable } from '../check/invariants.ts';
import type { Named } from '../check/named.ts';
import { findNamed, nearestNames } from '../check/named.ts';
import type { Scenario } from './scenario.ts';
import { mustBeScenario } from './scenario-validation.ts';
import { faultRows } from '../faults/fault-table.ts';
import { formatPlan } from './plan.ts';
import { parsePlan } from './plan-validation.ts';

const kept = new URL('../../scenarios/regressions/', import.meta.url);

function read(file: string | URL): string {
  return readFileSync(new URL(file, import.meta.url), 'utf8');
}

/** The plan's text with every name replaced by its code. */
function withCodes(text: string): string {
  const kinds = faultRows.reduce(
    (coded, { name, code }) => coded.replaceAll(`"kind": "${name}"`, `"kind": "${code}"`),
    text,
  );
  return invariantTable.reduce(
    (coded, { name, code }) => coded.replaceAll(`"${name}":`, `"${code}":`),
    kinds,
  );
}

describe('a plan with codes', () => {
  it('equals the plan of the same file with names', () => {
    const old = read('testdata/plan-with-codes.json');
    expect(old).toContain('"kind": "FN3"');
    const plan = parsePlan(old);
    expect(plan).toEqual(parsePlan(read(new URL('prepare-replayed-after-the-end.json', kept))));
    expect(plan.faults.map(({ kind }) => kind)).toEqual(['message-duplication']);
    expect(plan.floors).toMatchObject({ atomicity: 0, 'exactly-once': 0, determinism: 0 });
    expect(formatPlan(plan)).not.toMatch(/"(FN|INV)\d/);
  });

  it('equals the plan with names, for every kept plan', () => {
    const files = readdirSync(kept).filter((file) => file.endsWith('.json'));
    expect(files.length).toBeGreaterThan(50);
    for (const file of files) {
      const text = read(new URL(file, kept));
      expect(text, file).not.toMatch(/"(F[A-Z]\d+|INV\d+)"/);
      expect(parsePlan(withCodes(text)), file).toEqual(parsePlan(text));
    }
  });

  it('is refused when it gives an invariant by its name and by its code', () => {
    const twice = read('testdata/plan-with-codes.json').replace('"INV1": 0,', '"INV1": 0, "atomicity": 0,');
    expect(() => parsePlan(twice)).toThrow('plan.floors.atomicity: atomicity (INV1) is given twice');
  });
});

/** A scenario as it arrives from JavaScript, unchecked by a compiler. */
function unread(scenario: unknown): Scenario {
  return scenario as Scenario;
}

it('a scenario with old codes is read as one with names', () => {
  const faults = [{ kind: 'FP1', count: [1, 1] }];
  const given = unread({ ...crashAndRestart, faults, invariants: { INV4: 1, determinism: 0 } });
  const scenario = mustBeScenario(given, []);
  expect(scenario.faults).toEqual([{ kind: 'process-crash', count: [1, 1] }]);
  expect(scenario.invariants).toEqual({ durability: 1, determinism: 0 });
  const twice = { INV4: 1, durability: 1 };
  expect(() => mustBeScenario(unread({ ...crashAndRestart, invariants: twice }), [])).toThrow(
    'crash-and-restart.invariants.durability: durability (INV4) is given twice',
  );
});

it('a scenario whose floors are all 0 must compare something', () => {
  const scenario = mustBeScenario(unread({ ...crashAndRestart, invariants: { durability: 0 } }), []);
  expect(scenario.invariants).toEqual({ durability: 0, 'no-silent-failures': 1 });
});

describe.each<readonly [string, readonly Named[]]>([
  ['faults', faultRows],
  ['invariants', invariantTable],
])('%s', (_, rows) => {
  it('have unique names of lower case and dashes, and unique codes', () => {
    const words = rows.flatMap(({ name, code }) => [name, code]);
    expect(new Set(words).size).toBe(words.length);
    for (const { name } of rows) expect(name).toMatch(/^[a-z]+(-[a-z]+)*$/);
  });

  it('are found by name and by code', () => {
    for (const row of rows) {
      expect(findNamed(rows, row.name)).toBe(row);
      expect(findNamed(rows, row.code)).toBe(row);
    }
    expect(findNamed(rows, 'no-such-thing')).toBeUndefined();
  });
});

it('an unknown name is reported with the nearest ones', () => {
  expect(nearestNames(faultRows, 'powerloss')).toMatch(/^power-loss, /);
  expect(nearestNames(invariantTable, 'durabilty')).toMatch(/^durability, /);
  expect(nearestNames(invariantTable, 'x'.repeat(10_000)).split(', ')).toHaveLength(3);
});
