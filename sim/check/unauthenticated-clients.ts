/**
 * `access-control` (INV33), nobody does what they may not: a request without credentials, with wrong ones, or of too
 * small a role is refused in the words of its listener, whatever else goes on, and what it would have written is at
 * no node after the calm. Each answer and each look afterwards is one comparison. Skipped: answers that were lost.
 * That each refusal is counted is `metrics-reconcile`'s.
 */
import type { UnauthenticatedRecord, UntouchedRecord } from '../evidence/unauthenticated-clients.ts';
import type { CheckReport } from './report.ts';
import { Tally } from './report.ts';

const refusals: readonly string[] = [
  '401',
  '403',
  'Unauthorized',
  'Forbidden',
  'NOAUTH',
  'WRONGPASS',
  'NOPERM',
];

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
