/**
 * Judges the run of processes by the simulator's own checks: those whose evidence clients, disks and scrapes give. The
 * others follow what passes a node's ports, which only the world shows.
 */
import { levelReach } from '../evidence/level-reach.ts';
import { checkConvergence } from '../check/objects/convergence.ts';
import { diskLossesOf } from '../check/objects/disk-losses.ts';
import { checkDurability } from '../check/objects/durability.ts';
import { sessionGuaranteesRow } from '../check/objects/sessions.ts';
import { checkLiveness } from '../check/cluster/liveness.ts';
import { checkRingAgreement } from '../check/cluster/ring-agreement.ts';
import { needsAny } from '../check/invariants.ts';
import { checkStatsAgreement } from '../check/metrics/stats-agreement.ts';
import { checkMalformedInput } from '../check/protocols/malformed-input.ts';
import { checkRedisCounters } from '../check/protocols/redis-counters.ts';
import { accessControlRow } from '../check/protocols/unauthenticated-clients.ts';
import type { CheckReport } from '../check/report.ts';
import { checkIsolation } from '../check/transactions/isolation.ts';
import { checkTransactionValues } from '../check/transactions/transaction-values.ts';
import { checkNothingDangles, checkRetries } from '../check/transactions/transactions.ts';
import { nothingPruned } from '../evidence/prunings.ts';
import type { Plan } from '../plan/plan.ts';
import { isRepairedFirst } from '../plan/plan.ts';
import { attemptsMax, firstBalance } from '../workload/transaction-client.ts';
import { answerTimeoutUs } from '../workload/workload.ts';
import type { ProcessOutcome } from './process-run.ts';

/** A transaction client's attempts, the reads before them and the pauses between them, in microseconds. */
const answerUsMax = (attemptsMax + 4) * 2 * answerTimeoutUs;

/** The reports of all checks that apply to the plan. */
export function judgeProcesses(plan: Plan, run: ProcessOutcome): readonly CheckReport[] {
  const { load, history } = run;
  const isHealed = isRepairedFirst(plan);
  const reach = levelReach(plan.settings, isHealed);
  const diskLosses = diskLossesOf(run.faults.wipes, isHealed);
  const reports: (CheckReport | undefined)[] = [
    checkDurability(history, diskLosses),
    sessionGuaranteesRow.check?.({
      history,
      diskLosses,
      prunings: nothingPruned,
      redis: load.redis,
      levelReach: reach,
      flushesByKey: false,
      clockErrors: run.clockErrors,
      transactions: undefined,
    }),
    checkStatsAgreement(load.scrapes),
    checkMalformedInput(load.malformedInput, load.pings),
    checkRedisCounters(load.redis, reach),
    accessControlRow.check?.({
      unauthorized: {
        requests: load.unauthorized.records,
        untouched: load.unauthorized.untouched,
        changed: [],
        steady: false,
      },
    }),
  ];
  if (plan.floors['ring-agreement'] !== undefined) reports.push(checkRingAgreement(load.rings, run.members));
  if (needsAny(plan.floors, 'equal-replicas')) {
    const { dumps, ownersOf, inFlight, deaths } = run.replicas;
    reports.push(checkConvergence(dumps, ownersOf, inFlight, deaths));
  }
  if (plan.transactionClients > 0) {
    const transactions = load.transactions.history;
    reports.push(checkRetries(transactions));
    // What an operator decided, or a lost disk tore, is named by steps that only the world shows.
    if (run.faults.wipes.length === 0 && !hasLostNodes(plan)) {
      reports.push(
        checkIsolation(transactions, new Set()),
        checkTransactionValues(transactions, plan.structures.accounts, firstBalance, new Set()),
        checkNothingDangles(load.finals.dangling),
        checkLiveness(load.finals.liveness, transactions, answerUsMax),
      );
    }
  }
  return reports.filter((report) => report !== undefined);
}

function hasLostNodes({ faults }: Plan): boolean {
  return faults.some(({ kind }) => kind === 'permanent-node-loss' || kind === 'membership-change');
}
