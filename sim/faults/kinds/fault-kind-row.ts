/** The row type of the table of fault kinds: what a fault aims at, and its parameters with their ranges. */

/**
 * What a fault aims at: one node, two hosts (the first may be a client), one side of a split of the nodes, or one
 * client.
 */
export type FaultAim = 'node' | 'link' | 'side' | 'client';

/** Sorts of clients: `c` single operations, `x` transactions, `r` Redis commands, `j` MapReduce jobs. */
export type ClientSort = 'c' | 'x' | 'r' | 'j';

/** The values that a fault's parameter can take; integer bounds are inclusive. */
export type ParameterRange =
  | { readonly kind: 'integer'; readonly min: number; readonly max: number }
  | { readonly kind: 'choice'; readonly of: readonly string[] };

/** One kind of fault: its code, its description, what it aims at and its parameters. */
export interface FaultKindRow {
  /** Its code before it had a name, accepted in plan files: `FN8`. */
  readonly code: string;
  /** One sentence: what happens. */
  readonly description: string;
  readonly aim: FaultAim;
  /** The sorts of clients that it may aim at as well; for the aim `client`, the only sorts it may aim at. */
  readonly clients?: readonly ClientSort[];
  /** Whether it lasts `forUs` and is then undone; otherwise it is over at once and `forUs` is 0. */
  readonly lasting: boolean;
  readonly params: Readonly<Record<string, ParameterRange>>;
}
