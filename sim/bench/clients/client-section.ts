/** Options and results of the sections of the benchmark `clients`. */
export interface ClientsBenchOptions {
  readonly rounds: number;
  /** Number of objects over which jobs run. */
  readonly objects: number;
  /** Requests of one measurement by redis-benchmark. */
  readonly redisRequests: number;
  readonly json: boolean;
}

/** A section's results, as text and as data. */
export interface Section {
  readonly name: string;
  readonly text: string;
  readonly results: readonly Readonly<Record<string, unknown>>[];
}
