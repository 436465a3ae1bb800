/**
 * Metric families as values: what they are, and their samples at one instant. A room that counts something of its own
 * registers a `FamilySource` with the node's stats; the renderers know families only by this form.
 */

export type FamilyType = 'counter' | 'gauge';

/** Label names to values, in the order of rendering. */
export type Labels = Readonly<Record<string, string | number>>;

export interface Sample {
  readonly labels: Labels;
  /** Finite. */
  readonly value: number;
}

export interface Family {
  /** `[a-zA-Z_:][a-zA-Z0-9_:]*`; a counter's ends in `_total`. */
  readonly name: string;
  /** One sentence for operators: the HELP text. */
  readonly help: string;
  readonly type: FamilyType;
  /** Label names. */
  readonly labels: readonly string[];
}

export interface FamilySource extends Family {
  /** The samples of now; called once per publication. The snapshot copies them. */
  collect(): readonly Sample[];
}

/** A family and its samples at one instant. */
export interface CollectedFamily {
  readonly family: Family;
  readonly samples: readonly Sample[];
}

export const noLabels: Labels = Object.freeze({});
