/**
 * Runs the portable part of a plan twice, in the world and on processes of this machine, and lists what differs
 * (`README.md` says what is compared).
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import type { FaultKind } from '../faults/fault-table.ts';
import type { Plan } from '../plan/plan.ts';
import { compareObjects } from './compare-objects.ts';
import { compareCounters, reconcileProcesses } from './compare-counters.ts';
import { compareRecords } from './compare-records.ts';
import type { Comparison } from './difference.ts';
import { Comparer } from './difference.ts';
import { Disturbances } from './disturbed.ts';
import { judgeProcesses } from './judge-processes.ts';
import { onlyMade, PacedRecorder } from './pacing.ts';
import type { LeftOut, Ported } from './portable.ts';
import { portablePartOf } from './portable.ts';
import type { ProcessOutcome } from './process-run.ts';
import { runOnProcesses } from './process-run.ts';
import type { WorldOutcome } from './world-run.ts';
import { runInWorld } from './world-run.ts';

/** How a plan is to be run. */
export interface ConformOptions {
  /** The files of the processes stay in `directory`. */
  readonly keepFiles?: boolean;
  readonly onPhase?: (phase: string) => void;
  readonly signal?: AbortSignal;
}

/** What came of it. Plain data. */
export interface Conformance extends Comparison {
  readonly scenario: string;
  readonly seed: number;
  readonly conforms: boolean;
  /** Faults of the portable part by kind, and how many struck the processes. */
  readonly faults: Readonly<Partial<Record<FaultKind, number>>>;
  readonly struck: number;
  readonly leftOut: readonly LeftOut[];
  /** Operations of all kinds that the clients of the processes made. */
  readonly operations: number;
  readonly seconds: number;
  /** Where the files of the processes are; undefined: removed. */
  readonly files: string | undefined;
}

/** Compares the two runs of a plan. Throws `BadRequest` for a plan of which nothing is portable. */
export async function conform(whole: Plan, options: ConformOptions = {}): Promise<Conformance> {
  const startMs = performance.now();
  const ported = portablePartOf(whole);
  options.onPhase?.('the world');
  const world = await runInWorld(ported.plan);
  const directory = mkdtempSync(join(tmpdir(), 'lockstep-conform-'));
  mkdirSync(join(directory, 'clients'));
  try {
    const plan = onlyMade(ported.plan, world.outcome.history);
    const recorder = new PacedRecorder(ported.plan, world.outcome.history);
    const real = await runOnProcesses(plan, { directory, recorder, ...phasesOf(options) });
    const comparison = compareRuns(ported.plan, world, real);
    const files = options.keepFiles === true ? directory : undefined;
    return describe(ported, comparison, real, (performance.now() - startMs) / 1000, files);
  } finally {
    if (options.keepFiles !== true) rmSync(directory, { recursive: true, force: true });
  }
}

function phasesOf({ onPhase, signal }: ConformOptions): Pick<ConformOptions, 'onPhase' | 'signal'> {
  return { ...(onPhase === undefined ? {} : { onPhase }), ...(signal === undefined ? {} : { signal }) };
}

/** What differs between the two runs of a ported plan. */
export function compareRuns(plan: Plan, world: WorldOutcome, real: ProcessOutcome): Comparison {
  const comparer = new Comparer();
  const { outcome, result, strikes } = world;
  const inWorld = new Disturbances(strikes);
  const onProcesses = new Disturbances(real.faults.strikes, real.stalls);
  compareObjects(
    plan,
    { history: outcome.history, disturbances: inWorld },
    { history: real.history, disturbances: onProcesses },
    comparer,
  );
  const { load } = real;
  compareRecords(
    { ...outcome, disturbances: inWorld },
    {
      transactions: load.transactions.history,
      redis: load.redis,
      jobs: load.jobs,
      disturbances: onProcesses,
    },
    comparer,
  );
  reconcileProcesses(real.counted, comparer);
  if (isCalm(plan)) compareCounters(world, real.counted, comparer);
  compareProcesses(world, real, comparer);
  const broken = result.reports.filter(({ ok, vacuous }) => !ok && !vacuous);
  for (const { invariant, reasons } of broken)
    comparer.compare('invariant', invariant, `broken: ${reasons[0] ?? ''}`, 'not asked');
  for (const { invariant, ok, reasons } of judgeProcesses(plan, real))
    comparer.compare('invariant', invariant, 'holds', ok ? 'holds' : reasons.slice(0, 3).join('; '));
  return comparer.comparison;
}

/** Whether clients ask exactly the same in both runs: nothing fails, and no client repeats a request that conflicts. */
function isCalm({
  faults,
  transactionClients,
  redisOperations,
  jobs,
  scrapes,
  malformedInput,
}: Plan): boolean {
  const others = (redisOperations ?? []).length + (jobs ?? []).length + scrapes.length;
  return faults.length + transactionClients + others + malformedInput.length === 0;
}

/** Ends of processes that nothing asked for, second starts, and what did not come to be. */
function compareProcesses(world: WorldOutcome, real: ProcessOutcome, comparer: Comparer): void {
  const ends = real.unasked.filter(({ served }) => served);
  comparer.compare('process', 'ends that nothing asked for', 'none', listed(ends.map(describeEnd)));
  comparer.compare('process', 'stops', 'in order', listed(real.badStops.map(describeEnd), 'in order'));
  comparer.compare('process', 'phases', 'none late', listed(real.unfinished, 'none late'));
  comparer.compare('process', 'clients', 'no failure', listed(real.failures, 'no failure'));
  real.doubleStarts.forEach(({ node, code }, index) => {
    const isRefused = world.doubleStarts[index]?.startsWith('nothing') !== true;
    const name = `second process ${index + 1} on the directory of ${node}`;
    const how = code === undefined || code === 0 ? 'served' : 'refused';
    comparer.compare('process', name, isRefused ? 'refused' : 'served', how);
  });
}

function describeEnd({ node, code, signal, output }: ProcessOutcome['unasked'][number]): string {
  return `${node} (${signal ?? `exit code ${code}`}): ${output.trim().split('\n').slice(-2).join(' / ')}`;
}

function listed(items: readonly string[], none = 'none'): string {
  return items.length === 0 ? none : items.join('; ');
}

function describe(
  { plan, faults, leftOut }: Ported,
  comparison: Comparison,
  real: ProcessOutcome,
  seconds: number,
  files: string | undefined,
): Conformance {
  const { load, history } = real;
  const records = [load.transactions.history, load.redis, load.jobs];
  const operations = records.reduce((sum, { length }) => sum + length, history.length);
  return {
    scenario: plan.scenario,
    seed: plan.seed,
    conforms: comparison.differences.length === 0,
    faults,
    struck: real.faults.strikes.length,
    leftOut,
    operations,
    seconds,
    files,
    ...comparison,
  };
}
