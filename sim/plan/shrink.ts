/**
 * Shrinks a failing plan: removes parts for as long as the run still breaks the same invariant. Delta debugging (Zeller
 * and Hildebrandt, "Simplifying and Isolating Failure-Inducing Input", 2002) over all lists of a plan at once: first
 * each list whole, then halves of each, quarters, and so on, so that whatever the time allows, the largest parts have
 * been tried. Then single steps, in a circle: one item less, one fault milder, a shorter storm. Once no step of a whole
 * circle fails, the plan is 1-minimal: no single step leads to a smaller plan that fails.
 *
 * Beside what a plan does, its settings shrink to the defaults, and the order of its messages: the latencies of hosts
 * become steady (`Plan.steadyHosts`), so that only those vary that the failure needs.
 *
 * Ids and the seed stay, so that what remains means what it meant. The order of candidates depends on their outcomes
 * alone: without a limit of time the same failure shrinks to the same plan everywhere.
 */
import { Deferred } from '../../engine/base/deferred.ts';
import { milderFaults } from './milder.ts';
import type { Plan } from './plan.ts';
import { withoutRecord } from './plan.ts';

/** How long an operation takes when nothing is wrong. */
const usualAnswerUs = 1500;

/** No storm is made shorter than this. */
export const stormUsMin = 1000;

/** Most candidates that a property over plans tries (plans.ts). */
export const shrinkRunsMax = 300;

/** How a search goes on. */
export interface ShrinkProgress {
  readonly runs: number;
  /** Faults, operations and all else that could be removed, in the smallest failing plan so far. */
  readonly items: number;
}

/** How to search. */
export interface ShrinkSearch<Found> {
  /** Runs a candidate; undefined if it does not break the invariant in question. Up to `width` calls at once. */
  readonly findsFailure: (candidate: Plan) => Promise<Found | undefined>;
  /** Candidates that are tried at once. The result does not depend on it. Default: 1. */
  readonly width?: number;
  /** Most candidates to try. Default: no limit. */
  readonly runsMax?: number;
  /** Once it is aborted, the smallest failing plan so far is the outcome; runs in progress are not waited for. */
  readonly signal?: AbortSignal;
  /** Plans that fail if a guess is right (suspects.ts), the smallest first: the search goes on from the first that does. */
  readonly suspected?: readonly Plan[];
  /** The violation came within this time of the storm's beginning, in virtual microseconds: what follows goes first. */
  readonly violationUs?: number;
  /** The same time of a candidate's run; undefined if it is not known. */
  readonly violationUsOf?: (found: Found) => number | undefined;
  readonly onProgress?: (progress: ShrinkProgress) => void;
}

/** The smallest failing plan found. */
export interface ShrinkOutcome<Found> {
  readonly plan: Plan;
  /** What its run found; undefined if no smaller plan than the first failed. */
  readonly found: Found | undefined;
  readonly runs: number;
  /** No single step makes the plan smaller; otherwise the search ended before it knew. */
  readonly minimal: boolean;
}

/** Where a search stands. A caller that keeps a candidate continues from the candidate's place. */
export type ShrinkPlace =
  | {
      readonly phase: 'chunks';
      /** For each list, how many items are removed at once. */
      readonly sizes: readonly number[];
      /** Index into the lists; their number means: the storm is shortened. */
      readonly list: number;
      readonly at: number;
    }
  | { readonly phase: 'singles'; readonly at: number };

/** A plan with something less, and where the search continues if that plan is kept. */
export interface SmallerPlan {
  readonly plan: Plan;
  readonly place: ShrinkPlace;
}

