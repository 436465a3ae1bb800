/** The commands of `lockstep-sim` and their options. Actions end in an exit code; other modules produce the output. */
import { spawnSync } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';

import { Command, Option } from 'commander';

import { LockstepError } from '../../engine/base/errors.ts';
import { version } from '../../engine/base/version.ts';
import { fillLines } from '../../reports/columns.ts';
import {
  renderDivergence,
  renderFailure,
  renderMissed,
  renderUnrecorded,
  renderRun,
} from '../../reports/terminal.ts';
import { loadOwn } from '../embedding/own-file.ts';
import { mustHaveJudges } from '../runner/judges.ts';
import { exitCodes } from './complaints.ts';
import { enumerateTransactions, enumerationText } from './enumerate-command.ts';
import {
  enumerated,
  enumerateHelp,
  enumerateSteps,
  mustApplyToSteps,
  stepsText,
} from './enumerate-steps-command.ts';
import { subjectNamed } from '../explore/durable-steps.ts';
import { enumerateStoreBatches, mustApplyToStore, storeBatchText } from './enumerate-store-command.ts';
import type { ExportOptions } from './export-command.ts';
import { exportFormats, exportRun } from './export-command.ts';
import { listJson, listText } from './list-command.ts';
import { engineWith, mustGetEnumeratedMutant, mustGetStepMutant, mutateBuild } from './mutate-build.ts';
import type { Output } from './option-values.ts';
import { durationMs, jobCount, jobsHelp, names, positive, wholeNumber } from './option-values.ts';
import {
  columns,
  historyFlag,
  historyHelp,
  keepDirectory,
  keepFlag,
  keepHelp,
  mutantFlag,
  mutantHelp,
  paint,
  scenariosFlag,
  scenariosHelp,
  shrinkForOption,
} from './options.ts';
import type { WrittenPage } from './page-files.ts';
import type { TraceAsked, TraceLevel } from './replay-command.ts';
import { digestOf, planToReplay, replayPlan, tellHistory, traceLevels, traceOf } from './replay-command.ts';
import { explain, writePlayground, writeReports } from './report-command.ts';
import { addConform } from './conform-command.ts';
import { addMerge, addRun, allSeedCount } from './campaign-commands.ts';
import { addCoverage, addDoctor, addMutants } from './measure-commands.ts';
import { shrinkCommand } from './shrink-command.ts';
import { nothingOwn } from '../runner/user-defined.ts';

const examples = `
Examples:
  lockstep-sim list                                 the scenarios, a line each
  lockstep-sim list crash-and-restart               all of one scenario
  lockstep-sim list --invariants                    what is promised
  lockstep-sim run                                  a minute over all scenarios
  lockstep-sim run --all                            ${allSeedCount} seeds of every scenario
  lockstep-sim run crash-and-restart --seeds 1000   many seeds of one
  lockstep-sim run --for 10m --jobs 2               seeds for ten minutes
  lockstep-sim run --shard 0/8 --out parts/0        an eighth of a campaign
  lockstep-sim merge parts/*                        its parts together
  lockstep-sim run --mutant ack-before-sync         is a mutant detected?
  lockstep-sim run swarm --patch mine.diff          is my bug detected?
  lockstep-sim replay crash-and-restart --seed 7    one run again
  lockstep-sim replay plan.json --trace --until 2s  a plan file, its first 2 s
  lockstep-sim replay plan.json --key k3            all about one key
  lockstep-sim shrink plan.json --shrink-for 5m     a smaller plan
  lockstep-sim report lockstep-sim-out              a page of each failure
  lockstep-sim explain plan.json                    why a plan fails
  lockstep-sim page                                 a page to play with
  lockstep-sim enumerate xa                         faults at each step
  lockstep-sim enumerate xa --pairs --limit 2000    at pairs of steps: a sample
  lockstep-sim enumerate store-batch                crashes at each disk step
  lockstep-sim enumerate ring-change                faults at each durable step
  lockstep-sim coverage swarm --seeds 100           what was never tried?
  lockstep-sim mutants                              are all mutants detected?
  lockstep-sim doctor                               does a run always repeat?
  lockstep-sim conform transactions --seed 3        do real processes agree?

Exit codes: 0 all passed, 1 an invariant failed, 2 usage, 3 more unknown
verdicts than the cap allows, 130 ended by Ctrl-C before a failure, 70 the
simulator itself failed (which says nothing about any invariant).`;

