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

/** A counter without labels, read at each publication. */
export function counterOf(name: string, help: string, read: () => number): FamilySource {
  return single(name, help, 'counter', read);
}

/** A gauge without labels, read at each publication. */
export function gaugeOf(name: string, help: string, read: () => number): FamilySource {
  return single(name, help, 'gauge', read);
}

/** A counter with one label: `read` returns the counts by its value, always of the same values in the same order. */
export function counterBy(
  name: string,
  help: string,
  label: string,
  read: () => Readonly<Record<string, number>>,
): FamilySource {
  return by(name, help, 'counter', label, read);
}

/** A gauge with one label: `read` returns the values by the label's, always the same ones in the same order. */
export function gaugeBy(
  name: string,
  help: string,
  label: string,
  read: () => Readonly<Record<string, number>>,
): FamilySource {
  return by(name, help, 'gauge', label, read);
}

function single(name: string, help: string, type: FamilyType, read: () => number): FamilySource {
  return { name, help, type, labels: [], collect: () => [{ labels: noLabels, value: read() }] };
}

function by(
  name: string,
  help: string,
  type: FamilyType,
  label: string,
  read: () => Readonly<Record<string, number>>,
): FamilySource {
  const known: Record<string, Labels> = {};
  const labelsOf = (of: string): Labels => (known[of] ??= Object.freeze({ [label]: of }));
  const collect = (): readonly Sample[] =>
    Object.entries(read()).map(([of, value]) => ({ labels: labelsOf(of), value }));
  return { name, help, type, labels: [label], collect };
}
