/**
 * The table of invariants: what Lockstep promises. Each row stands beside its check; this list gives the order in which
 * invariants are listed and reported. Scenarios, plans, the runner, reports and the command line read it;
 * sim/docs/invariants.md explains how each is checked.
 */
import { durableBeforeAckRow } from './objects/acknowledgement.ts';
import { noDanglingTransactionsRow } from './transactions/branches-left.ts';
import { noAmbientTimeRow } from './program/clock-use.ts';
import { conditionalPutsRow } from './objects/conditional-puts.ts';
import { convergenceRow } from './objects/convergence.ts';
import { dataIntegrityRow } from './disks/corruption.ts';
import { timestampAccuracyRow } from './disks/dates.ts';
import { determinismRow } from './program/determinism.ts';
import { causalityRow } from './disks/dots.ts';
import { transferSoundnessRow } from './disks/transfers.ts';
import { durabilityRow } from './objects/durability.ts';
import {
  exchangeSoundnessRow,
  repairSoundnessRow,
  staleSnapshotSafetyRow,
} from './anti-entropy/exchanges.ts';
import { validExpositionRow } from './metrics/exposition.ts';
import { failureDetectionRow } from './cluster/failure-detector.ts';
import { noSilentFailuresRow } from './program/failures.ts';
import { hintDeliveryRow } from './disks/hints.ts';
import { nodeIdentityRow } from './cluster/identity.ts';
import { strictSerializabilityRow } from './transactions/isolation.ts';
import { listingsRow } from './mapreduce/listings.ts';
import { livenessRow } from './cluster/liveness.ts';
import { lockExclusivityRow } from './transactions/locks.ts';
import { inputRobustnessRow } from './protocols/malformed-input.ts';
import { messagesRow } from './protocols/redis-messages.ts';
import { quorumIntersectionRow } from './objects/quorums.ts';
import { metricsReconcileRow } from './metrics/reconcile/reconciliation.ts';
import { resourceBoundsRow } from './bounds/resources.ts';
import { backupConsistencyRow } from './backups/backup-consistency.ts';
import { bucketPropertiesRow } from './cluster/bucket-properties.ts';
import { upgradeFinalityRow } from './cluster/upgrades.ts';
import { ringAgreementRow } from './cluster/ring-agreement.ts';
import { sessionGuaranteesRow } from './objects/sessions.ts';
import { snapshotRejectionRow } from './anti-entropy/snapshot-rejection.ts';
import { standbyRoutingRow } from './cluster/standby.ts';
import { statsAgreementRow } from './metrics/stats-agreement.ts';
import { atomicityRow, exactlyOnceRow, outcomeStabilityRow } from './transactions/transactions.ts';
import { accessControlRow } from './protocols/unauthenticated-clients.ts';
import { wasmPurityRow } from './mapreduce/wasm-purity.ts';
import { assert } from '../../engine/base/assert.ts';
import type { RunNeed, RunSize } from './invariant.ts';
import type { CheckReport } from './report.ts';

/** All built-in invariants, in the order of their codes. */
export const invariantTable = [
  atomicityRow,
  outcomeStabilityRow,
  noDanglingTransactionsRow,
  durabilityRow,
  durableBeforeAckRow,
  strictSerializabilityRow,
  lockExclusivityRow,
  exactlyOnceRow,
  causalityRow,
  convergenceRow,
  exchangeSoundnessRow,
  repairSoundnessRow,
  snapshotRejectionRow,
  staleSnapshotSafetyRow,
  dataIntegrityRow,
  inputRobustnessRow,
  ringAgreementRow,
  quorumIntersectionRow,
  nodeIdentityRow,
  sessionGuaranteesRow,
  failureDetectionRow,
  livenessRow,
  resourceBoundsRow,
  metricsReconcileRow,
  statsAgreementRow,
  validExpositionRow,
  hintDeliveryRow,
  wasmPurityRow,
  determinismRow,
  noAmbientTimeRow,
  noSilentFailuresRow,
  accessControlRow,
  timestampAccuracyRow,
  standbyRoutingRow,
  conditionalPutsRow,
  messagesRow,
  bucketPropertiesRow,
  transferSoundnessRow,
  listingsRow,
  backupConsistencyRow,
  upgradeFinalityRow,
] as const;

type AnyRow = (typeof invariantTable)[number];

/** A built-in invariant, as plans and reports name it. */
export type InvariantName = AnyRow['name'];

/** The names of the table, in its order. */
export const invariantNames: readonly InvariantName[] = invariantTable.map(({ name }) => name);

/** Comparisons that each invariant must make at least, for those that a plan asks for. */
export type Floors = Readonly<Partial<Record<InvariantName, number>>>;

/** The evidence of one run: all that the checks read. */
export type RunEvidence =
  NonNullable<AnyRow['check']> extends (run: infer Evidence) => CheckReport | undefined ? Evidence : never;

/** The floors of the everyday load, for scenarios: one for each row that has one. */
export function everydayFloors(): Floors {
  const floors: Partial<Record<InvariantName, number>> = {};
  for (const { name, everydayFloor } of invariantTable)
    if (everydayFloor !== undefined) floors[name] = everydayFloor;
  return floors;
}

/** Whether an invariant that the plan asks for needs one of these. */
export function needsAny(floors: Floors, ...wanted: readonly RunNeed[]): boolean {
  return invariantTable.some(
    ({ name, needs }) => floors[name] !== undefined && needs.some((need) => wanted.includes(need)),
  );
}

/** The floors, raised to what the invariants can compare in a run of that size. */
export function grownFloors(floors: Floors, size: RunSize): Floors {
  const grown: Partial<Record<InvariantName, number>> = { ...floors };
  for (const { name, floorOf } of invariantTable) {
    const floor = floors[name];
    if (floor !== undefined && floorOf !== undefined) grown[name] = Math.max(floor, floorOf(size));
  }
  return grown;
}

/** The reports of the invariants that the plan asks for, in the order of the table; `determinism` needs a second run. */
export function reportsOf(run: RunEvidence, floors: Floors): readonly CheckReport[] {
  return invariantTable.flatMap((row) => {
    const report = floors[row.name] === undefined ? undefined : row.check?.(run);
    if (report === undefined) return [];
    assert(report.invariant === row.name, `the check of ${row.name} reports under its own name`);
    return [report];
  });
}
