/**
 * `access-control` (INV33), no unauthorized access. A request without credentials, with wrong ones, of an insufficient
 * role, or for a bucket that its credential does not reach is refused in the form of its listener, whatever else goes on. What it would have written is at no
 * node after the calm. Each answer and each final read is one comparison. Skipped: lost answers. `metrics-reconcile`
 * checks that each refusal is counted.
 *
 * A credential that an operator changes at a running node is in force at once: the client's next request is refused, on a
 * connection from before and on a new one, and a subscriber gets no message; the token that replaces it works. A client of another credential notices
 * nothing: it is answered, and in a run of which every fault is known to spare connections, its connection has not ended.
 */
import type { CredentialAnswer } from '../../evidence/credential-changes.ts';
import type { UnauthenticatedRecord, UntouchedRecord } from '../../evidence/unauthenticated-clients.ts';
import { invariant } from '../invariant.ts';
import type { CheckReport } from '../report.ts';
import { joinReports, Tally } from '../report.ts';

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
  /** The requests of clients whose credential an operator changed, and of others beside them. */
  readonly changed: readonly CredentialAnswer[];
  /** Connections of clients end only with the node's incarnation. */
  readonly steady: boolean;
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
    joinReports(
      checkUnauthenticatedClients(unauthorized.requests, unauthorized.untouched),
      checkChangedCredentials(unauthorized.changed, unauthorized.steady),
    ),
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

/** Checks the answers to clients whose credential was changed. `steady`: connections end only with their incarnation. */
export function checkChangedCredentials(changed: readonly CredentialAnswer[], steady: boolean): CheckReport {
  const tally = new Tally('access-control');
  for (const { node, atUs, asked, expected, answered, lived } of changed) {
    if (answered === undefined) {
      // A node may close the connection of a client that it refuses.
      if (expected === 'kept' && lived && steady)
        tally.compare(false, atUs, () => `${node} did not answer to ${asked}`);
      else tally.skip();
    } else if (expected === 'silence') {
      tally.compare(answered === expected, atUs, () => `${node} sent a message to ${asked}`);
    } else {
      const isRefused = refusals.includes(answered);
      tally.compare(isRefused === (expected === 'refused'), atUs, () => {
        return `${node} answered ${answered} to ${asked}, which must be ${expected}`;
      });
    }
  }
  return tally.report();
}
