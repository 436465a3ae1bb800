/** Tests the output of `lockstep-sim list`, and that the documentation lists the same. */
import { readFileSync } from 'node:fs';
import { Chalk } from 'chalk';
import { describe, expect, it } from 'vitest';

import { scenarios } from '../../scenarios/catalogue.ts';
import { invariantTable } from '../check/invariants.ts';
import type { Named } from '../check/named.ts';
import { faultRows } from '../faults/fault-table.ts';
import { mutants } from '../mutants/catalogue.ts';
import { stepMutants } from '../mutants/step-mutants.ts';
import { transactionMutants } from '../mutants/transaction-mutants.ts';
import { nothingOwn } from '../runner/user-defined.ts';
import type { ListOptions } from './list-command.ts';
import { listJson, listText } from './list-command.ts';
import { mustGetEnumeratedMutant, mutantNamed } from './mutate-build.ts';

const plain = new Chalk({ level: 0 });

function linesOf(options: ListOptions): readonly string[] {
  return listText(options, nothingOwn, plain, 80).split('\n');
}

describe('the list', () => {
  it('has one line of at most 80 columns for each scenario', () => {
    const lines = linesOf({});
    expect(lines).toHaveLength(scenarios.length);
    expect(lines[0]).toMatch(/^calm +nothing goes wrong: every operation is/);
    for (const line of lines) expect(line.length).toBeLessThanOrEqual(80);
  });

  it.each<readonly [keyof ListOptions, readonly Named[]]>([
    ['faults', faultRows],
    ['invariants', invariantTable],
    ['mutants', [...mutants, ...transactionMutants, ...stepMutants]],
  ])('has one line for each of the %s: name, code, meaning', (table, rows) => {
    const lines = linesOf({ [table]: true });
    expect(lines.map((line) => line.split(/ +/).slice(0, 2))).toEqual(
      rows.map(({ name, code }) => [name, code]),
    );
    for (const line of lines) {
      expect(line.length).toBeLessThanOrEqual(80);
      expect(line).toMatch(/^\S+ +\S+ +\S+ \S+/);
    }
  });

  it('tells all of one scenario in words, within 80 columns', () => {
    const lines = linesOf({ name: 'disk-errors' });
    expect(lines[0]).toBe('disk-errors, a scenario');
    expect(lines).toContain('  cluster: 1 datacenter, 3 racks each, 1 node per rack');
    expect(lines).toContain('    sync-error     1 to 3, in every seed, each for 100 ms to 1.5 s');
    expect(lines.join('\n')).toMatch(/durability +30 {2}an acknowledged write is never lost or undone/);
    for (const { name } of scenarios)
      for (const line of linesOf({ name })) expect(line.length, line).toBeLessThanOrEqual(80);
  });

  it.each([
    ['durability', 'INV4', 'an invariant'],
    ['power-loss', 'FD6', 'a kind of fault'],
    ['ack-before-sync', 'M01', 'a mutant'],
    ['vote-before-durable', 'M04', 'a mutant'],
  ])('tells all of %s, by its name and by its code', (name, code, what) => {
    const lines = linesOf({ name });
    expect(lines[0]).toBe(`${name} (${code}), ${what}`);
    expect(linesOf({ name: code })).toEqual(lines);
  });

  it('tells of a scenario and a fault of one name both', () => {
    const lines = linesOf({ name: 'swizzle-clog' });
    expect(lines).toContain('swizzle-clog, a scenario');
    expect(lines).toContain('swizzle-clog (FN7), a kind of fault');
  });

  it('refuses what is none of them with the nearest names', () => {
    expect(() => linesOf({ name: 'durabilty' })).toThrow(
      /there is no scenario, fault, invariant or mutant "durabilty"; the nearest are durability, /,
    );
  });

  it('is one line of JSON, whole or of one table', () => {
    const whole = JSON.parse(listJson({}, nothingOwn)) as Record<string, readonly unknown[]>;
    expect(Object.keys(whole)).toEqual(['scenarios', 'faults', 'invariants', 'mutants']);
    const json = listJson({ invariants: true }, nothingOwn);
    expect(json).not.toContain('\n');
    expect(JSON.parse(json)).toEqual({ invariants: JSON.parse(JSON.stringify(invariantTable)) as unknown });
    expect(JSON.parse(listJson({ name: 'INV4' }, nothingOwn))).toMatchObject({
      invariant: { name: 'durability', gravity: 'data' },
    });
  });
});

describe('a mutant', () => {
  it('is found by its name and by its code', () => {
    expect(mutantNamed('M01')).toBe(mutantNamed('ack-before-sync'));
    expect(mustGetEnumeratedMutant('M04')).toBe(mustGetEnumeratedMutant('vote-before-durable'));
  });

  it('that is unknown is refused with the nearest names', () => {
    expect(() => mutantNamed('ack-before-sink')).toThrow(
      'there is no mutant "ack-before-sink"; the nearest are ack-before-sync, ',
    );
  });

  it('of the other sort is refused with the command that applies it', () => {
    expect(() => mutantNamed('M04')).toThrow('lockstep-sim enumerate xa --mutant vote-before-durable');
    expect(() => mustGetEnumeratedMutant('M01')).toThrow('lockstep-sim run --mutant ack-before-sync');
  });
});

describe.each<readonly [string, readonly Named[]]>([
  ['faults.md', faultRows],
  ['invariants.md', invariantTable],
])('sim/docs/%s', (page, rows) => {
  it('has one row for each, with its name and its code', () => {
    const text = readFileSync(new URL(`../docs/${page}`, import.meta.url), 'utf8');
    const told = [...text.matchAll(/^\| `([a-z-]+)` +\| ([A-Z]+\d+) +\|/gm)].map(
      ([, name = '', code = '']) => `${name} ${code}`,
    );
    expect(told.sort()).toEqual(rows.map(({ name, code }) => `${name} ${code}`).sort());
  });
});
