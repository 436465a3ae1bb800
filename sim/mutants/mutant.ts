/**
 * Planted bugs: small edits that each break one promise of the engine, to prove that the testbed notices. An edit is
 * made on a copy of the built engine (`dist-plants/<name>`), never in the source, so production builds hold no trace.
 */
import type { Named } from '../check/named.ts';
import type { InvariantName } from '../check/invariants.ts';

/** One edit of the built engine. */
export interface MutantEdit extends Named {
  /** What the edited engine does wrong. */
  readonly title: string;
  /** The built file, relative to `dist`. */
  readonly file: string;
  /** Found exactly once in the built file, and replaced. */
  readonly find: string;
  readonly replace: string;
}

/** A bug that one crash point of a transaction exposes (`lockstep-sim enumerate xa --plant`). */
export interface EnumeratedBug extends MutantEdit {
  /** A part of the description of the points that expose it: `p.vote.sent syncLoss`. */
  readonly exposedBy: string;
  /** The runs must fail by these, or by the values that clients read back (`values`). */
  readonly oracles: readonly (InvariantName | 'values')[];
}

export interface Mutant extends MutantEdit {
  /** The scenario that must fail, by one of these invariants, within that many seeds; without oracles it must not. */
  readonly scenario: string;
  readonly oracles: readonly InvariantName[];
  readonly seedsMax: number;
}
