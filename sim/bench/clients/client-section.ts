/** Options and results of the sections of the benchmark `clients`. */
import type { OtherBuild } from '../servers/other-build.ts';

/** The names of the sections. */
export const sectionNames = ['redis', 'mapreduce'] as const;
/** The name of a section. */
export type SectionName = (typeof sectionNames)[number];

/** What the benchmark measures, and for how long. */
export interface ClientsBenchOptions {
  readonly rounds: number;
  /** Number of objects over which jobs run. */
  readonly objects: number;
  /** Requests of one measurement by redis-benchmark. */
  readonly redisRequests: number;
  /** A build that the section `redis` measures in turns with this one. */
  readonly other: OtherBuild | undefined;
  /** The section that runs; undefined: all of them. */
  readonly only: SectionName | undefined;
  readonly json: boolean;
}

/** A section's results, as text and as data. */
export interface Section {
  readonly name: string;
  readonly text: string;
  readonly results: readonly Readonly<Record<string, unknown>>[];
}
