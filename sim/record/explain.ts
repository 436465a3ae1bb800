/**
 * Finds why a plan fails. Runs the plan's neighbours, which differ from it by one thing, and looks for the nearest one
 * that passes: without a fault or an operation, with one moment moved, with one message of another delay. Then says in
 * words what lies between the two runs (facts.ts).
 */
import type { Begun } from '../plan/busy.ts';
import { busyTimesOf, plannedIds } from '../plan/busy.ts';
import type { Plan } from '../plan/plan.ts';
import { idsOf } from '../plan/plan-items.ts';
import { shrinkPlan } from '../plan/shrink.ts';
import type { Suspicion } from '../plan/suspects.ts';
import { suspectedParts } from '../plan/suspects.ts';
import { isSameBreach } from '../runner/signature.ts';
import type { Broken, Explanation, ExplainRuns } from './explanation.ts';
import { explained, triedSinglyMax } from './explanation.ts';
import { NeighbourSearch } from './neighbour-search.ts';
import { seconds } from './places.ts';
import type { RecordedOperation, Recording } from './recording.ts';

/**
 * Explains a failing plan. `failing`: the recording of its run. `isOver`: no further run is begun; a large plan is
 * shrunk until `signal` is aborted.
 */
export async function explainPlan(
  failing: Recording,
  runs: ExplainRuns,
  isOver: () => boolean = () => false,
  signal?: AbortSignal,
): Promise<Explanation> {
  const { concern } = failing;
  if (concern === undefined) {
    return explained([], ['The plan breaks no promise: there is nothing to explain.'], 0);
  }
  const count = idsOf(failing.plan).length;
  const others = otherBreaches(failing);
  if (signal === undefined || count <= triedSinglyMax) {
    const { decisive, lines, runs: made } = await new NeighbourSearch(failing, runs, isOver).explain();
    return explained(decisive, [...lines, ...others], made);
  }
  const { plan, runs: before } = await smallerPlan(failing, concern, runs, signal);
  const recording = plan === failing.plan ? failing : await runs.record(plan);
  const small = recording.concern?.invariant === concern.invariant ? recording : failing;
  const { decisive, lines, runs: after } = await new NeighbourSearch(small, runs, isOver).explain();
  const left = idsOf(small.plan).length;
  const enough = left < count ? [`Of the plan's ${count} faults and operations, ${left} are enough.`] : [];
  return explained(decisive, [...lines, ...enough, ...others], before + 1 + after);
}

/** Most other breaches that are shown, and most characters of each. */
const othersMax = 3;
const otherCharactersMax = 160;

/** What else the failing run breaks, the first breach first: of one fault of the engine, another promise may tell more. */
function otherBreaches({ result, concern }: Recording): readonly string[] {
  const told = result.reports
    .flatMap(({ invariant, ok, vacuous, firstBad }) =>
      ok || vacuous || firstBad === undefined || invariant === concern?.invariant
        ? []
        : [{ invariant, ...firstBad }],
    )
    .toSorted((left, right) => left.atUs - right.atUs)
    .slice(0, othersMax)
    .map(({ invariant, atUs, text }) => {
      const short = text.length > otherCharactersMax ? `${text.slice(0, otherCharactersMax)}…` : text;
      return `${invariant} at ${seconds(atUs)} (${short.replace(/\.$/, '')})`;
    });
  return told.length === 0 ? [] : [`The whole run also breaks ${told.join('; ')}.`];
}

/** A plan of no more faults and operations is small enough: the search leaves each out once. */
const smallEnough = 4;

/** The smallest plan that fails the same way, of those tried in time: first parts that the violation suggests, then step by step. */
async function smallerPlan(
  failing: Recording,
  concern: NonNullable<Recording['concern']>,
  { judge }: ExplainRuns,
  signal: AbortSignal,
): Promise<{ readonly plan: Plan; readonly runs: number }> {
  const stormUs = failing.phases.find(({ name }) => name === 'storm')?.atUs ?? 0;
  const first = failing.result.reports.find(({ invariant }) => invariant === concern.invariant);
  let runs = 0;
  let smallest = failing.plan;
  const sameBreach = async (candidate: Plan): Promise<Broken | undefined> => {
    runs += 1;
    const broken = await judge(candidate, concern.invariant);
    const isSame = broken !== undefined && (first === undefined || isSameBreach(broken.report, first));
    // The time may be over with this very run: its outcome counts nevertheless.
    if (isSame) smallest = candidate;
    return isSame ? broken : undefined;
  };
  const { plan } = failing;
  const done = new AbortController();
  const stopWhereSmall = (items: number): void => {
    if (items <= smallEnough) done.abort();
  };
  stopWhereSmall(idsOf(plan).length);
  const begun = begunIn(failing);
  const times = { violationUs: Math.max(1, concern.atUs - stormUs), busy: busyTimesOf(plan, begun) };
  await shrinkPlan(plan, {
    findsFailure: sameBreach,
    signal: AbortSignal.any([signal, done.signal]),
    suspected: suspectedParts(plan, suspicionOf(failing, concern, begun), times),
    times,
    timesOf: ({ report: { firstBad }, busy }) => ({
      ...(firstBad === undefined ? {} : { violationUs: Math.max(1, firstBad.atUs - stormUs) }),
      ...(busy === undefined ? {} : { busy }),
    }),
    onProgress: ({ items }) => stopWhereSmall(items),
  });
  return { plan: smallest, runs };
}

/** What clients began; listings follow jobs, and are none of the plan's items. */
function begunIn({ operations, lanes }: Recording): readonly (RecordedOperation & Begun)[] {
  return operations
    .filter(({ id }) => id !== '')
    .map((one) => ({ ...one, client: lanes[one.lane]?.name ?? '' }));
}

function suspicionOf(
  { plan, subjects, lanes, operations }: Recording,
  { subjects: about, lanes: named, operations: concerned }: NonNullable<Recording['concern']>,
  begun: readonly (RecordedOperation & Begun)[],
): Suspicion {
  const names = about.flatMap((subject) => subjects[subject] ?? []);
  const xids = new Set(about.filter((subject) => xidForm.test(subjects[subject] ?? '')));
  const texts = new Set(concerned.map((at) => operations[at]?.text));
  const ids = [...plannedIds(plan, begun)].flatMap(([one, id]) =>
    texts.has(one.text) || one.about.some((subject) => xids.has(subject)) ? [id] : [],
  );
  const coordinators = names.flatMap((name) => xidForm.exec(name)?.[1] ?? []);
  return {
    subjects: names,
    hosts: [...named.flatMap((lane) => lanes[lane]?.name ?? []), ...coordinators],
    ids,
  };
}

/** The name of a transaction: its coordinator, that node's id in this incarnation, a number. */
const xidForm = /^(\w+)-[0-9a-f]{12}-\d+$/;
