/** `lockstep-sim coverage`: runs seeds or plans, and shows which cells of the tables of coverage they reach. */
import { stat, readdir } from 'node:fs/promises';
import { join } from 'node:path';

import { LockstepError } from '../../engine/base/errors.ts';
import { fillAfter, fillLines, fillList } from '../../reports/columns.ts';
import { grouped, many } from '../../reports/numbers.ts';
import { noveltySentence } from '../../reports/terminal.ts';
import { scenarios } from '../../scenarios/catalogue.ts';
import type { CellCount, TableCoverage } from '../coverage/coverage.ts';
import { Coverage } from '../coverage/coverage.ts';
import type { Cell } from '../coverage/table.ts';
import { coverageTables } from '../coverage/tables.ts';
import { buildDirectory } from '../runner/pool/build.ts';
import { Pool } from '../runner/pool/pool.ts';
import type { Task } from '../runner/task.ts';
import { mustFindScenario } from '../runner/task.ts';
import { nothingOwn } from '../runner/user-defined.ts';
import { planToReplay } from './replay-command.ts';
import { startProgress } from './progress.ts';

/** The names of all tables. */
export const tableNames = coverageTables.map(({ name }) => name).join(', ');

/** What to run. */
export interface CoverageOptions {
  /** Scenarios, plan files (`*.json`) and directories of plan files; empty for all scenarios. */
  readonly what: readonly string[];
  /** Seeds of each scenario. */
  readonly seeds: number;
  readonly firstSeed: number;
  readonly jobs: number;
}

type RunTask = Task & { readonly kind: 'seed' | 'plan' };

/** Runs everything. Throws `NotFound` for an unknown scenario or file. */
export async function measureCoverage(options: CoverageOptions): Promise<Coverage> {
  const tasks = await tasksOf(options);
  const coverage = new Coverage();
  const pool = new Pool(buildDirectory, options.jobs);
  const progress = startProgress(tasks.length);
  let failures = 0;
  try {
    await pool.performAll(tasks.values(), (task, answer) => {
      if (answer.kind !== 'ran') return;
      coverage.add(answer.reached);
      if (answer.result.verdict === 'failed') failures += 1;
      progress.ran(failures, task.kind === 'seed' ? task.scenario : task.plan.scenario);
    });
  } finally {
    progress.stop();
    await pool.close();
  }
  return coverage;
}

async function tasksOf({ what, seeds, firstSeed }: CoverageOptions): Promise<readonly RunTask[]> {
  const tasks: RunTask[] = [];
  for (const one of what.length === 0 ? scenarios.map(({ name }) => name) : what) {
    const files = await planFilesOf(one);
    if (files === undefined) {
      const scenario = mustFindScenario(one, nothingOwn).name;
      for (let index = 0; index < seeds; index++)
        tasks.push({ kind: 'seed', scenario, seed: firstSeed + index, twice: 'eighth' });
    } else {
      for (const file of files)
        tasks.push({ kind: 'plan', plan: await planToReplay(file, undefined, nothingOwn) });
    }
  }
  return tasks;
}

/** The plan files that the word names; undefined for a word that is neither a plan file nor a directory. */
async function planFilesOf(word: string): Promise<readonly string[] | undefined> {
  if (word.endsWith('.json')) return [word];
  const found = await stat(word).catch(() => undefined);
  if (found?.isDirectory() !== true) return undefined;
  const names = (await readdir(word)).filter((name) => name.endsWith('.json')).sort();
  if (names.length === 0) throw new LockstepError('NotFound', `${word} holds no plan files (*.json)`);
  return names.map((name) => join(word, name));
}

/** As text: of every table its empty cells; with `table`, all cells of that one. Throws `NotFound` for another name. */
export function coverageText(coverage: Coverage, table?: string): string {
  const { summary } = coverage;
  const head = `${many(summary.runs, 'run')}: ${summary.novelty === undefined ? many(summary.reached, 'cell') : noveltySentence(summary, summary.novelty)}`;
  const tables =
    table === undefined ? coverage.tables.map(emptyText) : [countsText(tableNamed(coverage, table))];
  return [...fillLines(head, ''), ...tables].join('\n');
}

/** As one line of JSON. */
export function coverageJson(coverage: Coverage, table?: string): string {
  const tables = table === undefined ? coverage.tables : [tableNamed(coverage, table)];
  return JSON.stringify({ ...coverage.summary, tables });
}

function tableNamed({ tables }: Coverage, name: string): TableCoverage {
  const found = tables.find((one) => one.name === name);
  if (found !== undefined) return found;
  throw new LockstepError('NotFound', `there is no table "${name}"; there are ${tableNames}`);
}

function emptyText({ name, title, axes, reached, empty, excused }: TableCoverage): string {
  const count = reached.length + empty.length + excused.length;
  const excuses = excused.length === 0 ? '' : `, ${grouped(excused.length)} excused`;
  const head = `${name} (${title}): ${grouped(reached.length)} of ${grouped(count)} reached, ${grouped(empty.length)} empty${excuses}`;
  if (axes.length === 1)
    return [
      ...fillLines(head, ''),
      ...fillList(
        empty.map(([value = '']) => value),
        '  ',
      ),
    ].join('\n');
  const rows = grouping(empty, (cell) => cell).map(([row, cells]) => {
    const known = reached.filter(({ cell }) => cell[0] === row).map(({ cell }) => cell);
    const [words, shown] = known.length < cells.length ? ['only ', known] : ['not ', cells];
    if (shown.length === 0) return `  ${row}: never`;
    return listed(row, words, shown.map(restOf));
  });
  return [...fillLines(head, ''), ...rows].join('\n');
}

function countsText({ title, reached, empty }: TableCoverage): string {
  const all: readonly CellCount[] = [...reached, ...empty.map((cell) => ({ cell, runs: 0 }))];
  const rows = grouping(all, ({ cell }) => cell).map(([row, cells]) =>
    listed(
      row,
      '',
      cells.map(({ cell, runs }) => `${restOf(cell)} ${grouped(runs)}`.trim()),
    ),
  );
  return [`${title}:`, ...rows].join('\n');
}

/** `  gossip: not rebuilding, standby`. */
function listed(row: string, words: string, items: readonly string[]): string {
  return fillAfter(`  ${row}: ${words}`, (indent) => fillList(items, indent));
}

/** What identifies the cell within its row. */
function restOf(cell: Cell): string {
  return cell.slice(1).join(' ');
}

/** Groups by the first coordinate. */
function grouping<One>(
  ones: readonly One[],
  cellOf: (one: One) => Cell,
): readonly (readonly [string, readonly One[]])[] {
  const rows = new Map<string, One[]>();
  for (const one of ones) {
    const [row = ''] = cellOf(one);
    const known = rows.get(row);
    if (known === undefined) rows.set(row, [one]);
    else known.push(one);
  }
  return [...rows];
}
