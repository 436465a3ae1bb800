/**
 * Shrinks a failing plan: removes parts for as long as the run still breaks the same invariant. Delta debugging (Zeller
 * and Hildebrandt, "Simplifying and Isolating Failure-Inducing Input", 2002) over all lists of a plan at once: first
 * each list of items whole, then halves of each, quarters, and so on, so that whatever the time allows, the largest parts
 * have been tried; then settings and the like. Then single steps, in a circle: one item less, one fault milder, a shorter
 * storm. Once no step of a whole circle fails, the plan is 1-minimal: no single step leads to a smaller plan that fails.
 *
 * Beside what a plan does, its settings shrink to the defaults, and the order of its messages: the latencies of hosts
 * become steady (`Plan.steadyHosts`), so that only those vary that the failure needs.
 *
 * Ids and the seed stay, so that what remains means what it meant. The order of candidates depends on their outcomes
 * alone: without a limit of time the same failure shrinks to the same plan everywhere.
 */
import { Deferred } from '../../engine/base/deferred.ts';
import type { BusyTimes } from './busy.ts';
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

/** What a failing run tells of its moments; what is absent is not known. */
export interface RunTimes {
  /** The violation came within this time of the storm's beginning, in virtual microseconds: what follows goes first. */
  readonly violationUs?: number;
  readonly busy?: BusyTimes;
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
  /** Of the run of the plan. */
  readonly times?: RunTimes;
  /** Of a candidate's run. */
  readonly timesOf?: (found: Found) => RunTimes;
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
      /** For each list, how many items are removed at once; 0 for the lists whose turn it is not. */
      readonly sizes: readonly number[];
      /** Items of the plan, or what else can be removed. */
      readonly turn: 'items' | 'rest';
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
  const { suspected = [], timesOf } = search;
  const aborted = abortionOf(signal);
  const rejected = new Set<string>();
  let small = withoutFloors(withoutRecord(plan));
  let found: Found | undefined;
  let runs = 0;
  let candidates = firstCandidates(small, suspected, search.times ?? {});
  /** The candidates that run now, in their order; only the first one's outcome is awaited. */
  let running: { readonly candidate: SmallerPlan; readonly outcome: Promise<Found | undefined> }[] = [];
  for (;;) {
    while (running.length < width && runs + running.length < runsMax) {
      const candidate = nextOf(candidates, rejected);
      if (candidate === undefined) break;
      const outcome = findsFailure(candidate.plan);
      // An outcome that nothing awaits any more must not count as one that nothing handles.
      outcome.catch(() => undefined);
      running.push({ candidate, outcome });
    }
    const first = running.shift();
    if (first === undefined) return { plan: small, found, runs, minimal: runs < runsMax };
    if (signal?.aborted === true) break;
    const outcome = await Promise.race([aborted, first.outcome]);
    if (outcome === 'aborted') break;
    runs += 1;
    if (outcome === undefined) rejected.add(JSON.stringify(first.candidate.plan));
    else {
      found = outcome;
      small = first.candidate.plan;
      // Those after it are parts of the larger plan.
      running = [];
      candidates = nextCandidates(small, first.candidate.place, timesOf?.(found) ?? {});
    }
    search.onProgress?.({ runs, items: itemsOf(small) });
  }
  return { plan: small, found, runs, minimal: false };
}

/** The next candidate that was not rejected before; undefined if there are no more. */
function nextOf(candidates: Iterator<SmallerPlan>, rejected: ReadonlySet<string>): SmallerPlan | undefined {
  for (;;) {
    const next = candidates.next();
    if (next.done === true) return undefined;
    if (!rejected.has(JSON.stringify(next.value.plan))) return next.value;
  }
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
  { violationUs, busy }: RunTimes,
): Generator<SmallerPlan> {
  for (const part of suspected) yield { plan: part, place: beginning(part, allLists) };
  if (violationUs !== undefined && violationUs >= stormUsMin && violationUs < plan.stormUs) {
    const shorter = endedAt(plan, violationUs);
    yield { plan: shorter, place: beginning(shorter, allLists) };
  }
  yield* smallerPlans(plan, { busy });
}

/** A storm is ended at its violation anew if that makes it shorter than this part of it. */
const endedAgainBelow = 0.75;

