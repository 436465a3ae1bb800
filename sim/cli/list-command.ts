/** `lockstep-sim list`: the scenarios, and the tables of faults, invariants and mutants. */
import type { ChalkInstance } from 'chalk';

import { LockstepError } from '../../engine/base/errors.ts';
import { cutLine, fillLines, fillList } from '../../reports/columns.ts';
import { scenarios } from '../../scenarios/catalogue.ts';
import type { InvariantDescription } from '../check/invariant.ts';
import { invariantTable } from '../check/invariants.ts';
import type { Named } from '../check/named.ts';
import { findNamed, nearestNames } from '../check/named.ts';
import { faultRows } from '../faults/fault-table.ts';
import { mutants } from '../mutants/catalogue.ts';
import type { EnumeratedMutant, Mutant } from '../mutants/mutant.ts';
import { stepMutants } from '../mutants/step-mutants.ts';
import { transactionMutants } from '../mutants/transaction-mutants.ts';
import type { Own } from '../runner/user-defined.ts';
import { presentNameOf } from '../plan/former-names.ts';
import type { Scenario } from '../plan/scenario.ts';
import { describeScenario, parameterWords } from './describe-scenario.ts';

/** What to list: all scenarios, everything of one name or code, or a table. */
export interface ListOptions {
  readonly name?: string | undefined;
  readonly faults?: boolean | undefined;
  readonly invariants?: boolean | undefined;
  readonly mutants?: boolean | undefined;
}

type FaultRow = (typeof faultRows)[number];
type AnyMutant = Mutant | EnumeratedMutant;

const allMutants: readonly AnyMutant[] = [...mutants, ...transactionMutants, ...stepMutants];

/** As text: a line per row, cut to `columns`; for one name, all details. Throws `NotFound`. */
export function listText(options: ListOptions, own: Own, paint: ChalkInstance, columns: number): string {
  if (options.name !== undefined) return describeName(options.name, own, paint, columns);
  const tables = [
    ...(options.faults === true ? [codedLines(faultRows, ({ description }) => description, columns)] : []),
    ...(options.invariants === true ? [codedLines(invariantTable, ({ promise }) => promise, columns)] : []),
    ...(options.mutants === true ? [codedLines(allMutants, ({ title }) => title, columns)] : []),
  ];
  return (tables.length > 0 ? tables.flat() : scenarioLines(own, columns)).join('\n');
}

/** As one line of JSON. Throws `NotFound`. */
export function listJson(options: ListOptions, own: Own): string {
  if (options.name !== undefined) {
    const { scenario, fault, invariant, mutant } = mustFind(options.name, own);
    return JSON.stringify({ scenario, fault, invariant, mutant: mutant && mutantJson(mutant) });
  }
  const { faults, invariants, mutants: ofMutants } = options;
  const all = (faults ?? invariants ?? ofMutants) === undefined;
  return JSON.stringify({
    ...(all ? { scenarios: [...scenarios, ...own.scenarios].map(scenarioJson) } : {}),
    ...(all || faults === true ? { faults: faultRows } : {}),
    ...(all || invariants === true ? { invariants: invariantTable } : {}),
    ...(all || ofMutants === true ? { mutants: allMutants.map(mutantJson) } : {}),
  });
}

function scenarioJson({ name, description, cluster, faults, invariants }: Scenario): object {
  return {
    name,
    description,
    cluster,
    faults: faults.map(({ kind }) => kind),
    invariants: Object.keys(invariants),
  };
}

/** Without the edit itself. */
function mutantJson(mutant: AnyMutant): object {
  const { name, code, title, oracles } = mutant;
  return 'scenario' in mutant
    ? { name, code, title, scenario: mutant.scenario, oracles, seedsMax: mutant.seedsMax }
    : { name, code, title, exposedBy: mutant.exposedBy, oracles };
}

function scenarioLines(own: Own, columns: number): readonly string[] {
  const all = [...scenarios, ...own.scenarios];
  const width = widthOf(all);
  return all.map(({ name, description }) => cutLine(`${name.padEnd(width)}  ${description}`, columns));
}

/** `durability    INV4  every later read …`. */
function codedLines<Row extends Named>(
  rows: readonly Row[],
  meaningOf: (row: Row) => string,
  columns: number,
): readonly string[] {
  const width = widthOf(rows);
  const codeWidth = Math.max(...rows.map(({ code }) => code.length));
  return rows.map((row) =>
    cutLine(`${row.name.padEnd(width)}  ${row.code.padEnd(codeWidth)}  ${meaningOf(row)}`, columns),
  );
}