/** Options of every command that runs plans. */
interface OwnFlags {
  readonly scenarios?: string;
}

interface ShrinkFlags extends OwnFlags {
  readonly seed?: number;
  readonly shrinkFor: number;
  readonly keep?: string | true;
  readonly out?: string;
  readonly jobs: number;
  readonly mutant?: string;
}

interface ReplayFlags extends OwnFlags {
  readonly seed?: number;
  readonly trace?: boolean;
  readonly level?: TraceLevel;
  readonly node?: readonly string[];
  readonly key?: readonly string[];
  readonly transaction?: readonly string[];
  readonly event?: readonly string[];
  readonly from?: number;
  readonly until?: number;
  readonly history?: string;
  readonly json?: boolean;
  readonly mutant?: string;
}

interface ExportFlags extends OwnFlags {
  readonly format: ExportOptions['format'];
  readonly seed?: number;
  readonly out?: string;
}

interface ReportFlags extends OwnFlags {
  readonly seed?: number;
  readonly out?: string;
  readonly mutant?: string;
}

interface EnumerateFlags {
  readonly pairs?: boolean;
  readonly only?: string;
  readonly limit?: number;
  readonly seed?: number;
  readonly jobs?: number;
  readonly json?: boolean;
  readonly mutant?: string;
}

interface ListFlags extends OwnFlags {
  readonly faults?: boolean;
  readonly invariants?: boolean;
  readonly mutants?: boolean;
  readonly json?: boolean;
}

/** The command line with `--mutant` in place of its former name, `--plant`, and of `--patch`. */
export function withPresentOptions(words: readonly string[]): readonly string[] {
  return words.map((word) => word.replace(/^--(plant|patch)(?=$|=)/, '--mutant'));
}

/** Creates the program. It calls `setExitCode` with the outcome, and `print` with text for stdout. */
export function makeProgram(print: (text: string) => void, setExitCode: (code: number) => void): Command {
  const program = new Command('lockstep-sim')
    .description(
      'Runs Lockstep clusters in a seeded world under faults, and checks what clients were promised.',
    )
    .version(version, '--version', 'print the version')
    // Short terms leave the descriptions room to wrap within 80 columns.
    .configureHelp({
      subcommandTerm: (command) => `${command.name()} ${command.usage().replace('[options] ', '')}`,
    })
    .addHelpText('after', examples)
    .showHelpAfterError('(lockstep-sim --help tells more)');

  const output: Output = { print, setExitCode };
  addRun(program, output);
  addMerge(program, output);
  addShrink(program, output);
  addReplay(program, output);
  addDigest(program, output);
  addReport(program, output);
  addExport(program, output);
  addPage(program, output);
  addExplain(program, output);
  addEnumerate(program, output);
  addCoverage(program, output);
  addDoctor(program, output);
  addMutants(program, output);
  addConform(program, output);
  addList(program, output);
  for (const command of program.commands)
    command.showHelpAfterError(`(lockstep-sim ${command.name()} --help tells more)`);
  return program;
}

function addShrink(program: Command, { print, setExitCode }: Output): void {
  program
    .command('shrink')
    .description('shrink a failing plan, or one that run had no time to make minimal')
    .argument('<scenario|plan.json>', 'a scenario with --seed, or a plan file; x.json becomes x.min.json')
    .option('--seed <s>', 'the seed', wholeNumber)
    .addOption(shrinkForOption())
    .option('--out <dir>', 'where the shrunk plan is written (default: beside the plan)')
    .option(keepFlag, keepHelp)
    .option('--jobs <j>', jobsHelp, jobCount, availableParallelism())
    .option(scenariosFlag, scenariosHelp)
    .option(mutantFlag, mutantHelp)
    .action(async (what: string, flags: ShrinkFlags) => {
      const failure = await shrinkCommand(what, {
        seed: flags.seed,
        shrinkMs: flags.shrinkFor,
        out: flags.out,
        keep: keepDirectory(flags.keep),
        jobs: flags.jobs,
        mutant: flags.mutant,
        ownFile: flags.scenarios,
      });
      print(renderFailure(failure, paint()));
      setExitCode(exitCodes.failed);
    });
}

