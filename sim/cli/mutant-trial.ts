/**
 * Tries one mutant: runs seeds against a copy of the build that holds it until a run fails, or its share of processor
 * time is spent. A failure counts only if the unchanged engine passes the same seed. Works in real time.
 */
import { rm } from 'node:fs/promises';

import { LockstepError } from '../../engine/base/errors.ts';
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
  readonly cpuSeconds: number;
}

/** What `run` of one seed ended with. */
type Ending = { readonly by: string; readonly reason: string } | 'passed';

/** Seeds that the unchanged engine passes, by `scenario/seed`. Shared by the trials of one process. */
export class Baseline {
  readonly #pool: Pool;
  readonly #passes = new Map<string, boolean>();

  constructor(build: string) {
    this.#pool = new Pool(build, 1);
  }

  /** Whether the unchanged engine passes the seed. */
  async passes({ scenario, seed }: Seed): Promise<boolean> {
    const name = `${scenario}/${seed}`;
    const known = this.#passes.get(name);
    if (known !== undefined) return known;
    const passes = (await endingOf(this.#pool, { scenario, seed })) === 'passed';
    this.#passes.set(name, passes);
    return passes;
  }

  close(): Promise<void> {
    return this.#pool.close();
  }
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
  try {
    for (let next = seeds.next(); next.done !== true && clock.seconds < budgetSeconds; next = seeds.next()) {
      const ending = await endingOf(pool, next.value);
      runs += 1;
      if (ending === 'passed') continue;
      const cpuSeconds = clock.seconds;
      if (!(await clock.without(() => baseline.passes(next.value)))) continue;
      return { notice: { ...next.value, ...ending }, runs, cpuSeconds };
    }
    return { notice: undefined, runs, cpuSeconds: clock.seconds };
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
  if (answer.kind !== 'ran' || answer.result.verdict === 'passed') return 'passed';
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
