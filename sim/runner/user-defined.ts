/** What users of the simulator add to it: their scenarios and invariants. */
import type { Invariant } from '../check/user-invariants.ts';
import type { Scenario } from '../plan/scenario.ts';

/** A user's scenarios and invariants. */
export interface Own {
  readonly scenarios: readonly Scenario[];
  readonly invariants: readonly Invariant[];
}

/** No additions. */
export const nothingOwn: Own = { scenarios: [], invariants: [] };