function addReplay(program: Command, { print, setExitCode }: Output): void {
  program
    .command('replay')
    .description('run one seed of a scenario, or a plan file, again')
    .argument('<scenario|plan.json>', 'a scenario with --seed, or a plan file')
    .option('--seed <s>', 'the seed', wholeNumber)
    .option('--trace', 'print what happened: operations, messages, faults, events; filters imply it')
    .addOption(
      new Option(
        '--level <level>',
        'how much: a screen per virtual second, all lines, or every event',
      ).choices(traceLevels),
    )
    .option('--node <names>', 'of these hosts (n2,c1)', names)
    .option('--key <keys>', 'about these keys (k3,k4)', names)
    .option('--transaction <ids>', 'about these transactions (an id, its beginning, #t12)', names)
    .option('--event <names>', 'events whose names begin so (xa.,disk.), operation, message', names)
    .option('--from <duration>', 'from this virtual time on (500ms)', durationMs)
    .option('--until <duration>', 'up to this virtual time (2s)', durationMs)
    .option(historyFlag, historyHelp)
    .option('--json', 'print one line of JSON')
    .option(scenariosFlag, scenariosHelp)
    .option(mutantFlag, mutantHelp)
    .action(async (what: string, flags: ReplayFlags) => {
      if (flags.mutant !== undefined) {
        setExitCode(await replayMutant(what, flags, flags.mutant));
        return;
      }
      const own = await loadOwn(flags.scenarios);
      const plan = await planToReplay(what, flags.seed, own);
      mustHaveJudges(plan, own.invariants);
      const asked = traceAskedBy(flags);
      if (asked !== undefined) print((await traceOf(plan, asked, own)).join('\n'));
      if (flags.history !== undefined) await tellHistory(plan, flags.history);
      const { result, divergence } = await replayPlan(plan, own);
      if (result.missed.length > 0) process.stderr.write(`${renderMissed(result)}\n`);
      if (divergence !== undefined && plan.recorded !== undefined)
        process.stderr.write(`${renderDivergence(plan.recorded, divergence, result)}\n`);
      if (plan.recorded === undefined && what.endsWith('.json') && result.verdict === 'passed')
        process.stderr.write(`${renderUnrecorded()}\n`);
      print(flags.json === true ? JSON.stringify(result) : renderRun(result, paint()));
      setExitCode(exitCodes[result.verdict]);
    });
}

function addDigest(program: Command, { print }: Output): void {
  program
    .command('digest')
    .description('print the digest of a run: 64 hex digits, the same wherever it is made')
    .argument('<scenario|plan.json>', 'a scenario with --seed, or a plan file')
    .option('--seed <s>', 'the seed', wholeNumber)
    .option(scenariosFlag, scenariosHelp)
    .action(async (what: string, flags: ReplayFlags) => {
      print(await digestOf(await planToReplay(what, flags.seed, await loadOwn(flags.scenarios))));
    });
}

function addReport(program: Command, { print, setExitCode }: Output): void {
  program
    .command('report')
    .description('write a page of a run: one HTML file that needs no network and holds the simulator')
    .argument('<scenario|plan.json|dir>', 'a scenario with --seed, a plan file, or a directory of plan files')
    .option('--seed <s>', 'the seed', wholeNumber)
    .option('--out <dir>', 'where the pages are written (default: beside the plans)')
    .option(scenariosFlag, scenariosHelp)
    .option(mutantFlag, mutantHelp)
    .action(async (what: string, flags: ReportFlags) => {
      if (flags.mutant !== undefined) {
        setExitCode(await inMutant('report', what, flags, flags.mutant));
        return;
      }
      const own = await loadOwn(flags.scenarios);
      const options = { seed: flags.seed, out: flags.out, ownFile: flags.scenarios };
      for (const page of await writeReports(what, options, own)) print(describePage(page));
    });
}

