/** Which invariants a run broke, in the order in which a user wants to know. */
import type { Gravity } from '../check/invariant.ts';
import { invariantTable } from '../check/invariants.ts';
import type { CheckReport } from '../check/report.ts';

/** What is read of a run. */
interface Judged {
  readonly reports: readonly CheckReport[];
}

/** The gravest first. */
const gravities: readonly Gravity[] = ['data', 'security', 'availability', 'operations', 'testbed'];

/**
 * The invariant whose breach costs a user most, and of several equally grave ones that which broke first; undefined when
 * none did.
 */
export function brokenInvariant(result: Judged): CheckReport | undefined {
  return brokenInvariants(result)[0];
}

/** All invariants that broke, the gravest first, and equally grave ones in the order of time. */
export function brokenInvariants({ reports }: Judged): readonly CheckReport[] {
  return reports
    .filter((report) => !report.ok)
    .toSorted((left, right) => rankOf(left) - rankOf(right) || atOf(left) - atOf(right));
}

/** A user's own invariant stands beside the gravest; one that compared too little proves nothing and comes last. */
function rankOf({ invariant, vacuous }: CheckReport): number {
  if (vacuous) return gravities.length;
  const row = invariantTable.find(({ name }) => name === invariant);
  return row === undefined ? 0 : gravities.indexOf(row.gravity);
}

function atOf(report: CheckReport): number {
  return report.firstBad?.atUs ?? Number.MAX_SAFE_INTEGER;
}
