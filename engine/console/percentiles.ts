/**
 * Percentiles of the requests between two polls, from cumulative histogram buckets. Counts only grow while a node runs;
 * a smaller one means that the node has started again, and its counts then begin at zero.
 */
import type { ConsoleLatencies } from '../api/http/console-answers.ts';

/** The requests of one interval. */
export interface Interval {
  readonly requests: number;
  /** In seconds; undefined without requests. */
  readonly p50: number | undefined;
  readonly p99: number | undefined;
}

/** The cumulative counts of all series that `matches` takes, added up bucket by bucket. */
export function summed(
  { ends, series }: Pick<ConsoleLatencies, 'ends' | 'series'>,
  matches: (protocol: string, operation: string) => boolean,
): readonly number[] {
  const sums = Array.from({ length: ends.length + 1 }, () => 0);
  for (const { protocol, operation, counts } of series) {
    if (!matches(protocol, operation)) continue;
    counts.forEach((count, bucket) => (sums[bucket] = (sums[bucket] ?? 0) + count));
  }
  return sums;
}

/** What happened between two polls. */
export function intervalOf(
  ends: readonly number[],
  before: readonly number[],
  after: readonly number[],
): Interval {
  const total = (counts: readonly number[]): number => counts.at(-1) ?? 0;
  const hasRestarted = total(after) < total(before);
  const counts = after.map((count, bucket) => count - (hasRestarted ? 0 : (before[bucket] ?? 0)));
  const requests = total(counts);
  return { requests, p50: percentile(ends, counts, 0.5), p99: percentile(ends, counts, 0.99) };
}

/**
 * The latency that the share `q` of the requests does not exceed, by a straight line within its bucket. Of the open last
 * bucket only the lower end is known.
 */
export function percentile(
  ends: readonly number[],
  counts: readonly number[],
  q: number,
): number | undefined {
  const requests = counts.at(-1) ?? 0;
  if (requests <= 0) return undefined;
  const wanted = q * requests;
  const bucket = counts.findIndex((count) => count >= wanted);
  const low = bucket === 0 ? 0 : (ends[bucket - 1] ?? 0);
  const high = ends[bucket];
  if (high === undefined) return low;
  const below = bucket === 0 ? 0 : (counts[bucket - 1] ?? 0);
  const within = (counts[bucket] ?? 0) - below;
  return low + (high - low) * (within === 0 ? 1 : (wanted - below) / within);
}
