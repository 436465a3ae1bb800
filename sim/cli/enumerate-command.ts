/**
 * `enumerate xa`: every crash point of a transaction, one at a time or (with pairs) every two of different steps, over
 * worker threads. Each run is judged by the invariants of transactions; the smallest thing that fails is its own replay.
 */
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

import { Pool } from '../pool/pool.ts';
import type { Task } from '../run/task.ts';
import type { CrashPoint } from '../xa/crash-points.ts';
import { allCrashPoints, describePoint } from '../xa/crash-points.ts';
import { buildDirectory } from './planting.ts';

export interface EnumerateOptions {
  readonly pairs: boolean;
  readonly jobs: number;
  /** Only points whose description contains this text: `p.vote.sent crash n2`. */
  readonly only: string | undefined;
  /** The build whose engine is run; the own one when undefined. */
  readonly build: string | undefined;
}

export interface Enumeration {
  readonly runs: number;
  readonly missed: number;
  readonly comparisons: Readonly<Record<string, number>>;
  /** `p.vote.sent crash n2: INV1: …`, in the order of the points. */
  readonly failures: readonly string[];
}

/** Runs them all. */
export async function enumerateTransactions(options: EnumerateOptions): Promise<Enumeration> {
  const points = allCrashPoints();
  const all = options.pairs ? pairsOf(points) : points.map((point) => [point]);
  const chosen = all.filter((one) => describeAll(one).includes(options.only ?? ''));
  const tasks: Task[] = chosen.map((one) => ({ kind: 'crashPoints', points: one }));
  const comparisons: Record<string, number> = {};
  const failures = new Map<string, string>();
  let missed = 0;
  const worker = pathToFileURL(join(options.build ?? buildDirectory, 'sim/pool/worker.js'));
  const pool = new Pool(worker, options.jobs);
  try {
    await pool.performAll(tasks.values(), (_, answer) => {
      if (answer.kind !== 'struck') return;
      const { points: struckPoints, struck, reports, faults } = answer.result;
      for (const { invariant, checked } of reports)
        comparisons[invariant] = (comparisons[invariant] ?? 0) + checked;
      // The second of a pair may be a step that the first has made impossible.
      const reached = struck >= (options.pairs ? 1 : struckPoints.length);
      if (!reached) missed += 1;
      const broken = reports.flatMap(({ invariant, reasons }) =>
        reasons.map((reason) => `${invariant}: ${reason}`),
      );
      const wrong = [...(reached ? [] : ['the step was never reached']), ...broken, ...faults];
      const name = describeAll(struckPoints);
      if (wrong.length > 0) failures.set(name, `${name}: ${wrong.join('; ')}`);
    });
  } finally {
    await pool.close();
  }
  const inOrder = chosen.flatMap((one) => failures.get(describeAll(one)) ?? []);
  return { runs: chosen.length, missed, comparisons, failures: inOrder };
}

/** For people. */
export function enumerationText({ runs, missed, comparisons, failures }: Enumeration): string {
  const compared = Object.entries(comparisons).map(([invariant, count]) => `${invariant} ${count}`);
  const verdict = failures.length === 0 ? 'all whole, nothing in doubt' : `${failures.length} failed`;
  return [...failures, `${runs} runs, ${missed} never struck; compared ${compared.join(', ')}`, verdict].join(
    '\n',
  );
}

function pairsOf(points: readonly CrashPoint[]): readonly (readonly CrashPoint[])[] {
  return points.flatMap((first, index) =>
    points
      .slice(index + 1)
      .filter((second) => second.step !== first.step && second.branch !== first.branch)
      .map((second) => [first, second]),
  );
}

function describeAll(points: readonly CrashPoint[]): string {
  return points.map(describePoint).join(' + ');
}
