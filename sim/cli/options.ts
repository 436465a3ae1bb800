/** What options of several commands share: their texts, and how results are printed. */
import process from 'node:process';

import chalk, { Chalk } from 'chalk';
import type { ChalkInstance } from 'chalk';
import { Option } from 'commander';

import { columnsMin } from '../../reports/columns.ts';
import { keptDirectory } from './kept-plan.ts';
import { durationMs } from './option-values.ts';

/** Text of an option that several commands have. */
export const historyFlag = '--history <file>';
/** Text of an option that several commands have. */
export const historyHelp = 'write the transactions: Jepsen EDN for Elle (*.edn), JSON lines otherwise';

/** The option `--shrink-for` of several commands. */
export function shrinkForOption(): Option {
  return new Option('--shrink-for <duration>', 'time to shrink a failure; 0s: do not shrink')
    .argParser(durationMs)
    .default(30_000, '30s');
}

/** Text of an option that several commands have. */
export const keepFlag = '--keep [dir]';
/** Text of an option that several commands have. */
export const keepHelp = `keep the plan of each failure in a directory (${keptDirectory} if none is named), with a vitest file`;

/** Text of an option that several commands have. */
export const mutantFlag = '--mutant <name>';
/** Text of an option that several commands have. */
export const mutantHelp =
  'in a copy of the engine with this mutant (a name or code of list --mutants), or with this patch of the sources (*.diff, *.patch; also --patch <file>)';

/** Text of an option that several commands have. */
export const scenariosFlag = '--scenarios <file>';
/** Text of an option that several commands have. */
export const scenariosHelp = 'a module of yours that exports scenarios, invariants or both';

/** The directory that `--keep` names; undefined without it. */
export function keepDirectory(keep: string | true | undefined): string | undefined {
  return keep === true ? keptDirectory : keep;
}

/** Width of the terminal; without one, the width that every terminal has. */
export function columns(): number {
  return Math.max(columnsMin, process.stdout.isTTY ? process.stdout.columns : columnsMin);
}

/** Colours on a terminal only. */
export function paint(): ChalkInstance {
  return process.stdout.isTTY ? chalk : new Chalk({ level: 0 });
}
