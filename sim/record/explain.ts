/**
 * Finds why a plan fails. Runs the plan's neighbours, which differ from it by one thing, and looks for the nearest one
 * that passes: without a fault or an operation, with one moment moved, with one message of another delay. Then says in
 * words what lies between the two runs (facts.ts).
 */
import { idsOf } from '../plan/plan-items.ts';
import { shrinkPlan } from '../plan/shrink.ts';
import { isSameBreach } from '../runner/signature.ts';
import type { Explanation, ExplainRuns } from './explanation.ts';
import { explained, triedSinglyMax } from './explanation.ts';
import { NeighbourSearch } from './neighbour-search.ts';
import type { Recording } from './recording.ts';

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
  if (signal === undefined || count <= triedSinglyMax)
    return new NeighbourSearch(failing, runs, isOver).explain();
  const stormUs = failing.phases.find(({ name }) => name === 'storm')?.atUs ?? 0;
  const first = failing.result.reports.find(({ invariant }) => invariant === concern.invariant);
  const {
    plan,
    found,
    runs: before,
  } = await shrinkPlan(failing.plan, {
    findsFailure: async (candidate) => {
      const broken = await runs.judge(candidate, concern.invariant);
      const isSame = broken !== undefined && (first === undefined || isSameBreach(broken, first));
      return isSame ? candidate : undefined;
    },
    signal,
    violationUs: Math.max(1, concern.atUs - stormUs),
  });
  const recording = found === undefined ? failing : await runs.record(plan);
  const small = recording.concern?.invariant === concern.invariant ? recording : failing;
  const { decisive, lines, runs: after } = await new NeighbourSearch(small, runs, isOver).explain();
  const left = idsOf(small.plan).length;
  const enough = left < count ? [`Of the plan's ${count} faults and operations, ${left} are enough.`] : [];
  return explained(decisive, [...lines, ...enough], before + 1 + after);
}
