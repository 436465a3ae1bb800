/** What whoever uses the simulator adds to it: scenarios and invariants of their own. */
import type { Invariant } from '../check/user-invariants.ts';
import type { Scenario } from '../plan/scenario.ts';

export interface Own {
  readonly scenarios: readonly Scenario[];
  readonly invariants: readonly Invariant[];
}

export const nothingOwn: Own = { scenarios: [], invariants: [] };
