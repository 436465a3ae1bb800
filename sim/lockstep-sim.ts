/**
 * The simulator as a library, for tests: `import { checkSeeds, plans, checkPlan } from 'lockstep/sim'`.
 *
 * `checkSeeds` runs seeds of a scenario and throws at the first that fails; the error describes the violation and how
 * to replay it. `plans` is a fast-check arbitrary of a scenario's plans; `checkPlan` and `runPlan` run one plan. A
 * scenario is the name of a built-in one or a `Scenario` of your own. An `Invariant` of your own is judged beside the
 * built-in ones. The same plan gives the same run, and the same digest, here and on the command line.
 */
/// <reference types="node" preserve="true" />

export { checkPlan, checkSeeds, planOfSeed, plans, runPlan, scenarioNamed } from './embedding/checks.ts';
export type { CheckOptions, PlansOptions, RunOptions, SeedOptions } from './embedding/checks.ts';
export { SimulationFailed } from './embedding/simulation-failed.ts';
export { SimulatorFault } from './runner/simulator-fault.ts';
export { LockstepError } from '../engine/base/errors.ts';

export { formatPlan } from './plan/plan.ts';
export type { Plan, PlanFault, PlanOperation } from './plan/plan.ts';
export type { PlanTransaction } from './plan/plan-transactions.ts';
export { parsePlan } from './plan/plan-validation.ts';
export type { ClusterShape, FaultDraw, LoadShape, Scenario } from './plan/scenario.ts';

export type { MissedFault, RunResult, Verdict } from './runner/result.ts';
export type { BadEvent, CheckReport, Tally } from './check/report.ts';
export type { Evidence, Invariant } from './check/user-invariants.ts';
export { describeOperation, isRead, isWrite } from './evidence/history.ts';
export type { Operation, ReadOperation, WriteOperation } from './evidence/history.ts';
export { describeTransaction } from './evidence/transactions.ts';
export type { TransactionRecord } from './evidence/transactions.ts';
export type { RedisRecord } from './evidence/redis.ts';
export type { JobRecord } from './evidence/jobs.ts';
