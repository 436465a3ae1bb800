/**
 * `metrics-reconcile` (INV24), metrics are accurate. At random instants, at the end of every incarnation and after the
 * calm, a node's metrics equal what the world observed. Counters begin at 0 with each incarnation, so each incarnation
 * has its own accounts. Each claim of each equation is one comparison: an equality where the world knows the number,
 * exact bounds elsewhere (the equations give the reasons). Skipped: samples of nodes that did not serve.
 */
import { invariant } from '../../invariant.ts';
import type { CheckReport } from '../../report.ts';
import { Tally } from '../../report.ts';
import type { IncarnationAccount } from './account.ts';
import { antiEntropyEquations } from './anti-entropy-equations.ts';
import { causeEquations } from './cause-equations.ts';
import { messageEquations } from './message-equations.ts';
import type { Claim } from './claims.ts';
import { describeClaim, holds } from './claims.ts';
import { clientEquations } from './client-equations.ts';
import { mapReduceEquations } from './map-reduce-equations.ts';
import { memberEquations } from './member-equations.ts';
import { nativeHistogramEquations } from './native-histogram-equations.ts';
import { Numbers } from './numbers.ts';
import { peerEquations } from './peer-equations.ts';
import { storeEquations } from './store-equations.ts';
import { transactionEquations } from './transaction-equations.ts';
import { wasmEquations } from './wasm-equations.ts';

const rooms = [
  clientEquations,
  peerEquations,
  memberEquations,
  storeEquations,
  wasmEquations,
  causeEquations,
  messageEquations,
  mapReduceEquations,
  antiEntropyEquations,
  transactionEquations,
  nativeHistogramEquations,
];

/** Least number of comparisons per account. */
const equationsPerSample = 100;

/** Samples of the nodes' metrics. */
export interface AccountEvidence {
  readonly accounts: readonly IncarnationAccount[];
  /** Samples of which there is no account. */
  readonly samplesMissed: number;
}

/** The row of `metrics-reconcile`. */
export const metricsReconcileRow = invariant({
  name: 'metrics-reconcile',
  code: 'INV24',
  promise: 'every metric equals what really happened',
  gravity: 'operations',
  breach: 'a counter, gauge or histogram tells an operator something untrue',
  needs: ['accounts'],
  everydayFloor: 2_000,
  floorOf: ({ samples }) => equationsPerSample * samples,
  check: ({ accounts, samplesMissed }: AccountEvidence) => checkReconciliation(accounts, samplesMissed),
});

/** Checks all accounts; `missed`: number of samples without an account. */
export function checkReconciliation(accounts: readonly IncarnationAccount[], missed: number): CheckReport {
  const tally = new Tally('metrics-reconcile');
  tally.skip(missed);
  for (const account of accounts) {
    for (const claim of claimsOf(account).claims) {
      tally.compare(holds(claim), account.atUs, () => describe(account, claim));
    }
  }
  return tally.report();
}

/** All claims about an account, and the families that they use. */
export function claimsOf(account: IncarnationAccount): {
  readonly claims: readonly Claim[];
  readonly families: ReadonlySet<string>;
} {
  const numbers = new Numbers(account);
  const claims = rooms.flatMap((equations) => equations(numbers, account));
  return { claims, families: numbers.used };
}

function describe({ node, life, atUs, moment }: IncarnationAccount, claim: Claim): string {
  return `${node}, life ${life}, ${moment} at ${(atUs / 1000).toFixed(1)} ms: ${describeClaim(claim)}`;
}
