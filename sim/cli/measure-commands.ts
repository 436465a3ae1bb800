/** The commands that examine the testbed itself: `coverage`, `doctor` and `mutants`. */
import { availableParallelism } from 'node:os';

import type { Command } from 'commander';
import { Option } from 'commander';

import { LockstepError } from '../../engine/base/errors.ts';
import { exitCodes } from './complaints.ts';
import { coverageJson, coverageText, measureCoverage, tableNames } from './coverage-command.ts';
import { diagnose, doctorText, waysOf } from './doctor-command.ts';
import {
  entryText,
  placeText,
  scoreText,
  tryGenerated,
  unreachedMutants,
} from './generated-mutants-command.ts';
import { checkMutants, rowText } from './mutants-command.ts';
import type { Output } from './option-values.ts';
import { planToReplay } from './replay-command.ts';
import { durationMs, jobCount, jobsHelp, positive, shardOf, wholeNumber } from './option-values.ts';

/** Seeds of each scenario that `coverage` runs. */
const coverageSeedCount = 1;

interface CoverageFlags {
  readonly seeds: number;
  readonly firstSeed: number;
  readonly jobs: number;
  readonly table?: string;
  readonly places?: boolean;
  readonly json?: boolean;
}

interface DoctorFlags {
  readonly seed?: number;
  readonly node?: readonly string[];
  readonly json?: boolean;
}

interface MutantsFlags {
  readonly generated?: number;
  readonly seed: number;
  readonly budget: number;
  readonly shard?: { readonly index: number; readonly count: number };
  readonly score?: string;
  readonly shrinkFor: number;
  readonly jobs: number;
  readonly json?: boolean;
}

const surveyedEvery = 20;

function onSurveyed(ran: number, of: number): void {
  if (ran % surveyedEvery === 0) process.stderr.write(`survey of places: ${ran} of ${of} runs\n`);
}

/** Adds `coverage`. */
export function addCoverage(program: Command, { print }: Output): void {
  program
    .command('coverage')
    .description('say which combinations runs reach, which they never reach, and what the next may add')
    .argument('[what...]', 'scenarios, plan files, or directories of plan files (default: all scenarios)')
    .option('--seeds <n>', 'seeds of each scenario', positive, coverageSeedCount)
    .option('--first-seed <s>', 'the first of the seeds', wholeNumber, 1)
    .option('--jobs <j>', jobsHelp, jobCount, availableParallelism())
    .option('--table <name>', `all cells of one table, with how many runs reached each: ${tableNames}`)
    .addOption(
      new Option(
        '--places',
        'instead, after some minutes: places of the engine’s code that no run of a survey executes',
      ).conflicts(['seeds', 'firstSeed', 'jobs', 'table']),
    )
    .option('--json', 'print one line of JSON')
    .action(async (what: readonly string[], flags: CoverageFlags) => {
      if (flags.places === true) {
        if (what.length > 0)
          throw new LockstepError('BadRequest', '--places surveys all scenarios: name none beside it');
        const { total, unreached } = await unreachedMutants(onSurveyed);
        if (flags.json === true) return print(JSON.stringify({ total, unreached: unreached.map(placeText) }));
        for (const place of unreached) print(placeText(place));
        return print(`${unreached.length} of ${total} places are executed by no run`);
      }
      const coverage = await measureCoverage({ ...flags, what });
      print(flags.json === true ? coverageJson(coverage, flags.table) : coverageText(coverage, flags.table));
    });
}

/** Adds `doctor`. */
export function addDoctor(program: Command, { print, setExitCode }: Output): void {
  program
    .command('doctor')
    .description('make one run in many ways that must not matter, and name the first event that differs')
    .argument('[scenario|plan.json]', 'a scenario with --seed, or a plan file', 'crash-and-restart')
    .option('--seed <s>', 'the seed (default: 1; a plan file has its own)', wholeNumber)
    .option('--node <path...>', 'other Node.js programs to run it with')
    .option('--json', 'print one line of JSON')
    .action(async (what: string, flags: DoctorFlags) => {
      const seed = flags.seed ?? (what.endsWith('.json') ? undefined : 1);
      const plan = await planToReplay(what, seed);
      const words = seed === undefined ? [what] : [what, '--seed', String(seed)];
      const findings = await diagnose(waysOf(plan, words, flags.node ?? []));
      const title = `${plan.scenario}, seed ${plan.seed}`;
      print(flags.json === true ? JSON.stringify({ title, ways: findings }) : doctorText(title, findings));
      const same = findings.every(({ difference }) => difference === undefined);
      setExitCode(same ? exitCodes.passed : exitCodes.failed);
    });
}

/** Adds `mutants`. */
export function addMutants(program: Command, { print, setExitCode }: Output): void {
  program
    .command('mutants')
    .description('check that mutants are detected: those of the catalogue, or generated ones')
    .argument('[name...]', 'names or codes (with --generated: names or operators); default: all')
    .option('--generated <n>', 'make n mutants of the engine, try each and print the score', positive)
    .option('--seed <s>', 'with --generated: the seed by which they are drawn', wholeNumber, 1)
    .addOption(
      new Option('--budget <duration>', 'with --generated: processor time for each')
        .argParser(durationMs)
        .default(120_000, '2m'),
    )
    .option('--shard <i/n>', 'with --generated: of n equal parts, this one (0/2, 1/2)', shardOf)
    .option('--score <file>', 'with --generated: keep the score there; mutants in it are not tried again')
    .addOption(
      new Option('--shrink-for <duration>', 'of the catalogue: shrink each failing plan this long')
        .argParser(durationMs)
        .default(0, 'not at all'),
    )
    .option('--jobs <j>', `of the catalogue: ${jobsHelp}`, jobCount, availableParallelism())
    .option('--json', 'print one line of JSON')
    .action(async (only: readonly string[], flags: MutantsFlags) => {
      const show = (line: string): void => {
        if (flags.json !== true) print(line);
      };
      if (flags.generated !== undefined) {
        const score = await tryGenerated({
          ...{ count: flags.generated, seed: flags.seed, only, budgetSeconds: flags.budget / 1000 },
          ...{ shard: flags.shard ?? { index: 0, count: 1 }, file: flags.score },
          onTried: (entry) => show(entryText(entry)),
          onSurveyed,
        });
        print(flags.json === true ? JSON.stringify(score) : scoreText(score));
        return;
      }
      const { jobs, shrinkFor: shrinkMs } = flags;
      const rows = await checkMutants({ only, jobs, shrinkMs, onChecked: (row) => show(rowText(row)) });
      const missed = rows.filter(({ noticed }) => !noticed).length;
      if (flags.json === true) print(JSON.stringify({ missed, mutants: rows }));
      else print(missed === 0 ? 'every mutant is noticed' : `${missed} missed`);
      setExitCode(missed === 0 ? exitCodes.passed : exitCodes.failed);
    });
}
