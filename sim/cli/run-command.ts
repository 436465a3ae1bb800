/**
 * `lockstep-sim run`: runs seeds of scenarios in parallel, shrinks the smallest failure of each scenario, and sums up.
 */
import { join } from 'node:path';
import process from 'node:process';

import { LockstepError } from '../../engine/base/errors.ts';
import { renderFailureLine } from '../../reports/terminal.ts';
import { scenarios } from '../../scenarios/catalogue.ts';
import { swarm } from '../../scenarios/swarm.ts';
import { Coverage } from '../coverage/coverage.ts';
import { buildDirectory } from '../runner/pool/build.ts';
import { Pool } from '../runner/pool/pool.ts';
import { loadOwn } from '../embedding/own-file.ts';
import type { Own } from '../runner/user-defined.ts';
import type { CampaignIdentity, Checkpoint, Shard } from '../runner/checkpoint.ts';
import { checkpointFormat, identityDifference } from '../runner/checkpoint.ts';
import type { Failure, RunResult, Shrunk, Summary } from '../runner/result.ts';
import { summarizeAll } from '../runner/result.ts';

import { shrinkableInvariant, shrinkFailure } from '../runner/shrink-failure.ts';
import { SeedRanges } from '../runner/seed-ranges.ts';
import type { Tally } from '../runner/tally.ts';
import { addResult, emptyTally, runsOf, summaryOf } from '../runner/tally.ts';
import type { Task } from '../runner/task.ts';
import { mustFindScenario, planOfSeed } from '../runner/task.ts';
import type { Twice } from '../runner/twice.ts';
import { CheckpointFile, identityOf, readCheckpoint } from './checkpoint-file.ts';
import { FailureFiles } from './failure-files.ts';
import { Interruption } from './interruption.ts';
import { engineWith, isPatch, mutantNamed } from './mutate-build.ts';
import { showShrinking, startProgress, startTimedProgress } from './progress.ts';

/** Options of `run`. */
export interface RunOptions {
  /** Scenario names; empty for all, or for the mutant's own. */
  readonly scenarios: readonly string[];
  readonly firstSeed: number;
  /** Seeds per scenario, of all parts together; undefined for as many as `forMs` allows. */
  readonly seedCount: number | undefined;
  /** The part of the campaign that this process runs. */
  readonly shard: Shard;
  /** Goes on from the checkpoint in `out`, if there is one. */
  readonly resume: boolean;
  /** Starts no run after this many milliseconds; one run is always made. */
  readonly forMs: number | undefined;
  readonly jobs: number;
  /** Directory for failing plans. */
  readonly out: string;
  readonly mutant: string | undefined;
  /** The module with the user's scenarios and invariants. */
  readonly ownFile: string | undefined;
  /** Starts no further run of a scenario that has failed. */
  readonly untilFailure: boolean;
  /** Starts no further run once any has failed. */
  readonly failFast: boolean;
  /** Which seeds run a second time for `determinism`. */
  readonly twice: Twice;
  /** Writes a page of each failure beside its plan, and a checkpoint. */
  readonly pages: boolean;
  /** Milliseconds of real time that shrinking a failure may take; 0: failures are not shrunk. */
  readonly shrinkMs: number;
  /** Directory in which the plans of failures are kept, each with a test; undefined: they are not. */
  readonly keep: string | undefined;
}

type SeedTask = Task & { readonly kind: 'seed' };

/** Results of a scenario's runs so far. */
interface Findings {
  /** The seeds that are run and added up. */
  readonly seeds: SeedRanges;
  readonly tally: Tally;
  /** Arguments that replay the failure that was looked into. */
  replay?: readonly string[];
  /** The first failure, which is shrunk while other runs go on, where the time is limited. */
  shrinking: { readonly result: RunResult; readonly shrunk: Promise<Shrunk | undefined> } | undefined;
}

/** What all steps of one campaign share. */
interface Campaign {
  readonly options: RunOptions;
  readonly own: Own;
  readonly pool: Pool;
  /** Of the unchanged engine; undefined unless the pool's has a mutant or a patch. */
  readonly unchanged: Pool | undefined;
  readonly interruption: Interruption;
  readonly coverage: Coverage;
  /** On the clock of `performance.now`. */
  readonly endMs: number;
  readonly findings: Map<string, Findings>;
  /** Undefined: none is written. */
  readonly checkpoint: CheckpointFile | undefined;
  /** The first failure has a page also where the campaign's time is over. */
  hasPage: boolean;
}

