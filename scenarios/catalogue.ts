/** Every scenario, in the order in which `lockstep-sim` lists and runs them. */
import { assert } from '../engine/base/assert.ts';
import { presentNameOf } from '../sim/plan/former-names.ts';
import type { Scenario } from '../sim/plan/scenario.ts';
import { bitRot } from './bit-rot.ts';
import { backupsAmidDecisions } from './backups-amid-decisions.ts';
import { backupsOfRedisKeys } from './backups-of-redis-keys.ts';
import { backupsUnderFaults } from './backups-under-faults.ts';
import { calm } from './calm.ts';
import { clientRetriesWithId } from './client-retries-with-id.ts';
import { clockJumps } from './clock-jumps.ts';
import { crashAndRestart } from './crash-and-restart.ts';
import { dcLoss } from './dc-loss.ts';
import { doubleStart } from './double-start.ts';
import { duplicatedCommits } from './duplicated-commits.ts';
import { conflictingTriples } from './conflicting-triples.ts';
import { ejectAndReinstate } from './eject-and-reinstate.ts';
import { crashLoop } from './crash-loop.ts';
import { tombstonesRemoved } from './tombstones-removed.ts';
import { tombstonesRaceWrites } from './tombstones-race-writes.ts';
import { diskErrors } from './disk-errors.ts';
import { conditionalPuts } from './conditional-puts.ts';
import { conflictingBatches } from './conflicting-batches.ts';
import { coordinatorIsReplaced } from './coordinator-is-replaced.ts';
import { coordinatorNeverReturns } from './coordinator-never-returns.ts';
import { crashAfterDecision } from './crash-after-decision.ts';
import { crashDuringPrepare } from './crash-during-prepare.ts';
import { diskErrorsDuringRingChange } from './disk-errors-during-ring-change.ts';
import { diskFullAtPrepare } from './disk-full-at-prepare.ts';
import { flappingPeer } from './flapping-peer.ts';
import { forceAbort } from './force-abort.ts';
import { replacementLeaves } from './replacement-leaves.ts';
import { replaceTheReplacement } from './replace-the-replacement.ts';
import { hintHolderLeaves } from './hint-holder-leaves.ts';
import { hintStoreFails } from './hint-store-fails.ts';
import { hintsOverClockJumps } from './hints-over-clock-jumps.ts';
import { hintsOnly } from './hints-only.ts';
import { readRepairOnly } from './read-repair-only.ts';
import { bucketsThatConfirmAbsences } from './buckets-that-confirm-absences.ts';
import { readsThatMustAgree } from './reads-that-must-agree.ts';
import { hintsForALostNode } from './hints-for-a-lost-node.ts';
import { hintsThatOwnersRefuse } from './hints-that-owners-refuse.ts';
import { hintsOutliveDeletions } from './hints-outlive-deletions.ts';
import { joinUnderLoad } from './join-under-load.ts';
import { jobsOverMissedWrites } from './jobs-over-missed-writes.ts';
import { jobSurvivesNodeCrash } from './job-survives-node-crash.ts';
import { keysOnEdges } from './keys-on-edges.ts';
import { listingsInPages } from './listings-in-pages.ts';
import { listingsOfRoutedKeys } from './listings-of-routed-keys.ts';
import { leaveUnderLoad } from './leave-under-load.ts';
import { wipedDuringRingChange } from './wiped-during-ring-change.ts';
import { largeReads } from './large-reads.ts';
import { longPauses } from './long-pauses.ts';
import { lostAndDuplicatedMessages } from './lost-and-duplicated-messages.ts';
import { modulesMissed } from './modules-missed.ts';
import { moduleSwappedMidJob } from './module-swapped-mid-job.ts';
import { singleNodePowerLoss } from './single-node-power-loss.ts';
import { aloneWithLostRecords } from './alone-with-lost-records.ts';
import { aloneWithSmallRecords } from './alone-with-small-records.ts';
import { aloneSyncedAtIntervals } from './alone-synced-at-intervals.ts';
import { damagedWhileAPeerIsAway } from './damaged-while-a-peer-is-away.ts';
import { singleCopyKeys } from './single-copy-keys.ts';
import { oneWrongClock } from './one-wrong-clock.ts';
import { oneReplicaSilent } from './one-replica-silent.ts';
import { oneWayPartition } from './one-way-partition.ts';
import { outcomesForgotten } from './outcomes-forgotten.ts';
import { partitionBetweenDcs } from './partition-between-dcs.ts';
import { lostFiles } from './lost-files.ts';
import { oldAndForeignDisks } from './old-and-foreign-disks.ts';
import { participantCrashLoop } from './participant-crash-loop.ts';
import { partitionDuringCommit } from './partition-during-commit.ts';
import { partitionMinority } from './partition-minority.ts';
import { powerLossBetweenSteps } from './power-loss-between-steps.ts';
import { powerLossDuringRingChange } from './power-loss-during-ring-change.ts';
import { singlePutBatches } from './single-put-batches.ts';
import { rackLoss } from './rack-loss.ts';
import { readsOnCondition } from './reads-on-condition.ts';
import { flushUnderFaults } from './flush-under-faults.ts';
import { redisCounters } from './redis-counters.ts';
import { redisExpiry } from './redis-expiry.ts';
import { redisExpiryMissedWrites } from './redis-expiry-missed-writes.ts';
import { redisMulti } from './redis-multi.ts';
import { redisMessages } from './redis-messages.ts';
import { redisOneReplicaSilent } from './redis-one-replica-silent.ts';
import { redisPipelines } from './redis-pipelines.ts';
import { redisPipelinesCutOff } from './redis-pipelines-cut-off.ts';
import { redisPipelinesHinted } from './redis-pipelines-hinted.ts';
import { redisPipelinesOwnDisk } from './redis-pipelines-own-disk.ts';
import { redisReadsFail } from './redis-reads-fail.ts';
import { redisScripts } from './redis-scripts.ts';
import { redisWatchedScripts } from './redis-watched-scripts.ts';
import { leftNodeRestarts } from './left-node-restarts.ts';
import { replacedAfterAnOutage } from './replaced-after-an-outage.ts';
import { replacedNodeReturns } from './replaced-node-returns.ts';
import { replaceDeadNode } from './replace-dead-node.ts';
import { ringDisagreement } from './ring-disagreement.ts';
import { rollingRestart } from './rolling-restart.ts';
import { rollingUpgrade } from './rolling-upgrade.ts';
import { diskSpaceRecovers } from './disk-space-recovers.ts';
import { routedKeysMove } from './routed-keys-move.ts';
import { runawayModule } from './runaway-module.ts';
import { seedsDownAtBoot } from './seeds-down-at-boot.ts';
import { propertiesMissed } from './properties-missed.ts';
import { startsOnFailingDisks } from './starts-on-failing-disks.ts';
import { stopsAmidTransactions } from './stops-amid-transactions.ts';
import { incarnationsUnsaved } from './incarnations-unsaved.ts';
import { credentialsChanged } from './credentials-changed.ts';
import { backupsAbandoned } from './backups-abandoned.ts';
import { operatorDecides } from './operator-decides.ts';
import { unequalDatacenters } from './unequal-datacenters.ts';
import { upgradeFinalized } from './upgrade-finalized.ts';
import { typesChanged } from './types-changed.ts';
import { siblingsAfterPartition } from './siblings-after-partition.ts';
import { nodeNamesReused } from './node-names-reused.ts';
import { manifestRots } from './manifest-rots.ts';
import { mergesOfRemovals } from './merges-of-removals.ts';
import { missedRingChange } from './missed-ring-change.ts';
import { slowDiskFillsQueue } from './slow-disk-fills-queue.ts';
import { slowPeerFillsChannel } from './slow-peer-fills-channel.ts';
import { snapshotCorruption } from './snapshot-corruption.ts';
import { swarm } from './swarm.ts';
import { syncedAtIntervals } from './synced-at-intervals.ts';
import { swizzleClog } from './swizzle-clog.ts';
import { tornLogTail } from './torn-log-tail.ts';
import { trapInKeyfun } from './trap-in-keyfun.ts';
import { unauthenticatedClients } from './unauthenticated-clients.ts';
import { versionMix } from './version-mix.ts';
import { wipedDiskReturns } from './wiped-disk-returns.ts';
import { wipedPrimary } from './wiped-primary.ts';
import { wrongIdentity } from './wrong-identity.ts';
import { retriesAfterDiskLoss } from './retries-after-disk-loss.ts';
import { retriesThroughOtherNodes } from './retries-through-other-nodes.ts';
import { retriesAfterDiskRollback } from './retries-after-disk-rollback.ts';
import { retriesDuringRingChange } from './retries-during-ring-change.ts';
import { transactionsAcrossDatacenters } from './transactions-across-datacenters.ts';
import { transactionsDuringRingChange } from './transactions-during-ring-change.ts';
import { transactionsSyncedLate } from './transactions-synced-late.ts';
import { transactions } from './transactions.ts';
import { zombieCoordinator } from './zombie-coordinator.ts';
import { bitRotRepaired } from './bit-rot-repaired.ts';
import { writesOverBitRot } from './writes-over-bit-rot.ts';
import { deletesRaceRepair } from './deletes-race-repair.ts';
import { everythingAtOnce } from './everything-at-once.ts';
import { exchangeInterrupted } from './exchange-interrupted.ts';
import { noChurnWhenEqual } from './no-churn-when-equal.ts';
import { standbyAmidTransactions } from './standby-amid-transactions.ts';
import { standbyAndReturn } from './standby-and-return.ts';
import { staleSnapshot } from './stale-snapshot.ts';
import { versionSkew } from './version-skew.ts';
import { wipedReplicaRebuilds } from './wiped-replica-rebuilds.ts';

