/**
 * One row of the table of invariants. The row stands in the file of its check and is all that the simulator needs to know
 * of the invariant: `invariants.ts` lists the rows; plans, the runner, the command line and reports read them there.
 */
import type { Named } from './named.ts';
import type { CheckReport } from './report.ts';

/**
 * What is at stake when an invariant breaks: acknowledged `data` (lost, wrong or torn), `security` (an unauthorized
 * request succeeds), `availability` (requests fail or wait although nothing is wrong), `operations` (operators are
 * misled), or the `testbed` itself (its verdicts are void).
 */
export type Gravity = 'data' | 'security' | 'availability' | 'operations' | 'testbed';

/**
 * What a run does for an invariant beyond running clients. An observer records (observe/):
 *
 * - `accounts`: each node's metrics beside the counts of what happened, in samples;
 * - `exchanges`: anti-entropy exchanges beside the contents of both stores;
 * - `disk-records`: the objects and hints that reach any disk;
 * - `dates`: the dates of versions beside their coordinators' clocks;
 * - `routes`: which node answers which on the wire.
 *
 * Or the run has one phase more, after the calm:
 *
 * - `equal-replicas`: it waits until the replicas are equal, and dumps them;
 * - `quiet-cluster`: it waits until all nodes call each other NORMAL and no hint is pending;
 * - `finished-branches`: it waits until no branch record is left, and lists the rest;
 * - `listed-modules`: it asks every node which Wasm modules it holds.
 */
export type RunNeed =
  | 'accounts'
  | 'exchanges'
  | 'disk-records'
  | 'dates'
  | 'routes'
  | 'equal-replicas'
  | 'quiet-cluster'
  | 'finished-branches'
  | 'listed-modules';

/** How much a run recorded; the floors of some invariants grow with it. */
export interface RunSize {
  /** Samples of serving nodes' metrics. */
  readonly samples: number;
  /** Incarnations with at least one sample. */
  readonly incarnations: number;
  /** Scrapes that clients received completely. */
  readonly scrapes: number;
}

/** What an invariant promises, and what a run needs to check it. */
export interface InvariantDescription extends Named {
  /** One sentence: what always holds. */
  readonly promise: string;
  readonly gravity: Gravity;
  /** One sentence: what a breach means for the operator of the cluster. */
  readonly breach: string;
  readonly needs: readonly RunNeed[];
  /**
   * Least number of comparisons in every run under the everyday load (scenarios/shared.ts). Absent: only scenarios that
   * name the invariant check it.
   */
  readonly everydayFloor?: number;
}

/** One invariant. `Evidence`: the records of a run that its check reads. */
export interface InvariantRow<Name extends string, Evidence> extends InvariantDescription {
  readonly name: Name;
  /** Least number of comparisons in a run of that size, if a plan asks for the invariant; absent: the plan's floor alone. */
  readonly floorOf?: (size: RunSize) => number;
  /**
   * Compares what the run recorded, and reports under the row's name. Undefined: the run has nothing that the invariant
   * is about. Absent for `determinism`, which compares two runs (runner/task.ts).
   */
  readonly check?: (run: Evidence) => CheckReport | undefined;
}

/** The row itself, with the literal type of its name and the type of its evidence. */
export function invariant<const Name extends string, Evidence = unknown>(
  row: InvariantRow<Name, Evidence>,
): InvariantRow<Name, Evidence> {
  return row;
}