/** The summary, and when the campaign began (ISO 8601) and how long it took, in its earlier processes too. */
export interface RanCampaign {
  readonly summary: Summary;
  readonly startedAt: string;
  readonly wallMs: number;
}

/** Runs, shrinks, writes failing plans, and sums up. Ctrl-C ends it early, with what was found until then. */
export async function runScenarios(options: RunOptions): Promise<RanCampaign> {
  mustBeSeeds(options);
  const { forMs } = options;
  const own = await loadOwn(options.ownFile);
  const names = namesToRun(options, own);
  const build = options.mutant === undefined ? buildDirectory : await engineWith(options.mutant);
  const identity = await identityOf(buildDirectory, build, options);
  const before = options.resume ? await checkpointToResume(options.out, identity) : undefined;
  const startMs = performance.now();
  const times = (): Pick<Checkpoint, 'startedAt' | 'wallMs'> => {
    const tookMs = performance.now() - startMs;
    const startedAt = before?.startedAt ?? new Date(Date.now() - tookMs).toISOString();
    return { startedAt, wallMs: Math.round((before?.wallMs ?? 0) + tookMs) };
  };
  const endMs = forMs === undefined ? Number.POSITIVE_INFINITY : startMs + forMs;
  const pool = new Pool(build, options.jobs, options.ownFile);
  const unchanged =
    build === buildDirectory ? undefined : new Pool(buildDirectory, options.jobs, options.ownFile);
  const interruption = new Interruption();
  const coverage = new Coverage();
  if (before !== undefined) coverage.addCounts(before.coverage);
  const findings = findingsAfter(before, names, options.shard);
  const make = (): Checkpoint => ({
    ...{ format: checkpointFormat, ...identity, ...times() },
    scenarios: scenariosOf(findings),
    coverage: coverage.counts,
  });
  const tell = (note: string): void => void process.stderr.write(`${note}\n`);
  const checkpoint = options.pages ? new CheckpointFile(options.out, make, tell) : undefined;
  const parts = { options, own, pool, unchanged, interruption, coverage, endMs, findings, checkpoint };
  const campaign: Campaign = { ...parts, hasPage: false };
  try {
    await runSeeds(campaign, names);
    const summaries = [];
    for (const [name, found] of findings) {
      if (runsOf(found.tally) > 0)
        summaries.push(summaryOf(name, found.tally, await explain(campaign, found)));
    }
    const reached = new Set(summaries.map(({ name }) => name));
    const limit =
      forMs === undefined ? undefined : { forMs, notReached: names.filter((name) => !reached.has(name)) };
    const summary = summarizeAll(summaries, limit, interruption.hasCome, coverage.summary);
    return { summary: { ...summary, coverageTables: coverage.tables }, ...times() };
  } finally {
    interruption.forget();
    await pool.close();
    await unchanged?.close();
    await checkpoint?.close();
  }
}

/** Throws `BadRequest` for the checkpoint of another campaign. */
async function checkpointToResume(
  directory: string,
  identity: CampaignIdentity,
): Promise<Checkpoint | undefined> {
  const found = await readCheckpoint(directory);
  const difference = found === undefined ? undefined : identityDifference(found, identity, true);
  if (difference === undefined) return found;
  const detail = `the campaign in ${directory} is not the one to go on with (${difference}): name another --out, or leave out --resume to begin anew`;
  throw new LockstepError('BadRequest', detail);
}

function findingsAfter(
  before: Checkpoint | undefined,
  names: readonly string[],
  { count }: Shard,
): Map<string, Findings> {
  const findings = new Map<string, Findings>();
  for (const { name, seeds, tally, replay } of before?.scenarios ?? []) {
    const known = { seeds: new SeedRanges(count, seeds), tally, shrinking: undefined };
    findings.set(name, { ...known, ...(replay === undefined ? {} : { replay }) });
  }
  for (const name of names) {
    if (!findings.has(name))
      findings.set(name, { seeds: new SeedRanges(count), tally: emptyTally(), shrinking: undefined });
  }
  return findings;
}

function scenariosOf(findings: ReadonlyMap<string, Findings>): Checkpoint['scenarios'] {
  return [...findings].flatMap(([name, { seeds, tally, replay }]) =>
    runsOf(tally) === 0
      ? []
      : [{ name, seeds: seeds.ranges, tally, ...(replay === undefined ? {} : { replay }) }],
  );
}