function addExport(program: Command, { print }: Output): void {
  program
    .command('export')
    .description('write a run in the format of another tool')
    .argument('<scenario|plan.json>', 'a scenario with --seed, or a plan file')
    .addOption(
      new Option('--format <format>', 'ShiViz log, Chrome trace (ui.perfetto.dev), or operations as CSV')
        .choices(exportFormats)
        .makeOptionMandatory(),
    )
    .option('--seed <s>', 'the seed', wholeNumber)
    .option('--out <file>', 'the file (default: the name of the run with the ending of the format)')
    .option(scenariosFlag, scenariosHelp)
    .action(async (what: string, { scenarios, ...flags }: ExportFlags) => {
      const options = { format: flags.format, seed: flags.seed, out: flags.out };
      print(await exportRun(what, options, await loadOwn(scenarios)));
    });
}

function addPage(program: Command, { print }: Output): void {
  program
    .command('page')
    .description('write the playground: a page in which a cluster of your choice takes faults')
    .argument('[scenario]', 'the scenario that it begins with', 'crash-and-restart')
    .option('--seed <s>', 'the seed that it begins with', wholeNumber, 1)
    .option('--out <file>', 'the file', 'lockstep-playground.html')
    .action(async (scenario: string, { seed, out }: { readonly seed: number; readonly out: string }) => {
      print(describePage(await writePlayground(scenario, seed, out, nothingOwn)));
    });
}

function addExplain(program: Command, { print, setExitCode }: Output): void {
  program
    .command('explain')
    .description('say why a plan fails: what broke and how, what it needs, and at which moment it turns')
    .argument('<scenario|plan.json>', 'a scenario with --seed, or a plan file (a shrunk one is quick)')
    .option('--seed <s>', 'the seed', wholeNumber)
    .option(scenariosFlag, scenariosHelp)
    .option(mutantFlag, mutantHelp)
    .action(async (what: string, flags: ReportFlags) => {
      if (flags.mutant !== undefined) {
        setExitCode(await inMutant('explain', what, flags, flags.mutant));
        return;
      }
      const asked = { seed: flags.seed, ownFile: flags.scenarios };
      const { lines } = await explain(what, asked, await loadOwn(flags.scenarios));
      print(lines.flatMap((line) => fillLines(line, '')).join('\n'));
    });
}

function describePage({ file, bytes, recording: { result } }: WrittenPage): string {
  return `${file}: ${(bytes / 1_000_000).toFixed(2)} MB; ${result.scenario}, seed ${result.seed}: ${result.verdict}`;
}

/** Runs the command in the mutant's copy of this program. */
async function inMutant(command: string, what: string, flags: ReportFlags, id: string): Promise<number> {
  const build = await engineWith(id);
  const words = [command, what];
  if (flags.seed !== undefined) words.push('--seed', String(flags.seed));
  if (flags.out !== undefined) words.push('--out', flags.out);
  if (flags.scenarios !== undefined) words.push('--scenarios', flags.scenarios);
  return (
    spawnSync(process.execPath, [join(build, 'sim/main.js'), ...words], { stdio: 'inherit' }).status ??
    exitCodes.fault
  );
}

