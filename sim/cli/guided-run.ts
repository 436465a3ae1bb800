/**
 * `lockstep-sim run swarm --guided`: runs seeds of the swarm and variants of plans that reached something rare, shrinks
 * the first failure, and sums up. The corpus is kept in `DIR/corpus`, and a later run goes on with it.
 */
import { join } from 'node:path';
import process from 'node:process';

import { LockstepError } from '../../engine/base/errors.ts';
import { many } from '../../reports/numbers.ts';
import { renderFailureLine } from '../../reports/terminal.ts';
import { swarm } from '../../scenarios/swarm.ts';
import { Corpus } from '../guide/corpus.ts';
import { explore } from '../guide/explore.ts';
import type { ExplorerState } from '../guide/explorer.ts';
import { Explorer } from '../guide/explorer.ts';
import { generatePlan } from '../plan/plan-generation.ts';
import type { Plan } from '../plan/plan.ts';
import { buildDirectory } from '../runner/pool/build.ts';
import { Pool } from '../runner/pool/pool.ts';
import type { Failure, RunResult } from '../runner/result.ts';
import { summarizeAll } from '../runner/result.ts';
import { shrinkFailure, shrinkableInvariant } from '../runner/shrink-failure.ts';
import { addResult, emptyTally, summaryOf } from '../runner/tally.ts';
import { readCorpus, writeCorpus } from './corpus-files.ts';
import { FailureFiles } from './failure-files.ts';
import { Interruption } from './interruption.ts';
import { engineWith } from './mutate-build.ts';
import { startProgress, startTimedProgress } from './progress.ts';
import type { RanCampaign, RunOptions } from './run-command.ts';

/** The first failure, and what is needed to look into it. */
interface Found {
  readonly number: number;
  readonly result: RunResult;
  readonly plan: Plan;
}

/** Runs the exploration. Throws `BadRequest` for options that have no meaning here. */
export async function runGuided(options: RunOptions): Promise<RanCampaign> {
  mustFit(options);
  const { firstSeed, seedCount, forMs, out } = options;
  const startMs = performance.now();
  const startedAt = new Date().toISOString();
  const directory = join(out, 'corpus');
  const saved = await readCorpus(directory, firstSeed);
  const planOfSeed = (seed: number): Plan => generatePlan(swarm, seed);
  const explorer = new Explorer(new Corpus(saved?.corpus), firstSeed, planOfSeed, saved?.explorer);
  const build = options.mutant === undefined ? buildDirectory : await engineWith(options.mutant);
  const pool = new Pool(build, options.jobs);
  const interruption = new Interruption();
  const tally = emptyTally();
  const wanted = explorer.state.runs + (seedCount ?? Number.POSITIVE_INFINITY);
  const progress = seedCount === undefined ? startTimedProgress(forMs ?? 0) : startProgress(seedCount);
  const isOver = (): boolean =>
    interruption.hasCome ||
    (options.failFast && tally.verdicts.failed > 0) ||
    explorer.state.runs >= wanted ||
    (forMs !== undefined && tally.verdicts.passed > 0 && performance.now() - startMs >= forMs);
  let found: Found | undefined;
  try {
    await interruption.orDone(
      explore({
        ...{ explorer, pool, scenario: swarm.name, twice: options.twice, goesOn: () => !isOver() },
        onRun: (attempt, result) => {
          addResult(tally, result);
          if (result.verdict === 'failed') {
            progress.failed(renderFailureLine(result));
            found ??= { number: attempt.number, result, plan: explorer.planOf(attempt) };
          }
          progress.ran(tally.verdicts.failed, swarm.name);
        },
        onBatch: () =>
          writeCorpus(directory, firstSeed, { corpus: explorer.corpus.state, explorer: explorer.state }),
      }),
    );
    progress.stop();
    const failure = found === undefined ? undefined : await lookInto(found, options, pool, interruption);
    const { coverage } = explorer.corpus;
    const limit = forMs === undefined ? undefined : { forMs, notReached: [] };
    const scenarios = [summaryOf(swarm.name, tally, failure)];
    const summary = summarizeAll(scenarios, limit, interruption.hasCome, coverage.summary);
    process.stderr.write(`${guidanceText(explorer.state, explorer.corpus.kept.length, directory)}\n`);
    const wallMs = performance.now() - startMs;
    return { summary: { ...summary, coverageTables: coverage.tables }, startedAt, wallMs };
  } finally {
    progress.stop();
    interruption.forget();
    await pool.close();
  }
}

function mustFit({ scenarios, shard, resume, ownFile }: RunOptions): void {
  const refuse = (detail: string): never => {
    throw new LockstepError('BadRequest', `--guided ${detail}`);
  };
  if (scenarios.length !== 1 || scenarios[0] !== swarm.name) refuse('explores the swarm: run swarm --guided');
  if (shard.count > 1) refuse('has no shards: give each machine a --first-seed and an --out of its own');
  if (resume) refuse('goes on with the corpus in --out by itself, without --resume');
  if (ownFile !== undefined) refuse('explores the built-in swarm, without --scenarios');
}

/** Writes the failing plan, shrinks it if that is wanted, and says how to replay it. */
async function lookInto(
  { number, result, plan }: Found,
  options: RunOptions,
  pool: Pool,
  interruption: Interruption,
): Promise<Failure> {
  const files = new FailureFiles({ ...options, stem: join(options.out, `swarm-guided-${number}`) }, []);
  await files.writeWhole(plan);
  const invariant = shrinkableInvariant(result);
  const shrunk =
    invariant === undefined || options.shrinkMs === 0
      ? undefined
      : await shrinkFailure(pool, plan, result, invariant, {
          signal: interruption.orAfter(options.shrinkMs),
        });
  return files.writeFailure(result, plan, shrunk, true);
}

/** `Guided: 64 runs …`: what seeds and variants reached, of this and earlier runs with the corpus. */
export function guidanceText({ seeds, variants }: ExplorerState, kept: number, directory: string): string {
  const parts = [
    `${many(seeds.runs, 'seed')} (${seeds.fresh} reached something new)`,
    `${many(variants.runs, 'variant')} (${variants.fresh})`,
  ];
  return `Guided: ${parts.join(', ')}; ${many(kept, 'plan')} kept in ${directory}.`;
}