/** Searches for a smaller plan that fails, from one that does. */
export async function shrinkPlan<Found>(
  plan: Plan,
  search: ShrinkSearch<Found>,
): Promise<ShrinkOutcome<Found>> {
  const { findsFailure, width = 1, runsMax = Number.POSITIVE_INFINITY, signal } = search;
  const { suspected = [], violationUs, violationUsOf } = search;
  const aborted = abortionOf(signal);
  const rejected = new Set<string>();
  let small = withoutFloors(withoutRecord(plan));
  let found: Found | undefined;
  let runs = 0;
  let candidates = firstCandidates(small, suspected, violationUs);
  for (;;) {
    const batch = nextOf(candidates, Math.min(width, runsMax - runs), rejected);
    if (batch === undefined) return { plan: small, found, runs, minimal: true };
    if (batch.length === 0 || signal?.aborted === true) break;
    const outcomes = await Promise.race([
      aborted,
      Promise.all(batch.map((candidate) => findsFailure(candidate.plan))),
    ]);
    if (outcomes === 'aborted') break;
    runs += batch.length;
    const kept = outcomes.findIndex((outcome) => outcome !== undefined);
    for (const candidate of kept < 0 ? batch : batch.slice(0, kept))
      rejected.add(JSON.stringify(candidate.plan));
    const keptCandidate = batch[kept];
    if (keptCandidate !== undefined) {
      found = outcomes[kept];
      small = keptCandidate.plan;
    }
    search.onProgress?.({ runs, items: itemsOf(small) });
    // The candidates after the kept one are parts of the larger plan; of a batch without one, all are done with.
    if (keptCandidate !== undefined) {
      const endUs = found === undefined ? undefined : violationUsOf?.(found);
      candidates = nextCandidates(small, keptCandidate.place, endUs);
    }
  }
  return { plan: small, found, runs, minimal: false };
}

/** The next candidates that were not rejected before; undefined if there are no more. */
function nextOf(
  candidates: Iterator<SmallerPlan>,
  count: number,
  rejected: ReadonlySet<string>,
): readonly SmallerPlan[] | undefined {
  const batch: SmallerPlan[] = [];
  while (batch.length < count) {
    const next = candidates.next();
    if (next.done === true) return batch.length === 0 ? undefined : batch;
    if (!rejected.has(JSON.stringify(next.value.plan))) batch.push(next.value);
  }
  return batch;
}

/** Resolves when the signal is aborted. */
function abortionOf(signal: AbortSignal | undefined): Promise<'aborted'> {
  const aborted = new Deferred<'aborted'>();
  if (signal?.aborted === true) aborted.resolve('aborted');
  signal?.addEventListener('abort', () => aborted.resolve('aborted'), { once: true });
  return aborted.promise;
}

function* firstCandidates(
  plan: Plan,
  suspected: readonly Plan[],
  violationUs: number | undefined,
): Generator<SmallerPlan> {
  for (const part of suspected) yield { plan: part, place: beginning(part, allLists) };
  if (violationUs !== undefined && violationUs >= stormUsMin && violationUs < plan.stormUs) {
    const shorter = endedAt(plan, violationUs);
    yield { plan: shorter, place: beginning(shorter, allLists) };
  }
  yield* smallerPlans(plan);
}

/** A storm is ended at its violation anew if that makes it shorter than this part of it. */
const endedAgainBelow = 0.75;

function* nextCandidates(
  plan: Plan,
  place: ShrinkPlace,
  violationUs: number | undefined,
): Generator<SmallerPlan> {
  if (
    violationUs !== undefined &&
    violationUs >= stormUsMin &&
    violationUs < plan.stormUs * endedAgainBelow
  ) {
    yield { plan: endedAt(plan, violationUs), place };
  }
  yield* smallerPlans(plan, place);
}

/** The plan with all floors 0: a small plan compares little, and is kept because it breaks an invariant. */
export function withoutFloors(plan: Plan): Plan {
  const floors = Object.fromEntries(Object.keys(plan.floors).map((invariant) => [invariant, 0]));
  return { ...plan, floors };
}

/** The plan judged by this invariant alone, whose floor is 0; by none of the built-in ones if it has another name. */
export function judgedAlone(plan: Plan, invariant: string): Plan {
  const ids = Object.keys(plan.floors).filter((id) => id === invariant);
  return { ...plan, floors: Object.fromEntries(ids.map((id) => [id, 0])) };
}

/** What can be removed. `settings`: back to the defaults. `variance`: hosts whose messages take varying times. */
const allLists = [
  ...(['faults', 'operations', 'transactions', 'redisOperations', 'jobs'] as const),
  ...(['malformedInput', 'scrapes', 'bucketChanges', 'backups', 'paces', 'settings', 'variance'] as const),
] as const;

type ListName = (typeof allLists)[number];

/** Without the settings: some are valid only together, which only a cluster's making tells. */
export const listsOfValidPlans: readonly ListName[] = allLists.filter((list) => list !== 'settings');