/** Throws `BadRequest` for seeds that a replay could not name. */
function mustBeSeeds({ firstSeed, seedCount = 1 }: RunOptions): void {
  if (seedCount - 1 <= Number.MAX_SAFE_INTEGER - firstSeed) return;
  const detail = `${seedCount} seeds from ${firstSeed} on go beyond the last one, ${Number.MAX_SAFE_INTEGER}`;
  throw new LockstepError('BadRequest', detail);
}

function namesToRun(options: RunOptions, own: Own): readonly string[] {
  for (const name of options.scenarios) mustFindScenario(name, own);
  if (options.scenarios.length > 0) return options.scenarios;
  if (options.mutant !== undefined && !isPatch(options.mutant)) return [mutantNamed(options.mutant).scenario];
  return (own.scenarios.length > 0 ? own.scenarios : scenarios).map((scenario) => scenario.name);
}

async function runSeeds(campaign: Campaign, names: readonly string[]): Promise<void> {
  const { options, pool, interruption, endMs, findings } = campaign;
  const failed = new Set<string>();
  let failures = 0;
  for (const [name, { tally }] of findings) {
    failures += tally.verdicts.failed;
    if (tally.verdicts.failed > 0) failed.add(name);
  }
  const { forMs } = options;
  const progress =
    forMs === undefined ? startProgress(seedsOf(options) * names.length) : startTimedProgress(forMs);
  const wanted = (name: string): boolean =>
    !interruption.hasCome &&
    !(options.untilFailure && failed.has(name)) &&
    !(options.failFast && failed.size > 0);
  const tasks =
    forMs === undefined ? seedTasks(names, options, wanted) : tasksWithin(names, options, wanted, endMs);
  const isNew = ({ scenario, seed }: SeedTask): boolean => findings.get(scenario)?.seeds.has(seed) !== true;
  const plans: Promise<void>[] = [];
  const onAnswer = (scenario: string, result: RunResult): void => {
    if (result.outOfMemory === true) {
      const written = writePlanOf(campaign, result);
      // It is awaited at the end; until then a failure of it must not count as one that nothing handles.
      written.catch(() => undefined);
      plans.push(written);
    }
    const found = findings.get(scenario);
    if (found !== undefined) {
      found.seeds.add(result.seed);
      addResult(found.tally, result);
    }
    if (result.verdict === 'failed') {
      if (found !== undefined && !failed.has(scenario)) shrinkMeanwhile(campaign, found, result);
      failures += 1;
      failed.add(scenario);
      progress.failed(renderFailureLine(result));
    }
    progress.ran(failures, scenario);
    campaign.checkpoint?.changed();
  };
  try {
    // A run in progress at Ctrl-C is not waited for.
    await interruption.orDone(
      pool.performAll(only(tasks, isNew), (task, answer) => {
        if (answer.kind !== 'ran' || interruption.hasCome) return;
        campaign.coverage.add(answer.reached);
        onAnswer(task.scenario, answer.result);
      }),
    );
    await Promise.all(plans);
  } finally {
    progress.stop();
  }
}

/** Seeds per scenario that this part of the campaign runs. */
function seedsOf({ seedCount = 1, shard }: Pick<RunOptions, 'seedCount' | 'shard'>): number {
  return Math.max(0, Math.ceil((seedCount - shard.index) / shard.count));
}

function* only<One>(ones: Generator<One>, wanted: (one: One) => boolean): Generator<One> {
  for (const one of ones) if (wanted(one)) yield one;
}

/**
 * Where the time is limited, the first failure of a scenario is shrunk at once, within half of the remaining time,
 * because no time is left afterwards.
 */
function shrinkMeanwhile(campaign: Campaign, found: Findings, result: RunResult): void {
  const leftMs = (campaign.endMs - performance.now()) / 2;
  if (!Number.isFinite(campaign.endMs) || leftMs <= 0) return;
  const msMax = Math.min(campaign.options.shrinkMs, leftMs);
  const shrunk = writePlanOf(campaign, result).then(() => shrink(campaign, result, msMax));
  // `explain` awaits it and learns of its failure; until then that must not count as one that nothing handles.
  shrunk.catch(() => undefined);
  found.shrinking = { result, shrunk };
}

/** All seeds, scenario by scenario. */
function* seedTasks(
  names: readonly string[],
  options: RunOptions,
  wanted: (name: string) => boolean,
): Generator<SeedTask> {
  const count = seedsOf(options);
  for (const scenario of names) {
    for (let index = 0; index < count && wanted(scenario); index++) {
      yield { kind: 'seed', scenario, seed: seedAt(options, index), twice: options.twice };
    }
  }
}

