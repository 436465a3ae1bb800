/** Counts the operations of a run by outcome. */
import type { Outcome } from '../evidence/history.ts';
import type { OutcomeCounts } from './result.ts';

/** The number of operations per outcome. */
export function countOutcomes(history: readonly { readonly outcome: Outcome }[]): OutcomeCounts {
  const counts = { ok: 0, fail: 0, unknown: 0 };
  for (const { outcome } of history) counts[outcome] += 1;
  return counts;
}
