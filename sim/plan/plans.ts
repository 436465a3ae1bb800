/**
 * The plans of a scenario as one fast-check arbitrary, for properties over plans. Each value is the plan that
 * `lockstep-sim` makes of some seed. It shrinks to the candidates of `shrink.ts`, in their order, so a property finds
 * the same small plan as the command line. A plan prints as its file.
 */
import fc from 'fast-check';

import type { Scenario } from './scenario.ts';
import { generatePlan } from './plan-generation.ts';
import type { Plan } from './plan.ts';
import { formatPlan, withoutRecord } from './plan.ts';
import type { ShrinkPlace } from './shrink.ts';
import { listsOfValidPlans, shrinkRunsMax, smallerPlans, withoutFloors } from './shrink.ts';

/** Seeds are drawn from `0..seedMax`. */
const seedMax = 0x7fff_ffff;

/** Plans of random seeds. When a plan fails, at most `runsMax` smaller ones are tried. */
export function plansOf(scenario: Scenario, runsMax = shrinkRunsMax): fc.Arbitrary<Plan> {
  return new Plans(scenario, runsMax);
}

/** How far the search for a smaller plan has come. */
interface Progress {
  readonly place: ShrinkPlace;
  readonly runs: number;
}

class Plans extends fc.Arbitrary<Plan> {
  readonly #scenario: Scenario;
  readonly #runsMax: number;

  constructor(scenario: Scenario, runsMax: number) {
    super();
    this.#scenario = scenario;
    this.#runsMax = runsMax;
  }

  generate(random: fc.Random): fc.Value<Plan> {
    return new fc.Value(printable(generatePlan(this.#scenario, random.nextInt(0, seedMax))), undefined);
  }

  /** True for an example that the caller of fast-check gave. */
  canShrinkWithoutContext(value: unknown): value is Plan {
    return typeof value === 'object' && value !== null && 'scenario' in value && 'operations' in value;
  }

  shrink(plan: Plan, context: unknown): fc.Stream<fc.Value<Plan>> {
    return fc.stream(this.#smaller(plan, context as Progress | undefined));
  }

  *#smaller(plan: Plan, from: Progress | undefined): Generator<fc.Value<Plan>> {
    let runs = from?.runs ?? 0;
    for (const smaller of smallerPlans(searched(plan), { from: from?.place, lists: listsOfValidPlans })) {
      if (runs >= this.#runsMax) return;
      runs += 1;
      const progress: Progress = { place: smaller.place, runs };
      yield new fc.Value(printable(smaller.plan), progress);
    }
  }
}

/**
 * The plan without floors, because a small plan compares little; and without `determinism`, which would run every
 * candidate twice.
 */
function searched(plan: Plan): Plan {
  const { floors } = withoutFloors(plan);
  const { determinism: _, ...others } = floors;
  // If `determinism` is the only invariant, it stays: otherwise nothing would be judged.
  return { ...withoutRecord(plan), floors: Object.keys(others).length === 0 ? floors : others };
}

/** The plan with a method by which fast-check prints it as its file. For all other code it stays plain data. */
function printable(plan: Plan): Plan {
  const shown = { ...plan };
  Object.defineProperty(shown, fc.toStringMethod, { value: () => formatPlan(plan), enumerable: false });
  return shown;
}
