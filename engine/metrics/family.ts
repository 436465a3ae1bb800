/**
 * Metric families as values: their description, and their samples at one instant. A module with counters of its own
 * registers a `FamilySource` with `NodeStats`; the renderers know families only in this form.
 */

/** Prometheus types in use. The rollups of `histogram-table.ts` are published as gauges. */
export type FamilyType = 'counter' | 'gauge' | 'histogram';

/** Label values by label name, in the order of rendering. */
export type Labels = Readonly<Record<string, string | number>>;

/** One value of a family. */
export interface Sample {
  readonly labels: Labels;
  /** A finite number. */
  readonly value: number;
  /** Of a histogram: which of its values this is; it is written behind the family's name. */
  readonly suffix?: SampleSuffix;
}

/** The values of a histogram: cumulative buckets with the label `le`, the sum, and the count. */
export type SampleSuffix = '_bucket' | '_sum' | '_count';

/** Description of a family. */
export interface Family {
  /** Matches `[a-zA-Z_:][a-zA-Z0-9_:]*`; a counter's name ends in `_total`. */
  readonly name: string;
  /** The HELP text: one sentence for operators. */
  readonly help: string;
  readonly type: FamilyType;
  /** Label names. */
  readonly labels: readonly string[];
}

/** A family together with its live values. */
export interface FamilySource extends Family {
  /** The current samples. Called once per publication; the snapshot copies them. */
  collect(): readonly Sample[];
}

/** A family and its samples at one instant. */
export interface CollectedFamily {
  readonly family: Family;
  readonly samples: readonly Sample[];
}

/** The labels of a family without labels. */
export const noLabels: Labels = Object.freeze({});