function addEnumerate(program: Command, { print, setExitCode }: Output): void {
  program
    .command('enumerate')
    .description('strike at every point there is: steps of a transaction, and whatever a node saves durably')
    .argument('<what>', enumerated.map(({ name }) => name).join(', '))
    .option('--pairs', 'xa: every two points')
    .option('--only <text>', 'only points whose description contains this text (p.vote.sent crash n2)')
    .option('--limit <n>', 'about so many runs or crash states, and of more a sample', positive)
    .option('--seed <s>', 'the seed of the sample (store-batch: of the history too)', wholeNumber)
    .option('--jobs <j>', `${jobsHelp} (default: ${availableParallelism()}; not of store-batch)`, jobCount)
    .option('--json', 'print one line of JSON')
    .option(
      '--mutant <name>',
      'run a copy of the engine with this mutant (a name or code; not of store-batch)',
    )
    .addHelpText('after', enumerateHelp())
    .action(async (what: string, flags: EnumerateFlags) => {
      if (what === 'store-batch') {
        mustApplyToStore({ ...flags });
        const report = await enumerateStoreBatches({ limit: flags.limit, seed: flags.seed });
        print(flags.json === true ? JSON.stringify(report) : storeBatchText(report));
        setExitCode(report.failures.length === 0 ? exitCodes.passed : exitCodes.failed);
        return;
      }
      const subject = subjectNamed(what);
      if (subject !== undefined) {
        mustApplyToSteps(what, { ...flags });
        const { only, limit, seed, jobs = availableParallelism(), mutant } = flags;
        const build = mutant === undefined ? undefined : await mutateBuild(mustGetStepMutant(mutant));
        const steps = await enumerateSteps({ subject, only, limit, seed, jobs, build });
        print(flags.json === true ? JSON.stringify(steps) : stepsText(steps));
        setExitCode(steps.failures.length === 0 ? exitCodes.passed : exitCodes.failed);
        return;
      }
      if (what !== 'xa') {
        const known = enumerated.map(({ name }) => name).join(', ');
        throw new LockstepError('BadRequest', `"${what}" cannot be enumerated; these can: ${known}`);
      }
      const build =
        flags.mutant === undefined ? undefined : await mutateBuild(mustGetEnumeratedMutant(flags.mutant));
      const enumeration = await enumerateTransactions({
        pairs: flags.pairs === true,
        only: flags.only,
        limit: flags.limit,
        seed: flags.seed,
        jobs: flags.jobs ?? availableParallelism(),
        build,
      });
      print(flags.json === true ? JSON.stringify(enumeration) : enumerationText(enumeration));
      setExitCode(enumeration.failures.length === 0 ? exitCodes.passed : exitCodes.failed);
    });
}

function addList(program: Command, { print }: Output): void {
  program
    .command('list')
    .description('the scenarios, a line each; all of one by its name; or the tables of what may be named')
    .argument('[name]', 'a scenario, fault, invariant or mutant (old codes too): all there is of it')
    .option('--faults', 'the kinds of faults')
    .option('--invariants', 'the invariants')
    .option('--mutants', 'the mutants')
    .option('--json', 'print one line of JSON')
    .option(scenariosFlag, scenariosHelp)
    .action(async (name: string | undefined, { json, scenarios, ...tables }: ListFlags) => {
      const own = await loadOwn(scenarios);
      const wanted = { name, ...tables };
      print(json === true ? listJson(wanted, own) : listText(wanted, own, paint(), columns()));
    });
}

/** Runs the command in the mutant's copy of this program. */
async function replayMutant(what: string, flags: ReplayFlags, id: string): Promise<number> {
  const build = await engineWith(id);
  const words = ['replay', what];
  if (flags.seed !== undefined) words.push('--seed', String(flags.seed));
  if (flags.trace === true) words.push('--trace');
  if (flags.level !== undefined) words.push('--level', flags.level);
  for (const name of ['node', 'key', 'transaction', 'event'] as const) {
    const given = flags[name];
    if (given !== undefined) words.push(`--${name}`, given.join(','));
  }
  if (flags.from !== undefined) words.push('--from', `${flags.from}ms`);
  if (flags.until !== undefined) words.push('--until', `${flags.until}ms`);
  if (flags.history !== undefined) words.push('--history', flags.history);
  if (flags.json === true) words.push('--json');
  if (flags.scenarios !== undefined) words.push('--scenarios', flags.scenarios);
  const { status } = spawnSync(process.execPath, [join(build, 'sim/main.js'), ...words], {
    stdio: 'inherit',
  });
  // Without a status, a signal ended it.
  return status ?? exitCodes.fault;
}

/** The trace that the flags ask for; undefined: none. Where a filter chooses, all of what it chooses is printed. */
function traceAskedBy(flags: ReplayFlags): TraceAsked | undefined {
  const { trace, level, node = [], key = [], transaction = [], event = [], from, until } = flags;
  const chooses = [node, key, transaction, event].some((list) => list.length > 0);
  if (trace !== true && level === undefined && !chooses && from === undefined && until === undefined)
    return undefined;
  return {
    level: level ?? (chooses ? 'messages' : 'overview'),
    filter: {
      ...{ nodes: node, keys: key, transactions: transaction, events: event },
      fromUs: (from ?? 0) * 1000,
      untilUs: until === undefined ? Number.MAX_SAFE_INTEGER : until * 1000,
    },
  };
}
