/** What a page asks the simulator in its worker, and what the worker answers. Plain data. */
import type { FaultAim } from '../faults/fault-row.ts';
import type { FaultKind } from '../faults/fault-table.ts';
import type { Plan, PlanFault } from '../plan/plan.ts';
import type { Recording } from '../record/recording.ts';

/** A question; `id` comes back with its answer. */
export type Question = { readonly id: number } & Asked;

/**
 * `plan`: the plan of a scenario's seed. `digest`: run the plan, without observers and checks. `record`: run, judge and
 * record it. `catalogue`: the scenarios, and the kinds of faults that a page can add.
 */
export type Asked =
  | { readonly kind: 'plan'; readonly scenario: string; readonly seed: number }
  | { readonly kind: 'digest' | 'record'; readonly plan: Plan }
  | { readonly kind: 'catalogue' };

/** A scenario, by name. */
export interface ScenarioEntry {
  readonly name: string;
  readonly description: string;
}

/** A kind of fault, and the least parameters that it takes. */
export interface FaultEntry {
  readonly kind: FaultKind;
  readonly description: string;
  readonly aim: FaultAim;
  readonly lasting: boolean;
  readonly params: PlanFault['params'];
}

/** The answer to the question of the same `id`; `failed` carries the message of what was thrown. */
export type Answer = { readonly id: number } & Answered;

/** `digested.wallMs`: milliseconds of real time that the run took. */
export type Answered =
  | { readonly kind: 'planned'; readonly plan: Plan }
  | { readonly kind: 'digested'; readonly digest: string; readonly events: number; readonly wallMs: number }
  | { readonly kind: 'recorded'; readonly recording: Recording }
  | {
      readonly kind: 'catalogued';
      readonly scenarios: readonly ScenarioEntry[];
      readonly faults: readonly FaultEntry[];
    }
  | { readonly kind: 'failed'; readonly message: string };
