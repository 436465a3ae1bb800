/**
 * From a failing plan to a small one: parts are taken away for as long as the run still breaks the same invariant.
 * Delta debugging (Zeller and Hildebrandt, "Simplifying and Isolating Failure-Inducing Input", 2002) over one list at
 * a time: faults first, since each one less makes the story shorter, then operations, garbage and scrapes; then the
 * storm is cut to what is left. Ids and the seed stay, so what remains means what it meant. Bounded by runs, never by
 * wall time, so the same failure shrinks to the same plan everywhere.
 */
import type { Plan } from './plan.ts';

/** What an operation takes when nothing is wrong. */
const usualAnswerUs = 1500;

export interface ShrinkOutcome {
  readonly plan: Plan;
  readonly runs: number;
}

/** `fails`: the plan, run, breaks the invariant in question. `runsMax` bounds how often it is asked. */
export async function shrinkPlan(
  plan: Plan,
  runsMax: number,
  fails: (candidate: Plan) => Promise<boolean>,
): Promise<ShrinkOutcome> {
  const search = new Search(withoutFloors(plan), runsMax, fails);
  for (let before = -1; before !== sizeOf(search.plan) && !search.spent;) {
    before = sizeOf(search.plan);
    await search.reduce('faults');
    await search.reduce('operations');
    await search.reduce('transactions');
    await search.reduce('redisOperations');
    await search.reduce('jobs');
    await search.reduce('garbage');
    await search.reduce('scrapes');
    await search.shorten();
  }
  return { plan: search.plan, runs: search.runs };
}

/** A small plan compares little; what it is kept for is the invariant that it breaks. */
export function withoutFloors(plan: Plan): Plan {
  const floors = Object.fromEntries(Object.keys(plan.floors).map((invariant) => [invariant, 0]));
  return { ...plan, floors };
}

type ListName = 'faults' | 'operations' | 'transactions' | 'redisOperations' | 'jobs' | 'garbage' | 'scrapes';

class Search {
  plan: Plan;
  runs = 0;
  readonly #runsMax: number;
  readonly #fails: (candidate: Plan) => Promise<boolean>;

  constructor(plan: Plan, runsMax: number, fails: (candidate: Plan) => Promise<boolean>) {
    this.plan = plan;
    this.#runsMax = runsMax;
    this.#fails = fails;
  }

  get spent(): boolean {
    return this.runs >= this.#runsMax;
  }

  /** Takes runs of items out of a list: all, halves, quarters, … single ones. */
  async reduce(list: ListName): Promise<void> {
    for (let size = lengthOf(this.plan, list); size >= 1; size = Math.floor(size / 2)) {
      for (let at = 0; at < lengthOf(this.plan, list);) {
        if (!(await this.#accept(without(this.plan, list, at, size)))) at += size;
        if (this.spent) return;
      }
    }
  }

  /** Halves the storm while the failure stays. Faults and garbage that lie behind its end are left out. */
  async shorten(): Promise<void> {
    for (;;) {
      const stormUs = Math.floor(this.plan.stormUs / 2);
      if (stormUs < 1000 || this.spent) return;
      const inside = (item: { readonly atUs: number }): boolean => item.atUs <= stormUs;
      const candidate: Plan = {
        ...this.plan,
        stormUs,
        faults: this.plan.faults.filter(({ when }) => !('atUs' in when) || inside(when)),
        garbage: this.plan.garbage.filter(inside),
        scrapes: this.plan.scrapes.filter(inside),
      };
      if (!(await this.#accept(candidate))) return;
    }
  }

  async #accept(candidate: Plan): Promise<boolean> {
    if (this.spent) return false;
    this.runs += 1;
    if (!(await this.#fails(candidate))) return false;
    this.plan = candidate;
    return true;
  }
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
  const {
    faults,
    operations,
    transactions,
    redisOperations = [],
    jobs = [],
    garbage,
    scrapes,
    stormUs,
  } = plan;
  const lists = [faults, operations, transactions, redisOperations, jobs, garbage, scrapes];
  return lists.reduce((sum, list) => sum + list.length, stormUs);
}
