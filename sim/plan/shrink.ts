/**
 * From a failing plan to a small one: parts are taken away for as long as the run still breaks the same invariant.
 * Delta debugging (Zeller and Hildebrandt, "Simplifying and Isolating Failure-Inducing Input", 2002) over one list at
 * a time: faults first, since each one less makes the story shorter, then operations, garbage and scrapes; then the
 * storm is cut to what is left. Ids and the seed stay, so what remains means what it meant. Bounded by runs, so the same
 * failure shrinks to the same plan everywhere; only a caller whose own time is limited breaks the search off earlier.
 */
import type { Plan } from './plan.ts';

/** What an operation takes when nothing is wrong. */
const usualAnswerUs = 1500;

/** Runs that making a plan small may take. */
export const shrinkRunsMax = 300;

export interface ShrinkOutcome {
  readonly plan: Plan;
  readonly runs: number;
}

/** Where a search stands: what it takes away next. */
export interface ShrinkPlace {
  /** Index of the list in `lists`; their number: the storm is cut. */
  readonly list: number;
  /** Items that are taken away at once, and the index of the first of them. */
  readonly size: number;
  readonly at: number;
  /** Size of the plan when this round over all lists began; a round in which nothing was taken away is the last. */
  readonly before: number;
}

/** A plan with something less, and where the search goes on when that is kept. */
export interface SmallerPlan {
  readonly plan: Plan;
  readonly place: ShrinkPlace;
}

/**
 * `fails`: the plan, run, breaks the invariant in question. `runsMax` bounds how often it is asked. `isOver` is asked
 * before each run; once it is true the smallest plan so far is the outcome.
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
 * What is smaller than the plan, in the order in which it is to be tried, from a place on. Whoever keeps one goes on
 * with those that are smaller than it, from its place.
 */
export function* smallerPlans(plan: Plan, from = beginning(plan)): Generator<SmallerPlan, undefined> {
  for (let place = from; ; place = beginning(plan)) {
    yield* smallerInRound(plan, place);
    if (sizeOf(plan) === place.before) return;
  }
}

/** A small plan compares little; what it is kept for is the invariant that it breaks. */
export function withoutFloors(plan: Plan): Plan {
  const floors = Object.fromEntries(Object.keys(plan.floors).map((invariant) => [invariant, 0]));
  return { ...plan, floors };
}

const lists = [
  ...(['faults', 'operations', 'transactions', 'redisOperations', 'jobs'] as const),
  ...(['garbage', 'scrapes'] as const),
] as const;

type ListName = (typeof lists)[number];

function beginning(plan: Plan): ShrinkPlace {
  return { list: 0, size: lengthOf(plan, lists[0]), at: 0, before: sizeOf(plan) };
}

/** Runs of items out of one list after the other: all, halves, quarters, … single ones; then half of the storm. */
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

/** Half the storm, without the faults and garbage that lie behind its end; undefined when it is short enough. */
function shortened(plan: Plan): Plan | undefined {
  const stormUs = Math.floor(plan.stormUs / 2);
  if (stormUs < 1000) return undefined;
  const inside = (item: { readonly atUs: number }): boolean => item.atUs <= stormUs;
  return {
    ...plan,
    stormUs,
    faults: plan.faults.filter(({ when }) => !('atUs' in when) || inside(when)),
    garbage: plan.garbage.filter(inside),
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

/** A client waits out what it no longer does, so that the others' operations meet the same moments. */
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