function* nextCandidates(
  plan: Plan,
  from: ShrinkPlace,
  { violationUs, busy }: RunTimes,
): Generator<SmallerPlan> {
  if (
    violationUs !== undefined &&
    violationUs >= stormUsMin &&
    violationUs < plan.stormUs * endedAgainBelow
  ) {
    yield { plan: endedAt(plan, violationUs), place: from };
  }
  yield* smallerPlans(plan, { from, busy });
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

/** What a reader of the plan has to read: faults, work, malformed input, scrapes and operators' work. */
const itemLists = [
  ...(['faults', 'operations', 'transactions', 'redisOperations', 'jobs'] as const),
  ...(['malformedInput', 'scrapes', 'bucketChanges', 'backups'] as const),
] as const;

/** What can be removed. `settings`: back to the defaults. `variance`: hosts whose messages take varying times. */
const allLists = [...itemLists, 'paces', 'settings', 'variance'] as const;

type ListName = (typeof allLists)[number];

/** Chunks of items are removed first: in a search that ends in time, they are what makes a plan short. */
const isItemList = (name: ListName): boolean => itemLists.some((list) => list === name);

/** Without the settings: some are valid only together, which only a cluster's making tells. */
export const listsOfValidPlans: readonly ListName[] = allLists.filter((list) => list !== 'settings');

/** Which smaller plans: from a place on, of these lists; clients wait as long as they were busy with what is left out. */
interface SmallerPlans {
  readonly from?: ShrinkPlace | undefined;
  readonly lists?: readonly ListName[];
  readonly busy?: BusyTimes | undefined;
}

/**
 * The candidates smaller than the plan, in the order in which to try them, from a place on. A caller that keeps one
 * continues with the candidates of that plan, from its place.
 */
export function* smallerPlans(
  plan: Plan,
  { from, lists = allLists, busy = {} }: SmallerPlans = {},
): Generator<SmallerPlan, undefined> {
  const place = from ?? beginning(plan, lists);
  if (place.phase === 'chunks') {
    yield* withoutChunks(plan, place, lists, busy);
    if (place.turn === 'items') yield* withoutChunks(plan, placeOfTurn(plan, lists, 'rest'), lists, busy);
  }
  yield* afterSingleSteps(plan, place.phase === 'singles' ? place.at : 0, lists, busy);
}

type ChunkPlace = ShrinkPlace & { readonly phase: 'chunks' };

function beginning(plan: Plan, lists: readonly ListName[]): ChunkPlace {
  return placeOfTurn(plan, lists, 'items');
}

function placeOfTurn(plan: Plan, lists: readonly ListName[], turn: ChunkPlace['turn']): ChunkPlace {
  const isTurn = (name: ListName): boolean => isItemList(name) === (turn === 'items');
  const sizes = lists.map((name) => (isTurn(name) ? lengthOf(plan, name) : 0));
  return { phase: 'chunks', turn, sizes, list: 0, at: 0 };
}

/** Each list whole, then halves, quarters, … of each, and half of the storm every time. */
function* withoutChunks(
  plan: Plan,
  from: ChunkPlace,
  lists: readonly ListName[],
  busy: BusyTimes,
): Generator<SmallerPlan> {
  const { turn } = from;
  let { sizes, list: first, at: firstAt } = from;
  for (;;) {
    for (const [list, name] of lists.entries()) {
      const [size = 0, length] = [sizes[list], lengthOf(plan, name)];
      if (list < first || size < 1) continue;
      for (let at = list === first ? firstAt : 0; at < length; at += size) {
        yield {
          plan: without(plan, { list: name, at, size }, busy),
          place: { phase: 'chunks', turn, sizes, list, at },
        };
      }
    }
    const shorter = first < lists.length || firstAt === 0 ? shortened(plan) : undefined;
    if (shorter !== undefined) {
      yield { plan: shorter, place: { phase: 'chunks', turn, sizes, list: lists.length, at: 1 } };
    }
    sizes = lists.map((name, list) => Math.floor(Math.min(sizes[list] ?? 0, lengthOf(plan, name)) / 2));
    // Items are removed one by one before the rest is touched; of the rest, that is done at the end.
    const least = turn === 'items' ? 1 : 2;
    if (sizes.every((size) => size < least)) return;
    sizes = sizes.map((size) => (size < least ? 0 : size));
    [first, firstAt] = [0, 0];
  }
}

/** Every single step once, in a circle from the step `from` on. */
function* afterSingleSteps(
  plan: Plan,
  from: number,
  lists: readonly ListName[],
  busy: BusyTimes,
): Generator<SmallerPlan> {
  const steps = singleSteps(plan, lists, busy);
  for (let tried = 0; tried < steps.length; tried++) {
    const at = (from + tried) % steps.length;
    const smaller = steps[at]?.();
    if (smaller !== undefined) yield { plan: smaller, place: { phase: 'singles', at } };
  }
}

/** Everything that makes the plan smaller by one step. */
function singleSteps(
  plan: Plan,
  lists: readonly ListName[],
  busy: BusyTimes,
): readonly (() => Plan | undefined)[] {
  const removals = lists.flatMap((name) =>
    Array.from(
      { length: lengthOf(plan, name) },
      (_, at) => () => without(plan, { list: name, at, size: 1 }, busy),
    ),
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
  readonly id: string;
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

interface Chunk {
  readonly list: ListName;
  readonly at: number;
  readonly size: number;
}

/** The plan without `size` items of a list. */
function without(plan: Plan, { list, at, size }: Chunk, busy: BusyTimes): Plan {
  const workWithout = <Kind extends Work>(work: readonly Kind[]): readonly Kind[] =>
    keepingWork(work, (_, index) => index < at || index >= at + size, busy);
  switch (list) {
    case 'operations':
      return { ...plan, operations: workWithout(plan.operations) };
    case 'transactions':
      return { ...plan, transactions: workWithout(plan.transactions) };
    case 'redisOperations':
      return { ...plan, redisOperations: workWithout(plan.redisOperations ?? []) };
    case 'jobs':
      return { ...plan, jobs: workWithout(plan.jobs ?? []) };
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

/**
 * The work that is kept. A client waits instead of doing what is not, so that what is kept meets the same moments:
 * as long as it was `busy` with it, or as long as an answer usually takes.
 */
export function keepingWork<Kind extends Work>(
  work: readonly Kind[],
  isKept: (item: Kind, index: number) => boolean,
  busy: BusyTimes,
): readonly Kind[] {
  const owedUs = new Map<number, number>();
  const kept: Kind[] = [];
  for (const [index, item] of work.entries()) {
    const thinkUs = item.thinkUs + (owedUs.get(item.client) ?? 0);
    if (isKept(item, index)) {
      kept.push({ ...item, thinkUs });
      owedUs.delete(item.client);
    } else {
      owedUs.set(item.client, thinkUs + (busy[item.id] ?? usualAnswerUs));
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

/** How much a reader of the plan has to read. */
function itemsOf(plan: Plan): number {
  return itemLists.reduce((sum, list) => sum + lengthOf(plan, list), 0);
}
