/** The form of the table of fault kinds: what a fault aims at, and its parameters with their ranges. */

/**
 * What a fault aims at: one node, two hosts (the first may be a client), one side of the nodes (the rest is the other),
 * or one client.
 */
export type FaultAim = 'node' | 'link' | 'side' | 'client';

/** Sorts of clients: of single operations, of transactions, of Redis commands, of MapReduce jobs. */
export type ClientSort = 'c' | 'x' | 'r' | 'j';

export type ParameterRange =
  | { readonly kind: 'integer'; readonly min: number; readonly max: number }
  | { readonly kind: 'choice'; readonly of: readonly string[] };

export interface FaultKindRow {
  /** What it was called before it had a name, which plan files may still say: `FN8`. */
  readonly code: string;
  /** One sentence: what happens. */
  readonly story: string;
  readonly aim: FaultAim;
  /** The clients that it may aim at too; or, where it aims at a client, those sorts of them. */
  readonly clients?: readonly ClientSort[];
  /** It lasts `forUs`, then it is undone; otherwise it is over at once and `forUs` is 0. */
  readonly lasting: boolean;
  readonly params: Readonly<Record<string, ParameterRange>>;
}
