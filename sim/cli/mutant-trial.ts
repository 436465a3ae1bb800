/**
 * Tries one mutant: runs seeds against a copy of the build that holds it until a run fails, or its share of processor
 * time is spent. A failure counts only if the unchanged engine passes the same seed. Works in real time.
 */
import { rm } from 'node:fs/promises';

import { assert } from '../../engine/base/assert.ts';
import { LockstepError } from '../../engine/base/errors.ts';
import type { SurveyedRun } from '../mutants/reach.ts';
import { brokenInvariant } from '../runner/broken.ts';
import { Pool } from '../runner/pool/pool.ts';
import { SimulatorFault } from '../runner/simulator-fault.ts';

/** A run that takes longer in real time hangs: the slowest seed takes seconds. */
const hangMs = 120_000;

/** One run to make. */
export interface Seed {
  readonly scenario: string;
  readonly seed: number;
}

/** How a mutant was noticed. */
export interface Notice extends Seed {
  /** The invariant that broke; `simulator` if the run could not go on, `hang` if it did not end. */
  readonly by: string;
  readonly reason: string;
}

/** The outcome of one trial. */
export interface Trial {
  /** Undefined: the mutant survived. */
  readonly notice: Notice | undefined;
  readonly runs: number;
  /** Of those runs, how many took another course than with the unchanged engine: their digests differ. */
  readonly changed: number;
  readonly cpuSeconds: number;
}

/** What `run` of one seed ended with; the digest where it passed. */
type Ending = { readonly by: string; readonly reason: string } | { readonly passed: string };

/** How seeds end with the unchanged engine, by `scenario/seed`. Shared by the trials of one process. */
export class Baseline {
  readonly #pool: Pool;
  /** The digest of a run that passes; undefined for one that does not. */
  readonly #digests = new Map<string, string | undefined>();

  constructor(build: string, survey: readonly SurveyedRun[]) {
    this.#pool = new Pool(build, 1);
    for (const run of survey) this.#digests.set(nameOf(run), run.passed ? run.digest : undefined);
  }

  /** The digest of the seed's run with the unchanged engine; undefined if that run does not pass. */
  async digestOf(seed: Seed): Promise<string | undefined> {
    const name = nameOf(seed);
    if (!this.#digests.has(name)) {
      const ending = await endingOf(this.#pool, seed);
      this.#digests.set(name, 'passed' in ending ? ending.passed : undefined);
    }
    return this.#digests.get(name);
  }

  close(): Promise<void> {
    return this.#pool.close();
  }
}

function nameOf({ scenario, seed }: Seed): string {
  return `${scenario}/${seed}`;
}

/**
 * Runs the seeds in turn until one fails or `budgetSeconds` of this process's time is spent. Nothing else may run in
 * this process meanwhile, since the time of a thread cannot be told apart.
 */
export async function tryMutant(
  build: string,
  seeds: Iterator<Seed>,
  budgetSeconds: number,
  baseline: Baseline,
): Promise<Trial> {
  const clock = new CpuClock();
  const pool = new Pool(build, 1);
  let runs = 0;
  let changed = 0;
  try {
    for (let next = seeds.next(); next.done !== true && clock.seconds < budgetSeconds; next = seeds.next()) {
      const ending = await endingOf(pool, next.value);
      runs += 1;
      const cpuSeconds = clock.seconds;
      const digest = await clock.without(() => baseline.digestOf(next.value));
      if (digest === undefined) continue;
      if (!('passed' in ending)) {
        changed += 1;
        return { notice: { ...next.value, ...ending }, runs, changed, cpuSeconds };
      }
      if (ending.passed !== digest) changed += 1;
    }
    return { notice: undefined, runs, changed, cpuSeconds: clock.seconds };
  } finally {
    await pool.close();
  }
}

async function endingOf(pool: Pool, { scenario, seed }: Seed): Promise<Ending> {
  let timer: NodeJS.Timeout | undefined;
  const hang = new Promise<Ending>((resolve) => {
    timer = setTimeout(() => resolve({ by: 'hang', reason: `no end after ${hangMs / 1000} s` }), hangMs);
  });
  try {
    return await Promise.race([hang, ranOf(pool, scenario, seed)]);
  } catch (error) {
    if (!(error instanceof SimulatorFault || error instanceof LockstepError)) throw error;
    const { cause, message } = error;
    return { by: 'simulator', reason: cause instanceof Error ? cause.message : message };
  } finally {
    clearTimeout(timer);
  }
}

async function ranOf(pool: Pool, scenario: string, seed: number): Promise<Ending> {
  const answer = await pool.perform({ kind: 'seed', scenario, seed, twice: 'eighth' });
  assert(answer.kind === 'ran', 'a seed is answered by its run');
  if (answer.result.verdict === 'passed') return { passed: answer.result.digest };
  const broken = brokenInvariant(answer.result);
  // A run beyond its budget of events ends unknown: the unchanged engine stays within it.
  if (broken === undefined) return { by: 'hang', reason: answer.result.because };
  return {
    by: broken.vacuous ? `${broken.invariant} (floor)` : broken.invariant,
    reason: broken.reasons[0] ?? '',
  };
}

/** Processor time of this process, minus what was excluded. */
class CpuClock {
  readonly #start = process.cpuUsage();
  #excluded = 0;

  get seconds(): number {
    const { user, system } = process.cpuUsage(this.#start);
    return (user + system) / 1_000_000 - this.#excluded;
  }

  async without<T>(work: () => Promise<T>): Promise<T> {
    const before = this.seconds;
    const result = await work();
    this.#excluded += this.seconds - before;
    return result;
  }
}

/** Removes a copy. */
export async function removeCopy(target: string): Promise<void> {
  await rm(target, { recursive: true, force: true });
}
