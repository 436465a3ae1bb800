/** What a page asks the simulator in its worker, and what the worker answers. Plain data. */
import type { Plan } from '../plan/plan.ts';

/** A question; `id` comes back with its answer. */
export type Question = { readonly id: number } & Asked;

/** `plan`: the plan of a scenario's seed. `digest`: run the plan, without observers and checks. */
export type Asked =
  | { readonly kind: 'plan'; readonly scenario: string; readonly seed: number }
  | { readonly kind: 'digest'; readonly plan: Plan };

/** The answer to the question of the same `id`; `failed` carries the message of what was thrown. */
export type Answer = { readonly id: number } & Answered;

/** `digested.wallMs`: milliseconds of real time that the run took. */
export type Answered =
  | { readonly kind: 'planned'; readonly plan: Plan }
  | { readonly kind: 'digested'; readonly digest: string; readonly events: number; readonly wallMs: number }
  | { readonly kind: 'failed'; readonly message: string };
