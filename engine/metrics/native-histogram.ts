/**
 * A latency histogram in Prometheus's own form: cumulative buckets, a sum and a count per combination of label values,
 * which servers can add up over nodes and of which they compute any percentile. It stands beside the rollups of
 * `histogram-table.ts`, whose names and shape are fixed.
 *
 * Values are recorded in whole microseconds and published in seconds. Buckets and sums only grow. A combination of
 * labels is published from its first value on, or from `begin` on. Recording allocates nothing but a new combination.
 */
import { assert } from '../base/assert.ts';
import type { FamilySource, Labels, Sample } from './family.ts';

/** Upper ends of the buckets, in seconds, the open last one aside. A value at an end belongs to its bucket. */
export const bucketEndsSeconds: readonly number[] = Object.freeze([
  0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
]);

const bucketEndsUs: readonly number[] = bucketEndsSeconds.map((seconds) => Math.round(seconds * 1e6));

/** Description of a histogram. Its name ends in `_seconds`. */
export interface HistogramFamily {
  readonly name: string;
  /** The HELP text: one sentence for operators. */
  readonly help: string;
  /** At most two label names. */
  readonly labels: readonly string[];
}

/** The values of one combination of labels. */
class Series {
  readonly first: string;
  readonly second: string;
  readonly #counts = new Float64Array(bucketEndsUs.length + 1);
  readonly #bucketLabels: readonly Labels[];
  readonly #labels: Labels;
  #sumUs = 0;

  constructor(labels: Labels, first: string, second: string) {
    this.first = first;
    this.second = second;
    this.#labels = Object.freeze(labels);
    const ends = [...bucketEndsSeconds.map(String), '+Inf'];
    this.#bucketLabels = ends.map((le) => Object.freeze({ ...labels, le }));
  }

  record(us: number): void {
    let bucket = 0;
    while (bucket < bucketEndsUs.length && us > (bucketEndsUs[bucket] ?? 0)) bucket += 1;
    this.#counts[bucket] = (this.#counts[bucket] ?? 0) + 1;
    this.#sumUs += us;
  }

  /** Appends the samples: every bucket with all values up to its end, the sum, and the count. */
  collectInto(samples: Sample[]): void {
    let count = 0;
    this.#bucketLabels.forEach((labels, bucket) => {
      count += this.#counts[bucket] ?? 0;
      samples.push({ labels, value: count, suffix: '_bucket' });
    });
    samples.push({ labels: this.#labels, value: this.#sumUs / 1e6, suffix: '_sum' });
    samples.push({ labels: this.#labels, value: count, suffix: '_count' });
  }
}

/** The histogram of one family. */
export class NativeHistogram implements FamilySource {
  readonly name: string;
  readonly help: string;
  readonly type = 'histogram';
  readonly labels: readonly string[];
  /** In the order of their first values; few, so they are searched one by one. */
  readonly #series: Series[] = [];

  constructor({ name, help, labels }: HistogramFamily) {
    assert(labels.length <= 2, 'a native histogram has at most two labels');
    this.name = name;
    this.help = help;
    this.labels = labels;
  }

  /** Records a duration of whole microseconds from 0 (`AssertionError` otherwise) under these label values. */
  record(us: number, first = '', second = ''): void {
    assert(Number.isSafeInteger(us) && us >= 0, 'a histogram takes whole numbers from 0');
    this.#of(first, second).record(us);
  }

  /** Publishes these label values from now on, before their first value: it then shows as a rate. Returns itself. */
  begin(first = '', second = ''): this {
    this.#of(first, second);
    return this;
  }

  collect(): readonly Sample[] {
    const samples: Sample[] = [];
    for (const series of this.#series) series.collectInto(samples);
    return samples;
  }

  #of(first: string, second: string): Series {
    for (const series of this.#series) if (series.first === first && series.second === second) return series;
    const values = [first, second];
    const labels = Object.fromEntries(this.labels.map((label, index) => [label, values[index] ?? '']));
    const series = new Series(labels, first, second);
    this.#series.push(series);
    return series;
  }
}
