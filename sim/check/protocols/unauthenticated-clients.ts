/**
 * `access-control` (INV33), no unauthorized access. A request without credentials, with wrong ones, of an insufficient
 * role, or for a bucket that its credential does not reach is refused in the form of its listener, whatever else goes on. What it would have written is at no
 * node after the calm. Each answer and each final read is one comparison. Skipped: lost answers. `metrics-reconcile`
 * checks that each refusal is counted.
 */
import type { UnauthenticatedRecord, UntouchedRecord } from '../../evidence/unauthenticated-clients.ts';
import { invariant } from '../invariant.ts';
import type { CheckReport } from '../report.ts';
import { Tally } from '../report.ts';

const refusals: readonly string[] = [
  '401',
  '403',
  'Unauthorized',
  'Forbidden',
  'NOAUTH',
  'WRONGPASS',
  'NOPERM',
  '429',
  'RateLimited',
  'RATELIMITED',
];

/** Requests without sufficient credentials, and the keys that they would have written. */
export interface UnauthorizedEvidence {
  readonly requests: readonly UnauthenticatedRecord[];
  readonly untouched: readonly UntouchedRecord[];
}

/** The row of `access-control`. */
export const accessControlRow = invariant({
  name: 'access-control',
  code: 'INV33',
  promise: 'no client exceeds its role or its bucket rules',
  gravity: 'security',
  breach: 'a client reads or writes what it may not',
  needs: [],
  check: ({ unauthorized }: { readonly unauthorized: UnauthorizedEvidence }) =>
    checkUnauthenticatedClients(unauthorized.requests, unauthorized.untouched),
});

/** Checks the answers, and the reads of the targets after the calm. */
export function checkUnauthenticatedClients(
  strangers: readonly UnauthenticatedRecord[],
  untouched: readonly UntouchedRecord[],
): CheckReport {
  const tally = new Tally('access-control');
  for (const { id, node, atUs, asked, answered } of strangers) {
    if (answered === undefined) tally.skip();
    else {
      tally.compare(
        refusals.includes(answered),
        atUs,
        () => `${node} answered ${answered} to ${asked} (${id})`,
      );
    }
  }
  for (const { node, atUs, found } of untouched) {
    if (found === undefined) tally.skip();
    else tally.compare(found === '', atUs, () => `${node} has what a stranger wrote: ${found}`);
  }
  return tally.report();
}