/**
 * The candidates smaller than the plan, in the order in which to try them, from a place on. A caller that keeps one
 * continues with the candidates of that plan, from its place.
 */
export function* smallerPlans(
  plan: Plan,
  from?: ShrinkPlace,
  lists: readonly ListName[] = allLists,
): Generator<SmallerPlan, undefined> {
  const place = from ?? beginning(plan, lists);
  if (place.phase === 'chunks') yield* withoutChunks(plan, place, lists);
  yield* afterSingleSteps(plan, place.phase === 'singles' ? place.at : 0, lists);
}

function beginning(plan: Plan, lists: readonly ListName[]): ShrinkPlace {
  return { phase: 'chunks', sizes: lists.map((name) => lengthOf(plan, name)), list: 0, at: 0 };
}

/** Each list whole, then halves, quarters, … of each, and half of the storm every time. */
function* withoutChunks(
  plan: Plan,
  from: ShrinkPlace & { readonly phase: 'chunks' },
  lists: readonly ListName[],
): Generator<SmallerPlan> {
  let { sizes, list: first, at: firstAt } = from;
  for (;;) {
    for (const [list, name] of lists.entries()) {
      const [size = 0, length] = [sizes[list], lengthOf(plan, name)];
      if (list < first || size < 1) continue;
      for (let at = list === first ? firstAt : 0; at < length; at += size) {
        yield { plan: without(plan, name, at, size), place: { phase: 'chunks', sizes, list, at } };
      }
    }
    const shorter = first < lists.length || firstAt === 0 ? shortened(plan) : undefined;
    if (shorter !== undefined) {
      yield { plan: shorter, place: { phase: 'chunks', sizes, list: lists.length, at: 1 } };
    }
    sizes = lists.map((name, list) => Math.floor(Math.min(sizes[list] ?? 0, lengthOf(plan, name)) / 2));
    if (sizes.every((size) => size < 2)) return;
    sizes = sizes.map((size) => (size < 2 ? 0 : size));
    [first, firstAt] = [0, 0];
  }
}

/** Every single step once, in a circle from the step `from` on. */
function* afterSingleSteps(plan: Plan, from: number, lists: readonly ListName[]): Generator<SmallerPlan> {
  const steps = singleSteps(plan, lists);
  for (let tried = 0; tried < steps.length; tried++) {
    const at = (from + tried) % steps.length;
    const smaller = steps[at]?.();
    if (smaller !== undefined) yield { plan: smaller, place: { phase: 'singles', at } };
  }
}

/** Everything that makes the plan smaller by one step. */
function singleSteps(plan: Plan, lists: readonly ListName[]): readonly (() => Plan | undefined)[] {
  const removals = lists.flatMap((name) =>
    Array.from({ length: lengthOf(plan, name) }, (_, at) => () => without(plan, name, at, 1)),
  );
  const milder = plan.faults.flatMap((fault, at) =>
    milderFaults(fault).map((one) => () => ({ ...plan, faults: plan.faults.with(at, one) })),
  );
  return [...removals, ...milder, () => shortened(plan)];
}

/** The plan with half the storm; undefined below 1 ms. */
function shortened(plan: Plan): Plan | undefined {
  const stormUs = Math.floor(plan.stormUs / 2);
  return stormUs < stormUsMin ? undefined : endedAt(plan, stormUs);
}

/** The plan whose storm ends at that time, without what would come later. */
export function endedAt(plan: Plan, stormUs: number): Plan {
  const inside = (item: { readonly atUs: number }): boolean => item.atUs <= stormUs;
  return {
    ...plan,
    stormUs,
    faults: plan.faults.filter(({ when }) => !('atUs' in when) || inside(when)),
    malformedInput: plan.malformedInput.filter(inside),
    scrapes: plan.scrapes.filter(inside),
    ...(plan.bucketChanges === undefined ? {} : { bucketChanges: plan.bucketChanges.filter(inside) }),
    ...(plan.backups === undefined ? {} : { backups: plan.backups.filter(inside) }),
    operations: begunBefore(plan.operations, stormUs),
    transactions: begunBefore(plan.transactions, stormUs),
    ...(plan.redisOperations === undefined
      ? {}
      : { redisOperations: begunBefore(plan.redisOperations, stormUs) }),
    ...(plan.jobs === undefined ? {} : { jobs: begunBefore(plan.jobs, stormUs) }),
  };
}

