/**
 * Mutants: small edits that each break one promise of the engine, to prove that the testbed detects it. An edit is
 * applied to a copy of the built engine (`dist-mutants/<name>`), never to the source, so production builds contain no
 * trace of it.
 */
import type { Named } from '../check/named.ts';
import type { InvariantName } from '../check/invariants.ts';

/** One edit of the built engine. */
export interface MutantEdit extends Named {
  /** What the edited engine does wrong, as a clause. */
  readonly title: string;
  /** The built file, relative to `dist`. */
  readonly file: string;
  /** Found exactly once in the built file, and replaced. */
  readonly find: string;
  readonly replace: string;
}

/**
 * A mutant that crash points of a transaction expose (`lockstep-sim enumerate xa --mutant`), or durable steps of a
 * subject.
 */
export interface EnumeratedMutant extends MutantEdit {
  /** Whose durable steps expose it (explore/step-subjects.ts); absent: a transaction's crash points. */
  readonly subject?: string;
  /** Part of the description of the crash points that expose it: `p.vote.sent syncLoss`. */
  readonly exposedBy: string;
  /** The runs must fail by one of these invariants, or by the values that clients read back (`values`). */
  readonly oracles: readonly (InvariantName | 'values')[];
}

/** A mutant that random runs of a scenario expose. */
export interface Mutant extends MutantEdit {
  /** The scenario must fail, by one of `oracles`, within `seedsMax` seeds. Without oracles it must not fail. */
  readonly scenario: string;
  readonly oracles: readonly InvariantName[];
  readonly seedsMax: number;
}
