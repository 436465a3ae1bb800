/**
 * Shrinks a failing plan: removes parts for as long as the run still breaks the same invariant. Delta debugging (Zeller
 * and Hildebrandt, "Simplifying and Isolating Failure-Inducing Input", 2002) over one list at a time: faults first,
 * since each fault less makes the run easier to understand, then the work, malformed input and scrapes; then it
 * shortens the storm.
 *
 * Ids and the seed stay, so that what remains means what it meant. The search is bounded by runs, so the same failure
 * shrinks to the same plan everywhere. Only a caller with a time limit of its own ends the search earlier.
 */
import type { Plan } from './plan.ts';

/** How long an operation takes when nothing is wrong. */
const usualAnswerUs = 1500;

/** How many runs a search may take. */
export const shrinkRunsMax = 300;

/** The smallest failing plan found, and how many runs the search took. */
export interface ShrinkOutcome {
  readonly plan: Plan;
  readonly runs: number;
}

/** Where a search stands: what it removes next. */
export interface ShrinkPlace {
  /** Index into `lists`; the number of lists means: the storm is shortened. */
  readonly list: number;
  /** How many items are removed at once, and the index of the first of them. */
  readonly size: number;
  readonly at: number;
  /** Size of the plan when this round over all lists began. A round that removes nothing is the last. */
  readonly before: number;
}

/** A plan with something less, and where the search continues if that plan is kept. */
export interface SmallerPlan {
  readonly plan: Plan;
  readonly place: ShrinkPlace;
}

/**
 * Searches for a smaller plan that fails. `fails` runs a candidate and says whether it breaks the invariant in
 * question; it is called at most `runsMax` times. `isOver` is called before each run; once it returns true, the
 * smallest plan so far is the outcome.
 */
export async function shrinkPlan(
  plan: Plan,
  runsMax: number,
  fails: (candidate: Plan) => Promise<boolean>,
  isOver: () => boolean = () => false,
): Promise<ShrinkOutcome> {
  let small = withoutFloors(plan);
  let candidates = smallerPlans(small);
  let runs = 0;
  while (runs < runsMax && !isOver()) {
    const { value: candidate } = candidates.next();
    if (candidate === undefined) break;
    runs += 1;
    if (!(await fails(candidate.plan))) continue;
    small = candidate.plan;
    candidates = smallerPlans(small, candidate.place);
  }
  return { plan: small, runs };
}

/**
 * The candidates smaller than the plan, in the order in which to try them, from a place on. A caller that keeps one
 * continues with the candidates of that plan, from its place.
 */
export function* smallerPlans(plan: Plan, from = beginning(plan)): Generator<SmallerPlan, undefined> {
  for (let place = from; ; place = beginning(plan)) {
    yield* smallerInRound(plan, place);
    if (sizeOf(plan) === place.before) return;
  }
}

/** The plan with all floors 0: a small plan compares little, and is kept because it breaks an invariant. */
export function withoutFloors(plan: Plan): Plan {
  const floors = Object.fromEntries(Object.keys(plan.floors).map((invariant) => [invariant, 0]));
  return { ...plan, floors };
}

const lists = [
  ...(['faults', 'operations', 'transactions', 'redisOperations', 'jobs'] as const),
  ...(['malformedInput', 'scrapes'] as const),
] as const;

type ListName = (typeof lists)[number];

function beginning(plan: Plan): ShrinkPlace {
  return { list: 0, size: lengthOf(plan, lists[0]), at: 0, before: sizeOf(plan) };
}

/**
 * Removes runs of items from one list after the other: all, halves, quarters, … single ones; then half of the storm.
 */
function* smallerInRound(plan: Plan, from: ShrinkPlace): Generator<SmallerPlan> {
  const { before } = from;
  for (const [list, name] of lists.entries()) {
    if (list < from.list) continue;
    const length = lengthOf(plan, name);
    const begun = list === from.list;
    for (let size = begun ? from.size : length; size >= 1; size = Math.floor(size / 2)) {
      for (let at = begun && size === from.size ? from.at : 0; at < length; at += size) {
        yield { plan: without(plan, name, at, size), place: { list, size, at, before } };
      }
    }
  }
  const shorter = shortened(plan);
  if (shorter !== undefined) {
    yield { plan: shorter, place: { list: lists.length, size: 0, at: 0, before } };
  }
}

/**
 * The plan with half the storm, without the faults, malformed input and scrapes after its end; undefined below 1 ms.
 */
function shortened(plan: Plan): Plan | undefined {
  const stormUs = Math.floor(plan.stormUs / 2);
  if (stormUs < 1000) return undefined;
  const inside = (item: { readonly atUs: number }): boolean => item.atUs <= stormUs;
  return {
    ...plan,
    stormUs,
    faults: plan.faults.filter(({ when }) => !('atUs' in when) || inside(when)),
    malformedInput: plan.malformedInput.filter(inside),
    scrapes: plan.scrapes.filter(inside),
  };
}

/** The plan without `size` items of a list. */
function without(plan: Plan, list: ListName, at: number, size: number): Plan {
  if (list === 'operations') return { ...plan, operations: withoutWork(plan.operations, at, size) };
  if (list === 'transactions') return { ...plan, transactions: withoutWork(plan.transactions, at, size) };
  if (list === 'redisOperations') {
    return { ...plan, redisOperations: withoutWork(plan.redisOperations ?? [], at, size) };
  }
  if (list === 'jobs') return { ...plan, jobs: withoutWork(plan.jobs ?? [], at, size) };
  return { ...plan, [list]: plan[list].toSpliced(at, size) };
}

/** The client waits instead of doing what was removed, so that the other operations meet the same moments. */
function withoutWork<Work extends { readonly client: number; readonly thinkUs: number }>(
  operations: readonly Work[],
  at: number,
  size: number,
): readonly Work[] {
  const owedUs = new Map<number, number>();
  const kept: Work[] = [];
  for (const [index, operation] of operations.entries()) {
    const thinkUs = operation.thinkUs + (owedUs.get(operation.client) ?? 0);
    if (index >= at && index < at + size) {
      owedUs.set(operation.client, thinkUs + usualAnswerUs);
    } else {
      kept.push({ ...operation, thinkUs });
      owedUs.delete(operation.client);
    }
  }
  return kept;
}

function lengthOf(plan: Plan, list: ListName): number {
  return plan[list]?.length ?? 0;
}

function sizeOf(plan: Plan): number {
  return lists.reduce((sum, list) => sum + lengthOf(plan, list), plan.stormUs);
}