/** The seed of this index among those of this part of the campaign. */
function seedAt({ firstSeed, shard }: RunOptions, index: number): number {
  return firstSeed + shard.index + index * shard.count;
}

/**
 * A seed of every scenario, then the next seed of each, until the time is up, so that all get an equal share. Where the
 * whole catalogue runs, every second seed is one of the swarm: its seeds differ as much as scenarios do.
 */
function* tasksWithin(
  names: readonly string[],
  options: RunOptions,
  wanted: (name: string) => boolean,
  endMs: number,
): Generator<SeedTask> {
  const { firstSeed, shard, twice } = options;
  const all = Number.MAX_SAFE_INTEGER - firstSeed + 1;
  const seedCount = seedsOf({ seedCount: options.seedCount ?? all, shard });
  const swarming = names.length > 1 && seedCount > names.length && names.includes(swarm.name);
  const others = swarming ? names.filter((name) => name !== swarm.name) : names;
  let begun = false;
  for (let index = 0; index < seedCount && names.some(wanted); index++) {
    for (const [place, scenario] of others.entries()) {
      if (begun && performance.now() >= endMs) return;
      begun = true;
      if (wanted(scenario)) yield { kind: 'seed', scenario, seed: seedAt(options, index), twice };
      const seed = seedAt(options, index * others.length + place);
      if (!swarming || !wanted(swarm.name) || !Number.isSafeInteger(seed)) continue;
      if (performance.now() >= endMs) return;
      yield { kind: 'seed', scenario: swarm.name, seed, twice };
    }
  }
}

/**
 * The shrunk failure, or the failure of the smallest seed, shrunk if time remains; writes its plans to disk. Undefined
 * without a failure.
 */
async function explain(campaign: Campaign, found: Findings): Promise<Failure | undefined> {
  const result = found.shrinking?.result ?? found.tally.firstFailure;
  if (result === undefined) return undefined;
  const failure = await lookInto(campaign, result, found.shrinking);
  found.replay = failure.replay;
  return failure;
}

async function lookInto(
  campaign: Campaign,
  result: RunResult,
  shrinking: Findings['shrinking'],
): Promise<Failure> {
  const { options, own, endMs, interruption } = campaign;
  const files = filesOf(campaign, result);
  const whole = planOfSeed(result.scenario, result.seed, own);
  if (shrinkableInvariant(result) === undefined && result.outOfMemory !== true)
    return files.unshrinkable(result);
  await files.writeWhole(whole);
  const mayShrink = shrinking === undefined && performance.now() < endMs && !interruption.hasCome;
  const shrunk =
    (await shrinking?.shrunk) ?? (mayShrink ? await shrink(campaign, result, options.shrinkMs) : undefined);
  const hasTime = (performance.now() < endMs || !campaign.hasPage) && !interruption.hasCome;
  const failure = await files.writeFailure(result, whole, shrunk, hasTime);
  campaign.hasPage ||= failure.page !== undefined;
  return failure;
}

function writePlanOf(campaign: Campaign, result: RunResult): Promise<void> {
  return filesOf(campaign, result).writeWhole(planOfSeed(result.scenario, result.seed, campaign.own));
}

function filesOf({ options, own }: Campaign, { scenario, seed }: RunResult): FailureFiles {
  const stem = join(options.out, `${scenario}-${seed}`);
  return new FailureFiles({ ...options, stem }, own.invariants);
}

/** Undefined if there is no time for it. */
async function shrink(
  { pool, unchanged, own, options, interruption, endMs }: Campaign,
  result: RunResult,
  msMax: number,
): Promise<Shrunk | undefined> {
  const invariant = shrinkableInvariant(result);
  if (invariant === undefined || options.shrinkMs === 0) return undefined;
  const whole = planOfSeed(result.scenario, result.seed, own);
  const shown = Number.isFinite(endMs) ? undefined : showShrinking(result, msMax);
  const signal = interruption.orAfter(msMax);
  try {
    const limits = {
      signal,
      ...(shown === undefined ? {} : { onProgress: shown.now }),
      ...(unchanged === undefined ? {} : { unchanged }),
    };
    return await shrinkFailure(pool, whole, result, invariant, limits);
  } finally {
    shown?.stop();
  }
}
