/**
 * `enumerate xa`: every crash point of a transaction, one at a time or (with pairs) every two of them, over worker
 * threads. Each run is judged by the invariants of transactions. A failing point is its own replay (`--only` with its
 * description).
 */
import { LockstepError } from '../../engine/base/errors.ts';
import { buildDirectory } from '../runner/pool/build.ts';
import { Pool } from '../runner/pool/pool.ts';
import type { Task } from '../runner/task.ts';
import type { CrashPoint } from '../explore/crash-points.ts';
import { allCrashPoints, describePoint } from '../explore/crash-points.ts';
import { pairsOf, sampleOf } from '../explore/crash-point-pairs.ts';
import { startProgress } from './progress.ts';

/** Most runs without `--limit`: about ten minutes on two processors. */
export const runsMaxDefault = 8000;

/** Options of `enumerate xa`. */
export interface EnumerateOptions {
  readonly pairs: boolean;
  readonly jobs: number;
  /** Only points whose description contains this text: `p.vote.sent crash n2`. */
  readonly only: string | undefined;
  /** Most runs; if there are more points, a sample is taken. Undefined: `runsMaxDefault`. */
  readonly limit: number | undefined;
  /** Seed of the sample. Undefined: 1. */
  readonly seed: number | undefined;
  /** The build whose engine is run; undefined: this program's own. */
  readonly build: string | undefined;
}

/** The result of `enumerate xa`. */
export interface Enumeration {
  readonly runs: number;
  /** Number of matching points; more than `runs` if a sample was taken with `seed`. */
  readonly possible: number;
  readonly seed: number;
  /** Runs in which no step was reached. */
  readonly missed: number;
  /** Runs in which every step was reached: the first strike of a pair may make the second impossible. */
  readonly whole: number;
  readonly comparisons: Readonly<Record<string, number>>;
  /** `p.vote.sent crash n2: atomicity: …`, in the order of the points. */
  readonly failures: readonly string[];
}

/** Runs all matching points. Throws `BadRequest` if none matches, because an empty enumeration must not pass. */
export async function enumerateTransactions(options: EnumerateOptions): Promise<Enumeration> {
  const named = chosenBy(options);
  const { limit = runsMaxDefault, seed = 1 } = options;
  const chosen = sampleOf(named, limit, seed);
  const tasks: Task[] = chosen.map((one) => ({ kind: 'crashPoints', points: one }));
  const comparisons: Record<string, number> = {};
  const failures = new Map<string, string>();
  let missed = 0;
  let whole = 0;
  const progress = startProgress(chosen.length);
  const pool = new Pool(options.build ?? buildDirectory, options.jobs);
  try {
    await pool.performAll(tasks.values(), (_, answer) => {
      if (answer.kind !== 'struck') return;
      const { points: struckPoints, struck, reports, faults } = answer.result;
      for (const { invariant, checked } of reports)
        comparisons[invariant] = (comparisons[invariant] ?? 0) + checked;
      const reached = struck > 0;
      if (!reached) missed += 1;
      if (struck === struckPoints.length) whole += 1;
      const broken = reports.flatMap(({ invariant, reasons }) =>
        reasons.map((reason) => `${invariant}: ${reason}`),
      );
      const wrong = [...(reached ? [] : ['the step was never reached']), ...broken, ...faults];
      const name = describeAll(struckPoints);
      if (wrong.length > 0) {
        const line = `${name}: ${wrong.join('; ')}`;
        failures.set(name, line);
        progress.failed(line);
      }
      progress.ran(failures.size, name);
    });
  } finally {
    progress.stop();
    await pool.close();
  }
  const inOrder = chosen.flatMap((one) => failures.get(describeAll(one)) ?? []);
  return {
    runs: chosen.length,
    possible: named.length,
    seed,
    missed,
    whole,
    comparisons,
    failures: inOrder,
  };
}

function chosenBy({ pairs, only = '' }: EnumerateOptions): readonly (readonly CrashPoint[])[] {
  const points = allCrashPoints();
  const all: readonly (readonly CrashPoint[])[] = pairs ? pairsOf(points) : points.map((point) => [point]);
  const named = all.filter((one) => describeAll(one).includes(only));
  if (named.length > 0) return named;
  const shape = pairs ? 'STEP FAULT NODE + STEP FAULT NODE' : 'STEP FAULT NODE';
  const parts = (['step', 'strike', 'branch'] as const).map((part) =>
    [...new Set(points.map((point) => point[part]))].join(', '),
  );
  const detail = `no point's description contains "${only}"; each is ${shape}, of ${parts.join('; of ')}`;
  throw new LockstepError('BadRequest', detail);
}

/** The result as text. */
export function enumerationText(enumeration: Enumeration): string {
  const { runs, possible, seed, missed, whole, comparisons, failures } = enumeration;
  const compared = Object.entries(comparisons).map(([invariant, count]) => `${invariant} ${count}`);
  const sampled =
    runs === possible
      ? 'all there are'
      : `a sample of ${possible} (seed ${seed}; --limit ${possible} for all)`;
  const verdict = failures.length === 0 ? 'all whole, nothing in doubt' : `${failures.length} failed`;
  return [
    ...failures,
    `${runs} runs, ${sampled}; every step reached in ${whole}, none in ${missed}`,
    `compared ${compared.join(', ')}`,
    verdict,
  ].join('\n');
}

function describeAll(points: readonly CrashPoint[]): string {
  return points.map(describePoint).join(' + ');
}
