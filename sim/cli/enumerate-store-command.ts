/** `enumerate store-batch`: every crash of a history of atomic batches on the store alone (explore/store-batch.ts). */
import { LockstepError } from '../../engine/base/errors.ts';
import { describeStoreBatch, enumerateStoreBatch, storeBatchDefaults } from '../explore/store-batch.ts';
import type { StoreBatchReport } from '../explore/store-batch.ts';

/** Options of `enumerate store-batch`. */
export interface EnumerateStoreOptions {
  /** Most crash states to visit; undefined: the default. Beyond them, states are sampled. */
  readonly limit: number | undefined;
  readonly seed: number | undefined;
}

/** Options that only `enumerate xa` has: the store has neither steps nor worker threads. */
const ofTransactions = ['pairs', 'only', 'jobs', 'mutant'] as const;

/** Throws `BadRequest` for an option that would have no effect. */
export function mustApplyToStore(given: Readonly<Record<string, unknown>>): void {
  const idle = ofTransactions.filter((name) => given[name] !== undefined);
  if (idle.length === 0) return;
  const named = idle.map((name) => `--${name}`).join(', ');
  throw new LockstepError(
    'BadRequest',
    `enumerate store-batch has no ${named}; --limit, --seed and --json apply`,
  );
}

const lineEveryMs = 5000;

/** Visits the states, with a progress line on stderr every few seconds. */
export async function enumerateStoreBatches(options: EnumerateStoreOptions): Promise<StoreBatchReport> {
  let lastMs = performance.now();
  return enumerateStoreBatch({
    seed: options.seed ?? storeBatchDefaults.seed,
    operations: storeBatchDefaults.operations,
    statesMax: options.limit ?? storeBatchDefaults.statesMax,
    progress(share) {
      const nowMs = performance.now();
      if (nowMs - lastMs < lineEveryMs) return;
      lastMs = nowMs;
      process.stderr.write(`${Math.floor(share * 100)} % of the crash points\n`);
    },
  });
}

/** The report as text. */
export const storeBatchText = describeStoreBatch;
