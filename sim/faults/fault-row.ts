/**
 * One row of the table of fault kinds. A row is all that the simulator needs to know of a kind: what it does, what it
 * aims at, its parameters with their ranges, and how it strikes. Generation, validation and `list` read the row;
 * `faults.ts` calls `strike`. How each is done: sim/docs/faults.md.
 */
import type { DetectorDisturbance } from '../check/cluster/failure-detector.ts';
import type { Fault } from './fault.ts';
import type { CommonFaultContext, FaultContext } from './fault-context.ts';

/**
 * What a fault aims at: one node, two hosts (the first may be a client), one side of a split of the nodes, or one
 * client.
 */
export type FaultAim = 'node' | 'link' | 'side' | 'client';

/** Sorts of clients: `c` single operations, `x` transactions, `r` Redis commands, `j` MapReduce jobs. */
export type ClientSort = 'c' | 'x' | 'r' | 'j';

/** The values that a fault's parameter can take; integer bounds are inclusive. */
export type ParameterRange =
  | { readonly kind: 'integer'; readonly min: number; readonly max: number }
  | {
      readonly kind: 'choice';
      readonly of: readonly string[];
      /** Words that plans may hold, too, and that are drawn only for a scenario that names them. */
      readonly named?: readonly string[];
    };

/** All words that a plan may hold for a choice. */
export function wordsOf(range: Extract<ParameterRange, { kind: 'choice' }>): readonly string[] {
  return [...range.of, ...(range.named ?? [])];
}

/** One kind of fault. */
export interface FaultRow {
  /** Its code before it had a name, accepted in plan files: `FN8`. */
  readonly code: string;
  /** One sentence: what happens. */
  readonly description: string;
  readonly aim: FaultAim;
  /** The sorts of clients that it may aim at as well; for the aim `client`, the only sorts it may aim at. */
  readonly clients?: readonly ClientSort[];
  /** Whether it lasts `forUs` and is then undone; otherwise it is over at once and `forUs` is 0. */
  readonly lasting: boolean;
  /** Parameters with their ranges. Names of durations end in `Us` (microseconds) or `Ms` (milliseconds). */
  readonly params: Readonly<Record<string, ParameterRange>>;
  /** Why no plan may hold this fault, beyond aim and ranges; undefined: it may. */
  readonly refusal?: (fault: Pick<Fault, 'id'>) => string | undefined;
  /** Whom the fault disturbs from `fromUs` on, as failure detectors see it (node '': every node); absent: nobody. */
  readonly disturbs?: (fault: Fault, fromUs: number) => readonly DetectorDisturbance[];
  /** The clients count the fault when they really give up a request. */
  readonly countedByClients?: true;
  /** Injects the fault. Returns false if there was nothing to strike. */
  readonly strike: (fault: Fault, context: FaultContext) => boolean;
}

/** The rows of one family by name. */
export type FaultFamily = Readonly<Record<string, FaultRow>>;

/** A kind that strikes a simulated run and one of real processes alike. */
export interface CommonFaultRow extends FaultRow {
  readonly strike: (fault: Fault, context: CommonFaultContext) => boolean;
}

/** The rows of a family of such kinds by name. */
export type CommonFaultFamily = Readonly<Record<string, CommonFaultRow>>;

/** Disturbs all nodes while it lasts. */
export function disturbsAll({ forUs }: Fault, fromUs: number): readonly DetectorDisturbance[] {
  return [{ node: '', fromUs, toUs: fromUs + forUs, away: false }];
}

/** Disturbs its targets while it lasts. */
export function disturbsTargets({ targets, forUs }: Fault, fromUs: number): readonly DetectorDisturbance[] {
  return targets.map((node) => ({ node, fromUs, toUs: fromUs + forUs, away: false }));
}
