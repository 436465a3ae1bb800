/** What the sections of the benchmark `clients` take and tell. */
export interface ClientsBenchOptions {
  readonly rounds: number;
  /** Objects that jobs run over. */
  readonly objects: number;
  /** Of one measurement by redis-benchmark. */
  readonly redisRequests: number;
  readonly json: boolean;
}

/** A section's figures, as text for people and as fields for programs. */
export interface Section {
  readonly name: string;
  readonly text: string;
  readonly results: readonly Readonly<Record<string, unknown>>[];
}
