/** The commands of campaigns: `run`, and `merge` of the parts that several machines ran. */
import { availableParallelism } from 'node:os';
import process from 'node:process';

import type { Command } from 'commander';
import { Option } from 'commander';

import { LockstepError } from '../../engine/base/errors.ts';
import { renderSummary } from '../../reports/terminal.ts';
import { loadOwn } from '../embedding/own-file.ts';
import type { Plan } from '../plan/plan.ts';
import type { Campaign } from '../runner/campaign.ts';
import { campaignOf } from '../runner/campaign.ts';
import type { Shard } from '../runner/checkpoint.ts';
import { wholeCampaign } from '../runner/checkpoint.ts';
import type { Summary } from '../runner/result.ts';
import { planOfSeed } from '../runner/task.ts';
import type { Twice } from '../runner/twice.ts';
import { twiceChoices } from '../runner/twice.ts';
import { onGithub, tellGithub, writeCampaign } from './campaign-files.ts';
import { exitCodes } from './complaints.ts';
import { runGuided } from './guided-run.ts';
import { interruptedExitCode } from './interruption.ts';
import { mergeCampaigns } from './merge-command.ts';
import type { Output } from './option-values.ts';
import { durationMs, jobCount, jobsHelp, positive, shardOf, wholeNumber } from './option-values.ts';
import {
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
import { tellHistory } from './replay-command.ts';
import { runScenarios } from './run-command.ts';

/** Seeds per scenario of `run --all`. */
export const allSeedCount = 100;
/** How long `run` runs if neither a time nor a number of seeds is given, in milliseconds. */
const defaultForMs = 60_000;
const defaultOut = 'lockstep-sim-out';

interface RunFlags {
  readonly scenarios?: string;
  readonly seeds?: number;
  readonly seed?: number;
  readonly firstSeed: number;
  readonly shard?: Shard;
  readonly resume?: boolean;
  readonly guided?: boolean;
  readonly jobs: number;
  readonly for?: number;
  readonly out: string;
  readonly json?: boolean;
  readonly mutant?: string;
  readonly untilFailure?: boolean;
  readonly failFast?: boolean;
  readonly all?: boolean;
  readonly shrink: boolean;
  readonly twice?: Twice;
  readonly history?: string;
  readonly shrinkFor: number;
  readonly keep?: string | true;
  readonly github?: boolean;
}

/** Adds `run`. */
export function addRun(program: Command, { print, setExitCode }: Output): void {
  program
    .command('run')
    .description('run seeds of scenarios (all when none is named) and check every invariant')
    .argument('[scenario...]', 'names of scenarios')
    .option(
      '--seeds <n>',
      'seeds per scenario (default: as many as --for has time for; a minute if neither is given)',
      positive,
    )
    .addOption(new Option('--all', `${allSeedCount} seeds of every scenario`).conflicts(['seeds', 'seed']))
    .addOption(
      new Option('--seed <s>', 'this seed only').argParser(wholeNumber).conflicts(['seeds', 'firstSeed']),
    )
    .option('--first-seed <s>', 'the first of the seeds', wholeNumber, 1)
    .option('--jobs <j>', jobsHelp, jobCount, availableParallelism())
    .option(
      '--for <duration>',
      'begin no run after this time (90s, 5m, 1h); a seed of every scenario, then the next seed of every one',
      durationMs,
    )
    .option(
      '--out <dir>',
      'where failing plans are written; if given, with a page of each and of the campaign',
      defaultOut,
    )
    .addOption(
      new Option(
        '--shard <i/n>',
        'of the seeds, every N-th from the I-th on (0/3, 1/3, 2/3); merge joins the parts',
      )
        .argParser(shardOf)
        .conflicts('seed'),
    )
    .option('--resume', 'go on with the campaign in --out, if there is one; it is saved every 10 s')
    .option(
      '--guided',
      'with swarm: half of the runs change one thing of a plan that reached something rare; the corpus in --out is kept and gone on with',
    )
    .option('--json', 'print one line of JSON (sim/docs/campaign.schema.json)')
    .option('--github', 'print annotations for GitHub Actions, and add to its summary; on by itself there')
    .option('--until-failure', 'begin no further seed of a scenario that has failed')
    .option('--fail-fast', 'begin no further seed once any scenario has failed')
    .option('--no-shrink', 'do not shrink failures')
    .addOption(
      new Option(
        '--twice <which>',
        'which seeds run a second time to check determinism (default: eighth; all with --seed or --mutant)',
      ).choices(twiceChoices),
    )
    .addOption(shrinkForOption())
    .option(keepFlag, keepHelp)
    .option(historyFlag, `with one scenario and --seed: ${historyHelp}`)
    .option(scenariosFlag, `${scenariosHelp}: runs its scenarios unless others are named`)
    .option(mutantFlag, mutantHelp)
    .action(async (names: readonly string[], flags: RunFlags, command: Command) =>
      setExitCode(await run(names, flags, command.getOptionValueSource('out') === 'cli', print)),
    );
}

/** Runs the campaign and publishes it. `pages`: its directory was named. Returns the exit code. */
async function run(
  names: readonly string[],
  flags: RunFlags,
  pages: boolean,
  print: Output['print'],
): Promise<number> {
  const told = flags.history === undefined ? undefined : await mustGetSeedToTell(names, flags);
  if (flags.resume === true && !pages)
    throw new LockstepError('BadRequest', '--resume needs --out DIR: the directory of the campaign');
  const runs = flags.guided === true ? runGuided : runScenarios;
  const { summary, startedAt, wallMs } = await runs({
    scenarios: names,
    firstSeed: flags.seed ?? flags.firstSeed,
    seedCount: seedCountOf(flags),
    shard: flags.shard ?? wholeCampaign,
    resume: flags.resume === true,
    forMs: forMsOf(flags),
    jobs: flags.jobs,
    out: flags.out,
    mutant: flags.mutant,
    ownFile: flags.scenarios,
    untilFailure: flags.untilFailure === true,
    failFast: flags.failFast === true,
    twice: flags.twice ?? (flags.seed === undefined && flags.mutant === undefined ? 'eighth' : 'all'),
    pages,
    shrinkMs: flags.shrink ? flags.shrinkFor : 0,
    keep: keepDirectory(flags.keep),
  });
  if (told !== undefined && flags.history !== undefined) await tellHistory(told, flags.history);
  const campaign = campaignOf(summary, { command: process.argv.slice(2), startedAt, wallMs });
  // Before the summary, whose last line replays a failure.
  await publish(campaign, flags, pages ? flags.out : undefined, print);
  print(flags.json === true ? JSON.stringify(campaign) : renderSummary(summary, paint()));
  return exitCodeOf(summary);
}

interface MergeFlags {
  readonly out?: string;
  readonly json?: boolean;
  readonly github?: boolean;
}

/** Adds `merge`. */
export function addMerge(program: Command, { print, setExitCode }: Output): void {
  program
    .command('merge')
    .description('sum up the parts of a campaign that several machines ran (run --shard I/N --out DIR)')
    .argument('<dir...>', 'the directories of the parts')
    .option('--out <dir>', 'where the files of the whole campaign are written')
    .option('--json', 'print one line of JSON (sim/docs/campaign.schema.json)')
    .option('--github', 'print annotations for GitHub Actions, and add to its summary; on by itself there')
    .action(async (directories: readonly string[], flags: MergeFlags) => {
      const { summary, startedAt, wallMs, missing } = await mergeCampaigns(directories);
      const campaign = campaignOf(summary, { command: process.argv.slice(2), startedAt, wallMs });
      await publish(campaign, flags, flags.out, print);
      if (missing !== undefined) process.stderr.write(`lockstep-sim: ${missing}\n`);
      print(flags.json === true ? JSON.stringify(campaign) : renderSummary(summary, paint()));
      setExitCode(exitCodeOf(summary));
    });
}

/** Writes the campaign's files if it has a directory, and tells GitHub of its failures if that is wanted. */
async function publish(
  campaign: Campaign,
  { github, json }: Pick<RunFlags, 'github' | 'json'>,
  directory: string | undefined,
  print: Output['print'],
): Promise<void> {
  const written = directory === undefined ? undefined : await writeCampaign(campaign, directory);
  for (const note of written?.notes ?? []) process.stderr.write(`${note}\n`);
  if (written !== undefined && json !== true) print(`campaign: ${written.page}`);
  if (github !== true && !onGithub()) return;
  const annotations = (await tellGithub(campaign, written?.comparison)).join('\n');
  if (annotations === '') return;
  if (json === true) process.stderr.write(`${annotations}\n`);
  else print(annotations);
}

/** The plan of the one run whose history is wanted. Throws `BadRequest` unless the flags name exactly one. */
async function mustGetSeedToTell(
  names: readonly string[],
  { seed, mutant, scenarios }: RunFlags,
): Promise<Plan> {
  const [name] = names;
  if (name === undefined || names.length > 1 || seed === undefined || mutant !== undefined) {
    const detail =
      'a history is of one run: name one scenario and --seed S, without --mutant (replay --mutant has it too)';
    throw new LockstepError('BadRequest', detail);
  }
  return planOfSeed(name, seed, await loadOwn(scenarios));
}

function seedCountOf({ seed, seeds, all }: RunFlags): number | undefined {
  if (seed !== undefined) return 1;
  return all === true ? allSeedCount : seeds;
}

/** A number of seeds has all the time that it takes, unless a time is given. */
function forMsOf(flags: RunFlags): number | undefined {
  return flags.for ?? (seedCountOf(flags) === undefined ? defaultForMs : undefined);
}

function exitCodeOf(summary: Summary): number {
  if (summary.scenarios.some((one) => one.failed > 0)) return exitCodes.failed;
  if (summary.interrupted === true) return interruptedExitCode;
  return summary.unknownBeyondCap ? exitCodes.unknown : exitCodes.passed;
}