interface Work {
  readonly client: number;
  readonly thinkUs: number;
}

/** Without the work that its client could not begin before that time even if every answer came at once. */
function begunBefore<Kind extends Work>(work: readonly Kind[], stormUs: number): readonly Kind[] {
  const spentUs = new Map<number, number>();
  return work.filter(({ client, thinkUs }) => {
    const atUs = (spentUs.get(client) ?? 0) + thinkUs;
    spentUs.set(client, atUs);
    return atUs <= stormUs;
  });
}

/** The plan without `size` items of a list. */
function without(plan: Plan, list: ListName, at: number, size: number): Plan {
  switch (list) {
    case 'operations':
      return { ...plan, operations: withoutWork(plan.operations, at, size) };
    case 'transactions':
      return { ...plan, transactions: withoutWork(plan.transactions, at, size) };
    case 'redisOperations':
      return { ...plan, redisOperations: withoutWork(plan.redisOperations ?? [], at, size) };
    case 'jobs':
      return { ...plan, jobs: withoutWork(plan.jobs ?? [], at, size) };
    case 'bucketChanges':
      return { ...plan, bucketChanges: (plan.bucketChanges ?? []).toSpliced(at, size) };
    case 'backups':
      return { ...plan, backups: (plan.backups ?? []).toSpliced(at, size) };
    case 'paces':
      return { ...plan, paces: (plan.paces ?? []).toSpliced(at, size) };
    case 'settings':
      return { ...plan, settings: Object.fromEntries(Object.entries(plan.settings).toSpliced(at, size)) };
    case 'variance': {
      const steady = [...(plan.steadyHosts ?? []), ...varyingHosts(plan).slice(at, at + size)];
      return { ...plan, steadyHosts: steady };
    }
    default:
      return { ...plan, [list]: plan[list].toSpliced(at, size) };
  }
}

/** The work without `size` items of it. */
function withoutWork<Kind extends Work>(work: readonly Kind[], at: number, size: number): readonly Kind[] {
  return keepingWork(work, (_, index) => index < at || index >= at + size);
}

/** The work that is kept. A client waits instead of doing what is not, so that what is kept meets the same moments. */
export function keepingWork<Kind extends Work>(
  work: readonly Kind[],
  isKept: (item: Kind, index: number) => boolean,
): readonly Kind[] {
  const owedUs = new Map<number, number>();
  const kept: Kind[] = [];
  for (const [index, item] of work.entries()) {
    const thinkUs = item.thinkUs + (owedUs.get(item.client) ?? 0);
    if (isKept(item, index)) {
      kept.push({ ...item, thinkUs });
      owedUs.delete(item.client);
    } else {
      owedUs.set(item.client, thinkUs + usualAnswerUs);
    }
  }
  return kept;
}

/** The plan's hosts: members, and clients that have work. */
export function hostsOf(plan: Plan): readonly string[] {
  const clientsOf = (sort: string, work: readonly Work[] = []): readonly string[] =>
    [...new Set(work.map(({ client }) => client))].sort((a, b) => a - b).map((client) => `${sort}${client}`);
  return [
    ...plan.nodes.map(({ name }) => name),
    ...clientsOf('c', plan.operations),
    ...clientsOf('x', plan.transactions),
    ...clientsOf('r', plan.redisOperations),
    ...clientsOf('j', plan.jobs),
  ];
}

/** Hosts whose messages take drawn times. */
function varyingHosts(plan: Plan): readonly string[] {
  const steady = new Set(plan.steadyHosts);
  return hostsOf(plan).filter((name) => !steady.has(name));
}

function lengthOf(plan: Plan, list: ListName): number {
  if (list === 'settings') return Object.keys(plan.settings).length;
  return list === 'variance' ? varyingHosts(plan).length : (plan[list]?.length ?? 0);
}

/** What a reader of the plan has to read: faults, work, malformed input and scrapes. */
function itemsOf(plan: Plan): number {
  const lists = allLists.filter((list) => list !== 'settings' && list !== 'variance' && list !== 'paces');
  return lists.reduce((sum, list) => sum + lengthOf(plan, list), 0);
}
