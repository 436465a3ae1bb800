/** Every scenario, in the order in which `lockstep-sim` lists and runs them. */
import { assert } from '../engine/base/assert.ts';
import type { Scenario } from '../sim/plan/scenario.ts';
import { bitRot } from './bit-rot.ts';
import { calm } from './calm.ts';
import { clientRetriesWithId } from './client-retries-with-id.ts';
import { clockJumps } from './clock-jumps.ts';
import { crashAndRestart } from './crash-and-restart.ts';
import { dcLoss } from './dc-loss.ts';
import { doubleStart } from './double-start.ts';
import { doubledCommits } from './doubled-commits.ts';
import { erasedAndStamped } from './erased-and-stamped.ts';
import { ejectAndReinstate } from './eject-and-reinstate.ts';
import { crashLoop } from './crash-loop.ts';
import { deletionsForgotten } from './deletions-forgotten.ts';
import { diskErrors } from './disk-errors.ts';
import { conflictingBatches } from './conflicting-batches.ts';
import { coordinatorIsReplaced } from './coordinator-is-replaced.ts';
import { coordinatorNeverReturns } from './coordinator-never-returns.ts';
import { crashAfterDecision } from './crash-after-decision.ts';
import { crashDuringPrepare } from './crash-during-prepare.ts';
import { diskFullAtPrepare } from './disk-full-at-prepare.ts';
import { flappingPeer } from './flapping-peer.ts';
import { forceAbort } from './force-abort.ts';
import { replacementLeaves } from './heir-leaves.ts';
import { replaceTheReplacement } from './heir-of-an-heir.ts';
import { hintHolderLeaves } from './hint-holder-leaves.ts';
import { hintsAlone } from './hints-alone.ts';
import { readsAloneRepair } from './reads-alone-repair.ts';
import { hintsOfTheDead } from './hints-of-the-dead.ts';
import { hintsOutliveDeletions } from './hints-outlive-deletions.ts';
import { joinUnderLoad } from './join-under-load.ts';
import { jobSurvivesNodeCrash } from './job-survives-node-crash.ts';
import { leaveUnderLoad } from './leave-under-load.ts';
import { largeValuesInTurn } from './large-values-in-turn.ts';
import { longPauses } from './long-pauses.ts';
import { lostAndDoubledMessages } from './lost-and-doubled-messages.ts';
import { moduleSwappedMidJob } from './module-swapped-mid-job.ts';
import { noReplicaHelps } from './no-replica-helps.ts';
import { oneCopyEach } from './one-copy-each.ts';
import { oneWrongClock } from './one-wrong-clock.ts';
import { oneWayPartition } from './one-way-partition.ts';
import { partitionBetweenDcs } from './partition-between-dcs.ts';
import { lostFiles } from './lost-files.ts';
import { otherDisks } from './other-disks.ts';
import { participantCrashLoop } from './participant-crash-loop.ts';
import { partitionDuringCommit } from './partition-during-commit.ts';
import { partitionMinority } from './partition-minority.ts';
import { powerLossBetweenSteps } from './power-loss-between-steps.ts';
import { powerLossDuringRingChange } from './power-loss-during-ring-change.ts';
import { putsCutShort } from './puts-cut-short.ts';
import { rackLoss } from './rack-loss.ts';
import { redisCounters } from './redis-counters.ts';
import { redisExpiry } from './redis-expiry.ts';
import { redisMulti } from './redis-multi.ts';
import { leaverStartsAgain } from './leaver-starts-again.ts';
import { replacedAfterAnOutage } from './replaced-after-an-outage.ts';
import { replacedOneReturns } from './replaced-one-returns.ts';
import { replaceDeadNode } from './replace-dead-node.ts';
import { ringDisagreement } from './ring-disagreement.ts';
import { rollingRestart } from './rolling-restart.ts';
import { diskSpaceRecovers } from './room-comes-back.ts';
import { runawayModule } from './runaway-module.ts';
import { seedsDownAtBoot } from './seeds-down-at-boot.ts';
import { siblingsAfterPartition } from './siblings-after-partition.ts';
import { sameNamesAgain } from './same-names-again.ts';
import { sleptThroughAChange } from './slept-through-a-change.ts';
import { slowDiskFillsQueue } from './slow-disk-fills-queue.ts';
import { slowPeerFillsChannel } from './slow-peer-fills-channel.ts';
import { snapshotCorruption } from './snapshot-corruption.ts';
import { swizzleClog } from './swizzle-clog.ts';
import { tornLogTail } from './torn-log-tail.ts';
import { trapInKeyfun } from './trap-in-keyfun.ts';
import { unauthenticatedClients } from './strangers-at-the-door.ts';
import { versionMix } from './version-mix.ts';
import { wipedDiskReturns } from './wiped-disk-returns.ts';
import { wipedPrimary } from './wiped-primary.ts';
import { wrongIdentity } from './wrong-identity.ts';
import { retriesAfterALoss } from './retries-after-a-loss.ts';
import { retriesThroughOtherNodes } from './retries-through-other-nodes.ts';
import { retriesOnAnOldDisk } from './retries-on-an-old-disk.ts';
import { retriesOnTheMove } from './retries-on-the-move.ts';
import { transactionsOnTheMove } from './transactions-on-the-move.ts';
import { transactions } from './transactions.ts';
import { zombieCoordinator } from './zombie-coordinator.ts';
import { bitRotHeals } from './bit-rot-heals.ts';
import { writtenOverRot } from './written-over-rot.ts';
import { deletesRaceRepair } from './deletes-race-repair.ts';
import { everythingAtOnce } from './everything-at-once.ts';
import { exchangeCutMidway } from './exchange-cut-midway.ts';
import { noChurnWhenEqual } from './no-churn-when-equal.ts';
import { standbyAmidTransactions } from './standby-amid-transactions.ts';
import { standbyAndReturn } from './standby-and-return.ts';
import { staleSnapshot } from './stale-snapshot.ts';
import { versionSkew } from './version-skew.ts';
import { wipedReplicaRefills } from './wiped-replica-refills.ts';

