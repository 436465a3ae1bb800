/**
 * `wasm-purity` (INV28), Wasm modules are functions. The same module and input have the same outcome (output or
 * failure, and fuel to the unit) in every call, on every node and in every incarnation. A call that a module failed is
 * answered by that failure's error and no other (a job with that phase may also end by an error of the cluster before
 * the call). A job during which a module was swapped saw one version of it, whichever. After the calm all nodes hold
 * the same modules.
 *
 * Each call after the first of its kind, each answer, each value of a job's result and each node is one comparison.
 * Skipped: requests without an answer, those of nodes in STANDBY, and failed jobs.
 */
import type { History } from '../../evidence/history.ts';
import type { JobRecord as MapReduceJob } from '../../evidence/jobs.ts';
import type { JobSurroundings } from './held-keys.ts';
import { checkJobs } from './jobs.ts';
import { invariant } from '../invariant.ts';
import type { CheckReport } from '../report.ts';
import { joinReports, Tally } from '../report.ts';

/** A traced call into a module. */
export interface CallRecord {
  readonly node: string;
  readonly atUs: number;
  /** Module, role and input. */
  readonly call: string;
  readonly outcome: string;
}

/** A request that its module must fail. */
export interface ProvokedRecord {
  readonly node: string;
  readonly atUs: number;
  /** The requested key, or the phase. */
  readonly asked: string;
  readonly inPhase: boolean;
  readonly expected: string;
  /** The error's code, or a description of another answer; undefined if the answer was lost. */
  readonly answered: string | undefined;
}

/** A job of which every value is the version of the module that made it; undefined without a result. */
export interface JobRecord {
  readonly node: string;
  readonly atUs: number;
  readonly values: readonly number[] | undefined;
}

/** The modules that a node listed after the calm; undefined if it did not answer. */
export interface HeldRecord {
  readonly node: string;
  readonly atUs: number;
  readonly modules: string | undefined;
}

/** Errors of a job with a phase that the cluster could not run. */
const notRun: readonly string[] = [
  'NoTargets',
  'NoQuorum',
  'Timeout',
  'Overloaded',
  'ShuttingDown',
  'PeerGone',
];
/** The answer of a node in STANDBY to every client, before it calls a module. */
const standby = 'Standby';

/** Calls of modules, and the MapReduce jobs of clients. */
export interface WasmEvidence extends JobSurroundings {
  readonly modules: {
    readonly calls: readonly CallRecord[];
    readonly provoked: readonly ProvokedRecord[];
    readonly held: readonly HeldRecord[];
    readonly jobs: readonly JobRecord[];
  };
  readonly history: History;
  readonly jobs: readonly MapReduceJob[];
}

/** The row of `wasm-purity`. */
export const wasmPurityRow = invariant({
  name: 'wasm-purity',
  code: 'INV28',
  promise: 'modules are pure, and jobs see each input once',
  gravity: 'data',
  breach: 'a call depends on earlier calls, or a job leaves out or repeats inputs',
  needs: ['listed-modules'],
  check: ({ modules, history, jobs, ...around }: WasmEvidence) =>
    joinReports(
      checkWasmPurity(modules.calls, modules.provoked, modules.held, modules.jobs),
      checkJobs(history, jobs, around),
    ),
});

/** Checks calls, failing requests, jobs and the modules after the calm. */
export function checkWasmPurity(
  calls: readonly CallRecord[],
  provoked: readonly ProvokedRecord[],
  held: readonly HeldRecord[],
  jobs: readonly JobRecord[],
): CheckReport {
  const tally = new Tally('wasm-purity');
  const first = new Map<string, CallRecord>();
  for (const record of calls) {
    const before = first.get(record.call);
    if (before === undefined) first.set(record.call, record);
    else tally.compare(record.outcome === before.outcome, record.atUs, () => differ(before, record));
  }
  for (const { node, atUs, asked, inPhase, expected, answered } of provoked) {
    if (answered === undefined || answered === standby || (inPhase && notRun.includes(answered)))
      tally.skip();
    else {
      tally.compare(
        answered === expected,
        atUs,
        () => `${node} answered ${answered} for ${asked}, not ${expected}`,
      );
    }
  }
  for (const { node, atUs, values } of jobs) {
    if (values === undefined) tally.skip();
    for (const value of values ?? []) {
      const [first] = values ?? [];
      tally.compare(
        value === first,
        atUs,
        () => `a job at ${node} saw version ${value} of a module, and version ${first ?? '?'}`,
      );
    }
  }
  for (const { node, atUs, modules } of held) {
    const other = held[0];
    const same = modules !== undefined && modules === other?.modules;
    tally.compare(
      same,
      atUs,
      () =>
        `${node} holds ${modules ?? 'nothing that it would say'}, ${other?.node ?? ''} ${other?.modules ?? ''}`,
    );
  }
  return tally.report();
}

function differ(before: CallRecord, after: CallRecord): string {
  return `the call ${after.call} came to ${after.outcome} on ${after.node}, and to ${before.outcome} on ${before.node}`;
}
