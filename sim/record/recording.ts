/**
 * The recording of one run, for people: what passed between hosts, what clients asked, what befell nodes, what they
 * held. Plain data: it crosses threads, becomes JSON, and is drawn by `reports/page`. Times are microseconds of virtual
 * time since the world's beginning, places are indexes into `lanes`.
 */
import type { Outcome } from '../evidence/history.ts';
import type { Plan } from '../plan/plan.ts';
import type { RunResult } from '../runner/result.ts';

/** Version of this format. */
export const recordingFormat = 1;

/** A host: a member of the cluster, a client, or another machine (operators, unauthenticated clients). */
export interface Lane {
  readonly name: string;
  readonly kind: 'node' | 'client' | 'other';
}

/** A message between hosts: a frame between nodes, or what a client or node wrote at once. */
export interface Message {
  readonly from: number;
  readonly to: number;
  readonly sentUs: number;
  /** -1: it never arrived. */
  readonly arrivedUs: number;
  /** Index into `messageKinds`. */
  readonly kind: number;
  readonly bytes: number;
  /** Keys and transactions that it mentions, as indexes into `subjects`. */
  readonly about: readonly number[];
  /** What it says beyond its kind: `2 inputs`, `abort (conflict)`. */
  readonly detail?: string;
  /** Inputs of a job, results or names that it carries. */
  readonly items?: number;
  /** It arrived before; a fault sent it again. */
  readonly again?: true;
}

/** What a mark on a lane stands for. */
export type MarkKind =
  'crash' | 'start' | 'stop' | 'pause' | 'resume' | 'sync' | 'step' | 'ring' | 'fault' | 'log';

/** An instant at one host. */
export interface Mark {
  readonly lane: number;
  readonly atUs: number;
  readonly kind: MarkKind;
  readonly text: string;
  readonly about: readonly number[];
}

/** The time during which a fault lasted. */
export interface Band {
  /** The fault's id in the plan. */
  readonly fault: string;
  readonly kind: string;
  readonly lanes: readonly number[];
  readonly fromUs: number;
  readonly toUs: number;
  readonly text: string;
  /** A fault of the network. `between`: the link between the lanes; `around`: links from the lanes to all other nodes. */
  readonly links?: 'between' | 'around';
}

/** An operation, transaction, Redis command or job of a client. */
export interface RecordedOperation {
  /** Its number among the client's records; `#12` in the texts of checks. */
  readonly id: string;
  readonly lane: number;
  /** The node that it asked; -1: none. */
  readonly node: number;
  readonly invokedUs: number;
  /** -1: the client had no answer. */
  readonly completedUs: number;
  readonly outcome: Outcome;
  readonly text: string;
  readonly about: readonly number[];
}

/** From this instant on a node's disk holds this under a key. */
export interface HeldState {
  readonly lane: number;
  readonly atUs: number;
  /** Index into `subjects`. */
  readonly key: number;
  readonly text: string;
  /** The actors that wrote the values of `text`, in its order; absent where they cannot be told apart. */
  readonly actors?: readonly string[];
  /** It was written in an epoch of its bucket that had ended: the node had written in a later one before. */
  readonly former?: true;
}

/** A metric of a node beside what the world counted. */
export interface CounterRow {
  readonly lane: number;
  readonly incarnation: number;
  readonly atUs: number;
  /** Of a row that differs: when the incarnation's row was last equal; 0 if it never was. */
  readonly heldUs?: number;
  readonly moment: string;
  readonly name: string;
  readonly counted: string;
  readonly expected: string;
  readonly holds: boolean;
}

/** What the first violation is about. */
export interface Concern {
  readonly atUs: number;
  readonly text: string;
  readonly invariant: string;
  readonly promise: string;
  readonly breach: string;
  /** Indexes into `subjects`, `lanes` and `operations`. */
  readonly subjects: readonly number[];
  readonly lanes: readonly number[];
  readonly operations: readonly number[];
}

/** A run, recorded. */
export interface Recording {
  readonly format: typeof recordingFormat;
  readonly plan: Plan;
  readonly result: RunResult;
  /** When the storm, the calm and the later phases began. The plan's times count from the storm's beginning. */
  readonly phases: readonly { readonly name: string; readonly atUs: number }[];
  readonly lanes: readonly Lane[];
  readonly subjects: readonly string[];
  readonly messageKinds: readonly string[];
  /** In the order of sending. */
  readonly messages: readonly Message[];
  readonly marks: readonly Mark[];
  readonly bands: readonly Band[];
  readonly operations: readonly RecordedOperation[];
  readonly states: readonly HeldState[];
  readonly counters: readonly CounterRow[];
  /** Undefined: no invariant broke. */
  readonly concern: Concern | undefined;
  /** Faults and operations of the plan as sentences. */
  readonly sentences: readonly PlanSentence[];
  /** Messages and marks beyond the limits, which the recording leaves out. */
  readonly leftOut: number;
}

/** One thing that the plan does. */
export interface PlanSentence {
  /** Id in the plan: `f3`, `o17`. */
  readonly id: string;
  /** Undefined: it waits for an event or for the client's previous operation. */
  readonly atUs: number | undefined;
  readonly kind: 'fault' | 'operation';
  readonly text: string;
}