export const scenarios: readonly Scenario[] = [
  calm,
  partitionMinority,
  oneWayPartition,
  flappingPeer,
  crashAndRestart,
  rollingRestart,
  tornLogTail,
  transactions,
  transactionsOnTheMove,
  powerLossDuringRingChange,
  powerLossBetweenSteps,
  retriesOnTheMove,
  retriesAfterALoss,
  retriesThroughOtherNodes,
  retriesOnAnOldDisk,
  oneCopyEach,
  crashDuringPrepare,
  putsCutShort,
  crashAfterDecision,
  coordinatorNeverReturns,
  coordinatorIsReplaced,
  wipedPrimary,
  participantCrashLoop,
  partitionDuringCommit,
  conflictingBatches,
  forceAbort,
  zombieCoordinator,
  diskFullAtPrepare,
  doubledCommits,
  erasedAndStamped,
  snapshotCorruption,
  diskErrors,
  diskSpaceRecovers,
  bitRot,
  crashLoop,
  otherDisks,
  lostFiles,
  noReplicaHelps,
  staleSnapshot,
  versionSkew,
  bitRotHeals,
  writtenOverRot,
  wipedReplicaRefills,
  exchangeCutMidway,
  deletesRaceRepair,
  noChurnWhenEqual,
  everythingAtOnce,
  joinUnderLoad,
  leaveUnderLoad,
  standbyAndReturn,
  standbyAmidTransactions,
  replaceDeadNode,
  leaverStartsAgain,
  replacedAfterAnOutage,
  replacedOneReturns,
  partitionBetweenDcs,
  rackLoss,
  dcLoss,
  slowPeerFillsChannel,
  slowDiskFillsQueue,
  largeValuesInTurn,
  swizzleClog,
  lostAndDoubledMessages,
  clockJumps,
  oneWrongClock,
  siblingsAfterPartition,
  deletionsForgotten,
  wipedDiskReturns,
  hintsAlone,
  readsAloneRepair,
  hintHolderLeaves,
  hintsOfTheDead,
  hintsOutliveDeletions,
  seedsDownAtBoot,
  ejectAndReinstate,
  longPauses,
  doubleStart,
  wrongIdentity,
  versionMix,
  ringDisagreement,
  sleptThroughAChange,
  replacementLeaves,
  replaceTheReplacement,
  sameNamesAgain,
  runawayModule,
  trapInKeyfun,
  redisCounters,
  redisMulti,
  redisExpiry,
  clientRetriesWithId,
  jobSurvivesNodeCrash,
  moduleSwappedMidJob,
  unauthenticatedClients,
];

/** The scenario of that name; undefined if there is none. */
export function findScenario(name: string): Scenario | undefined {
  return scenarios.find((scenario) => scenario.name === name);
}

assert(
  new Set(scenarios.map((scenario) => scenario.name)).size === scenarios.length,
  'names of scenarios are distinct',
);
