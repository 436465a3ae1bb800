/** Runs a guided exploration on the threads of a pool, batch by batch. */
import type { Pool } from '../runner/pool/pool.ts';
import type { RunResult } from '../runner/result.ts';
import type { Task } from '../runner/task.ts';
import type { Twice } from '../runner/twice.ts';
import type { Attempt, Explorer } from './explorer.ts';

/** How to explore. */
export interface Exploration {
  readonly explorer: Explorer;
  readonly pool: Pool;
  readonly scenario: string;
  /** Which runs are made twice for `determinism`. */
  readonly twice: Twice;
  /** Asked before each batch. */
  readonly goesOn: () => boolean;
  /** A run is over. */
  readonly onRun: (attempt: Attempt, result: RunResult) => void;
  /** A batch is over. */
  readonly onBatch?: () => Promise<void>;
}

/** Explores until `goesOn` returns false; rejects with what a run throws. */
export async function explore(exploration: Exploration): Promise<void> {
  const { explorer, pool, goesOn, onRun, onBatch } = exploration;
  while (goesOn()) {
    const attempts = explorer.next();
    const reached = new Map<number, readonly string[]>();
    const tasks = attempts.map((attempt) => ({ attempt, ...taskOf(attempt, exploration) }));
    await pool.performAll(tasks.values(), ({ attempt }, answer) => {
      if (answer.kind !== 'ran') return;
      reached.set(attempt.number, answer.reached);
      onRun(attempt, answer.result);
    });
    explorer.took(
      attempts,
      attempts.map(({ number }) => reached.get(number) ?? []),
    );
    await onBatch?.();
  }
}

function taskOf(attempt: Attempt, { scenario, twice }: Exploration): Task {
  return attempt.kind === 'seed'
    ? { kind: 'seed', scenario, seed: attempt.seed, twice }
    : { kind: 'plan', plan: attempt.plan, twice };
}
