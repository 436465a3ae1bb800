/** Latencies in buckets that grow by one per cent: any percentile is at most one per cent too high. Memory is fixed. */

const growth = Math.log(1.01);
/** The highest bucket begins above an hour in microseconds. */
const bucketCount = Math.ceil(Math.log(3_600_000_000) / growth) + 1;

/** The latencies of one kind of request. Times are microseconds. */
export class Latencies {
  readonly #counts = new Float64Array(bucketCount);
  #count = 0;
  #max = 0;
  #sum = 0;

  get count(): number {
    return this.#count;
  }

  add(us: number): void {
    const bucket = us <= 1 ? 0 : Math.min(bucketCount - 1, Math.ceil(Math.log(us) / growth));
    this.#counts[bucket] = (this.#counts[bucket] ?? 0) + 1;
    this.#count += 1;
    this.#sum += us;
    this.#max = Math.max(this.#max, us);
  }

  /** The latency that the share `part` (0 to 1) of the requests does not exceed; 0 if there are none. */
  percentile(part: number): number {
    const rank = Math.ceil(this.#count * part);
    let seen = 0;
    for (let bucket = 0; bucket < bucketCount; bucket++) {
      seen += this.#counts[bucket] ?? 0;
      if (seen >= rank && seen > 0) return Math.min(this.#max, Math.round(Math.exp(bucket * growth)));
    }
    return 0;
  }

  /** Milliseconds, rounded to microseconds. */
  summary(): Readonly<Record<string, number>> {
    const ms = (us: number): number => Math.round(us) / 1000;
    return {
      count: this.#count,
      mean_ms: ms(this.#count === 0 ? 0 : this.#sum / this.#count),
      p50_ms: ms(this.percentile(0.5)),
      p95_ms: ms(this.percentile(0.95)),
      p99_ms: ms(this.percentile(0.99)),
      p999_ms: ms(this.percentile(0.999)),
      max_ms: ms(this.#max),
    };
  }
}