function widthOf(rows: readonly { readonly name: string }[]): number {
  return Math.max(...rows.map(({ name }) => name.length));
}

interface Found {
  readonly scenario: Scenario | undefined;
  readonly fault: FaultRow | undefined;
  readonly invariant: InvariantDescription | undefined;
  readonly mutant: AnyMutant | undefined;
}

/** A scenario and a fault may share a name: both are found. */
function mustFind(name: string, own: Own): Found {
  const all = [...own.scenarios, ...scenarios];
  const found = {
    scenario: all.find((one) => one.name === presentNameOf(name)),
    fault: findNamed(faultRows, name),
    invariant: findNamed<InvariantDescription>(invariantTable, name),
    mutant: findNamed(allMutants, name),
  };
  if (Object.values(found).some((row) => row !== undefined)) return found;
  const known = [...all.map((one) => ({ name: one.name, code: one.name })), ...faultRows];
  const near = nearestNames([...known, ...invariantTable, ...allMutants], name);
  throw new LockstepError(
    'NotFound',
    `there is no scenario, fault, invariant or mutant "${name}"; the nearest are ${near}`,
  );
}

function describeName(name: string, own: Own, paint: ChalkInstance, columns: number): string {
  const { scenario, fault, invariant, mutant } = mustFind(name, own);
  const paragraphs: (readonly string[])[] = [];
  const coded = (row: Named, what: string): string => `${paint.bold(row.name)} (${row.code}), ${what}`;
  if (scenario !== undefined)
    paragraphs.push([`${paint.bold(scenario.name)}, a scenario`, ...describeScenario(scenario, columns)]);
  if (fault !== undefined)
    paragraphs.push([coded(fault, 'a kind of fault'), ...describeFault(fault, columns)]);
  if (invariant !== undefined)
    paragraphs.push([coded(invariant, 'an invariant'), ...describeInvariant(invariant, columns)]);
  if (mutant !== undefined) paragraphs.push([coded(mutant, 'a mutant'), ...describeMutant(mutant, columns)]);
  return paragraphs.map((lines) => lines.join('\n')).join('\n\n');
}

function describeFault({ name, description, aim, lasting }: FaultRow, columns: number): readonly string[] {
  const params = parameterWords(name);
  return [
    ...fillLines(description, '  ', columns),
    `  aims at: ${aimWords[aim]}; ${lasting ? 'lasts for a while' : 'is over at once'}`,
    ...(params.length === 0
      ? []
      : ['  parameters:', ...params.flatMap((one) => fillLines(one, '    ', columns))]),
    ...usedIn(
      'drawn by',
      scenarios.filter(({ faults }) => faults.some(({ kind }) => kind === name)),
      columns,
    ),
  ];
}

const aimWords: Readonly<Record<FaultRow['aim'], string>> = {
  node: 'one node',
  link: 'two hosts',
  side: 'some of the nodes, against the rest',
  client: 'one client',
};

function describeInvariant(row: InvariantDescription, columns: number): readonly string[] {
  return [
    ...fillLines(row.promise, '  ', columns),
    ...fillLines(`broken: ${row.breach} (${row.gravity})`, '  ', columns),
    ...usedIn(
      'checked in',
      scenarios.filter(({ invariants }) => Object.hasOwn(invariants, row.name)),
      columns,
    ),
  ];
}

function describeMutant(mutant: AnyMutant, columns: number): readonly string[] {
  const { title, file, oracles, name } = mutant;
  const [where, command] =
    'scenario' in mutant
      ? [
          `scenario ${mutant.scenario}, within ${mutant.seedsMax} seeds`,
          `lockstep-sim run --mutant ${name} --seeds ${mutant.seedsMax} --until-failure`,
        ]
      : [
          `${mutant.subject ?? 'transaction'} struck at ${mutant.exposedBy}`,
          `lockstep-sim enumerate ${mutant.subject ?? 'xa'} --mutant ${name} --only '${mutant.exposedBy}'`,
        ];
  return [
    ...fillLines(title, '  ', columns),
    `  edits: ${file}`,
    `  exposed by: ${where}`,
    ...fillLines(
      `must break: ${oracles.length === 0 ? 'nothing, it is harmless' : oracles.join(' or ')}`,
      '  ',
      columns,
    ),
    `  try: ${command}`,
  ];
}

function usedIn(label: string, found: readonly Scenario[], columns: number): readonly string[] {
  const names = found.map(({ name }) => name);
  if (names.length === 0) return [`  ${label}: no scenario`];
  return [`  ${label}:`, ...fillList(names, '    ', columns)];
}