export const scenarios: readonly Scenario[] = [
  calm,
  partitionMinority,
  oneWayPartition,
  oneReplicaSilent,
  flappingPeer,
  crashAndRestart,
  syncedAtIntervals,
  transactionsSyncedLate,
  outcomesForgotten,
  rollingRestart,
  stopsAmidTransactions,
  rollingUpgrade,
  tornLogTail,
  transactions,
  transactionsAcrossDatacenters,
  transactionsDuringRingChange,
  powerLossDuringRingChange,
  powerLossBetweenSteps,
  diskErrorsDuringRingChange,
  retriesDuringRingChange,
  retriesAfterDiskLoss,
  retriesThroughOtherNodes,
  retriesAfterDiskRollback,
  singleCopyKeys,
  crashDuringPrepare,
  singlePutBatches,
  crashAfterDecision,
  coordinatorNeverReturns,
  operatorDecides,
  coordinatorIsReplaced,
  wipedPrimary,
  participantCrashLoop,
  partitionDuringCommit,
  conditionalPuts,
  readsOnCondition,
  conflictingBatches,
  forceAbort,
  zombieCoordinator,
  diskFullAtPrepare,
  duplicatedCommits,
  conflictingTriples,
  snapshotCorruption,
  diskErrors,
  diskSpaceRecovers,
  startsOnFailingDisks,
  incarnationsUnsaved,
  bitRot,
  manifestRots,
  crashLoop,
  oldAndForeignDisks,
  lostFiles,
  singleNodePowerLoss,
  aloneWithLostRecords,
  aloneWithSmallRecords,
  aloneSyncedAtIntervals,
  damagedWhileAPeerIsAway,
  staleSnapshot,
  versionSkew,
  bitRotRepaired,
  writesOverBitRot,
  wipedReplicaRebuilds,
  exchangeInterrupted,
  deletesRaceRepair,
  noChurnWhenEqual,
  everythingAtOnce,
  joinUnderLoad,
  routedKeysMove,
  leaveUnderLoad,
  wipedDuringRingChange,
  standbyAndReturn,
  standbyAmidTransactions,
  replaceDeadNode,
  leftNodeRestarts,
  replacedAfterAnOutage,
  replacedNodeReturns,
  partitionBetweenDcs,
  unequalDatacenters,
  rackLoss,
  dcLoss,
  slowPeerFillsChannel,
  slowDiskFillsQueue,
  largeReads,
  swizzleClog,
  lostAndDuplicatedMessages,
  clockJumps,
  oneWrongClock,
  siblingsAfterPartition,
  propertiesMissed,
  typesChanged,
  upgradeFinalized,
  credentialsChanged,
  backupsUnderFaults,
  backupsAmidDecisions,
  backupsOfRedisKeys,
  backupsAbandoned,
  tombstonesRemoved,
  mergesOfRemovals,
  tombstonesRaceWrites,
  wipedDiskReturns,
  hintsOnly,
  hintsOverClockJumps,
  hintStoreFails,
  readRepairOnly,
  readsThatMustAgree,
  bucketsThatConfirmAbsences,
  hintHolderLeaves,
  hintsForALostNode,
  hintsThatOwnersRefuse,
  hintsOutliveDeletions,
  seedsDownAtBoot,
  ejectAndReinstate,
  longPauses,
  doubleStart,
  wrongIdentity,
  versionMix,
  ringDisagreement,
  missedRingChange,
  replacementLeaves,
  replaceTheReplacement,
  nodeNamesReused,
  runawayModule,
  trapInKeyfun,
  redisCounters,
  redisMulti,
  redisMessages,
  redisOneReplicaSilent,
  redisPipelines,
  redisPipelinesHinted,
  redisPipelinesOwnDisk,
  redisReadsFail,
  redisPipelinesCutOff,
  redisScripts,
  redisWatchedScripts,
  redisExpiry,
  redisExpiryMissedWrites,
  flushUnderFaults,
  clientRetriesWithId,
  jobSurvivesNodeCrash,
  jobsOverMissedWrites,
  listingsInPages,
  listingsOfRoutedKeys,
  keysOnEdges,
  moduleSwappedMidJob,
  modulesMissed,
  unauthenticatedClients,
  swarm,
];

/** The scenario of that present or former name; undefined if there is none. */
export function findScenario(name: string): Scenario | undefined {
  const present = presentNameOf(name);
  return scenarios.find((scenario) => scenario.name === present);
}

assert(
  new Set(scenarios.map((scenario) => scenario.name)).size === scenarios.length,
  'names of scenarios are distinct',
);
