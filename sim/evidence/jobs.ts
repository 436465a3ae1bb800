/** What simulated clients of MapReduce asked and were answered, as the checks read it. Plain data. */
import type { Outcome } from './history.ts';

/**
 * - `objects`: the named keys, each as the job found it;
 * - `count`: how many the named keys are, found or not;
 * - `whole`: every key of one bucket that holds a value.
 */
export const jobKinds = ['objects', 'count', 'whole'] as const;
export type JobKind = (typeof jobKinds)[number];

/** An object as a job found it: its key, `bucket/key`, and the tags of its values; none: not found. */
export interface FoundKey {
  readonly key: string;
  readonly tags: readonly string[];
}

export interface JobRecord {
  /** The job's, or `final …` for one that ran after the calm. */
  readonly id: string;
  readonly client: string;
  readonly node: string;
  readonly kind: JobKind;
  /** The keys that were named, `bucket/key`; of `whole` the bucket with a slash behind it. */
  readonly keys: readonly string[];
  readonly invokedUs: number;
  readonly completedUs: number;
  /** A job changes nothing: without an answer it failed. */
  readonly outcome: Exclude<Outcome, 'unknown'>;
  readonly reason: string;
  readonly found: readonly FoundKey[];
  readonly counted: readonly unknown[];
  readonly final: boolean;
}

/** `#j7 j1 objects at n2: ok, 12 keys`, for people. */
export function describeJob({ id, client, kind, node, outcome, found, reason }: JobRecord): string {
  const why = reason === '' ? `, ${found.length} keys` : ` (${reason})`;
  return `#${id} ${client} ${kind} at ${node}: ${outcome}${why}`;
}
