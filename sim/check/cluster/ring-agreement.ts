/**
 * `ring-agreement` (INV17): after the calm, all expected nodes name the same owners of every token, exactly the
 * expected owners, and no ring change is in progress. The nodes are asked over the network, as an operator would ask.
 */
import { invariant } from '../invariant.ts';
import type { CheckReport } from '../report.ts';
import { Tally } from '../report.ts';

/** One node's view; `seen` is undefined if it did not answer. */
export interface RingRecord {
  readonly node: string;
  readonly atUs: number;
  readonly seen:
    | { readonly view: string; readonly owners: readonly string[]; readonly moving: readonly string[] }
    | undefined;
}

/** The rings that nodes named after the calm, and the members that must own them. */
export interface RingEvidence {
  readonly rings: readonly RingRecord[];
  readonly members: readonly string[];
}

/** The row of `ring-agreement`. */
export const ringAgreementRow = invariant({
  name: 'ring-agreement',
  code: 'INV17',
  promise: 'all nodes name the same owners of every token',
  gravity: 'data',
  breach: 'nodes send writes of one key to different owners',
  needs: [],
  check: ({ rings, members }: RingEvidence) => checkRingAgreement(rings, members),
});

/** `owners`: the names of the nodes that must own tokens. */
export function checkRingAgreement(records: readonly RingRecord[], owners: readonly string[]): CheckReport {
  const tally = new Tally('ring-agreement');
  const first = records.find(({ seen }) => seen !== undefined);
  const expected = owners.toSorted().join(' ');
  for (const { node, atUs, seen } of records) {
    if (seen === undefined) {
      tally.compare(false, atUs, () => `${node} did not say who owns what`);
      continue;
    }
    const named = seen.owners.toSorted().join(' ');
    tally.compare(named === expected, atUs, () => `${node} calls ${named} the owners, not ${expected}`);
    tally.compare(
      seen.moving.length === 0,
      atUs,
      () => `${node} still sees ${seen.moving.join(' ')} on the move`,
    );
    tally.compare(
      seen.view === first?.seen?.view,
      atUs,
      () =>
        `${node} (${seen.view}) and ${first?.node ?? ''} (${first?.seen?.view ?? ''}) disagree about the ring`,
    );
  }
  return tally.report();
}
