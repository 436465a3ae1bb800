/**
 * Equations of the histograms in Prometheus's own form: each series adds up, and the counts are those of the events
 * that the histograms are named for.
 */
import type { CountedSample, IncarnationAccount } from './account.ts';
import type { Claim } from './claims.ts';
import { between, equal } from './claims.ts';
import type { Numbers } from './numbers.ts';

const requests = 'svc_request_duration_seconds';
const flushes = 'svc_store_flush_duration_seconds';
const phases = 'svc_transaction_phase_duration_seconds';

/** The claims about the native histograms of one account. */
export function nativeHistogramEquations(
  numbers: Numbers,
  { truth: { redis } }: IncarnationAccount,
): readonly Claim[] {
  return [
    ...[requests, flushes, phases].flatMap((family) => seriesEquations(numbers, family)),
    equal(`${requests}, all`, numbers.sum(`${requests}_count`), numbers.recorded('requestLatencyUs')),
    equal(`${requests}, redis`, numbers.sum(`${requests}_count`, { protocol: 'redis' }), redis.answers),
    equal(`${flushes}_count`, numbers.sum(`${flushes}_count`), numbers.sum('svc_store_flushes_total')),
    equal(
      `${phases}_count, total`,
      numbers.sum(`${phases}_count`, { phase: 'total' }),
      numbers.sum('svc_transactions_total'),
    ),
  ];
}

interface Series {
  /** Counts up to each bucket's end, in the order of the ends. */
  readonly upTo: number[];
  readonly ends: number[];
}

/** Of each series: buckets never decrease, the last one is the count, and the sum fits the buckets. */
function seriesEquations(numbers: Numbers, family: string): readonly Claim[] {
  const counts = numbers.samples(`${family}_count`);
  const sums = numbers.samples(`${family}_sum`);
  const all = seriesOf(numbers.samples(`${family}_bucket`));
  return [
    equal(`${family}, series with buckets`, all.size, counts.length),
    ...counts.flatMap(({ labels, value: count }, index) => {
      const name = `${family} ${JSON.stringify(labels)}`;
      const { upTo = [], ends = [] } = all.get(textOf(labels)) ?? {};
      let least = 0;
      let most = 0;
      let falls = 0;
      upTo.forEach((value, bucket) => {
        const within = value - (upTo[bucket - 1] ?? 0);
        if (within < 0) falls += 1;
        if (within === 0) return;
        least += within * (ends[bucket - 1] ?? 0);
        most += within * (ends[bucket] ?? 0);
      });
      // Seconds are sums of fractions: the bounds allow for their rounding.
      const slack = 1e-6 * (count + 1);
      return [
        equal(`${name}, buckets that decrease`, falls, 0),
        equal(`${name}, the open bucket`, upTo.at(-1) ?? 0, count),
        between(`${name}, sum`, sums[index]?.value ?? NaN, least - slack, most + slack),
      ];
    }),
  ];
}

function seriesOf(buckets: readonly CountedSample[]): ReadonlyMap<string, Series> {
  const all = new Map<string, Series>();
  for (const { labels, value } of buckets) {
    const { le, ...rest } = labels;
    const name = textOf(rest);
    const series = all.get(name) ?? { upTo: [], ends: [] };
    all.set(name, series);
    series.upTo.push(value);
    series.ends.push(le === '+Inf' ? Infinity : Number(le));
  }
  return all;
}

function textOf(labels: CountedSample['labels']): string {
  return JSON.stringify(labels);
}
