/**
 * Finds why a plan fails: the things without which it passes, and for a fault the instant up to which it must strike.
 * Compares the failing run with the nearest passing one, and says in words what lies between them.
 */
import type { Plan, PlanFault } from '../plan/plan.ts';
import { shrinkPlan } from '../plan/shrink.ts';
import type { Recording } from './recording.ts';

/** Most runs of one explanation. */
export const explainRunsMax = 60;
/** Neighbours whose fault strikes so much later or less are not told apart, in microseconds. */
const resolutionUs = 20;

/** Why a plan fails. */
export interface Explanation {
  /** Ids of the faults and operations without any one of which the plan passes. */
  readonly decisive: readonly string[];
  /** The explanation in words. */
  readonly sentence: string;
  readonly runs: number;
}

/** Runs a plan, and records it. */
export type RecordPlan = (plan: Plan) => Promise<Recording>;

/** A plan of more faults and operations is shrunk before each is left out once. */
const triedSinglyMax = 12;

/**
 * Explains a failing plan. `failing`: the recording of its run. `isOver`: no further run is begun; a large plan is
 * shrunk until `signal` is aborted.
 */
export async function explainPlan(
  failing: Recording,
  record: RecordPlan,
  isOver: () => boolean = () => false,
  signal?: AbortSignal,
): Promise<Explanation> {
  const count = idsOf(failing.plan).length;
  if (failing.concern === undefined || signal === undefined || count <= triedSinglyMax)
    return explainSmall(failing, record, isOver);
  const { invariant } = failing.concern;
  const { found, runs } = await shrinkPlan(failing.plan, {
    findsFailure: async (candidate) => {
      const recording = await record(candidate);
      return recording.concern?.invariant === invariant ? recording : undefined;
    },
    signal,
  });
  if (found === undefined) return explainSmall(failing, record, isOver);
  const small = await explainSmall(found, record, isOver);
  const sentence = `Of the plan's ${count} faults and operations, ${idsOf(found.plan).length} are enough. ${small.sentence}`;
  return { ...small, sentence, runs: runs + small.runs };
}

async function explainSmall(
  failing: Recording,
  record: RecordPlan,
  isOver: () => boolean,
): Promise<Explanation> {
  const { plan, concern } = failing;
  if (concern === undefined) {
    return { decisive: [], sentence: 'The plan breaks no promise: there is nothing to explain.', runs: 0 };
  }
  let runs = 0;
  const mayRun = (): boolean => runs < explainRunsMax && !isOver();
  const fails = async (candidate: Plan): Promise<boolean> => {
    runs += 1;
    const { concern: broken } = await record(candidate);
    return broken?.invariant === concern.invariant;
  };
  const decisive: string[] = [];
  for (const id of idsOf(plan)) {
    if (!mayRun()) break;
    if (!(await fails(without(plan, id)))) decisive.push(id);
  }
  const faults = plan.faults.filter(({ id }) => decisive.includes(id));
  let [fault] = faults;
  let flip: Flip | undefined;
  for (const one of faults) {
    flip = await flipOf(plan, one, fails, mayRun);
    if (flip === undefined) continue;
    fault = one;
    break;
  }
  return { decisive, sentence: sentenceOf(failing, decisive, fault, flip), runs };
}

function idsOf({
  faults,
  operations,
  transactions,
  redisOperations = [],
  jobs = [],
}: Plan): readonly string[] {
  return [...faults, ...operations, ...transactions, ...redisOperations, ...jobs].map(({ id }) => id);
}

function without(plan: Plan, id: string): Plan {
  const rest = <T extends { readonly id: string }>(items: readonly T[]): readonly T[] =>
    items.filter((item) => item.id !== id);
  return {
    ...plan,
    faults: rest(plan.faults),
    operations: rest(plan.operations),
    transactions: rest(plan.transactions),
    ...(plan.redisOperations === undefined ? {} : { redisOperations: rest(plan.redisOperations) }),
    ...(plan.jobs === undefined ? {} : { jobs: rest(plan.jobs) }),
  };
}

/** Two instants of one fault, as delays from where the plan has it: with the first the plan fails, with the second not. */
interface Flip {
  readonly failsByUs: number;
  readonly passesByUs: number;
}

/** Moves the fault later, by growing steps, until the plan passes; then halves the step. */
async function flipOf(
  plan: Plan,
  fault: PlanFault,
  fails: (candidate: Plan) => Promise<boolean>,
  mayRun: () => boolean,
): Promise<Flip | undefined> {
  let failsByUs = 0;
  let passesByUs: number | undefined;
  for (let byUs = 200; byUs < 1_000_000 && passesByUs === undefined && mayRun(); byUs *= 4) {
    if (await fails(moved(plan, fault.id, byUs))) failsByUs = byUs;
    else passesByUs = byUs;
  }
  if (passesByUs === undefined) return undefined;
  while (passesByUs - failsByUs > resolutionUs && mayRun()) {
    const middle = Math.floor((failsByUs + passesByUs) / 2);
    if (await fails(moved(plan, fault.id, middle))) failsByUs = middle;
    else passesByUs = middle;
  }
  return { failsByUs, passesByUs };
}

function moved(plan: Plan, id: string, byUs: number): Plan {
  const later = ({ when }: PlanFault): PlanFault['when'] =>
    'atUs' in when ? { atUs: when.atUs + byUs } : { ...when, delayUs: when.delayUs + byUs };
  const faults = plan.faults.map((fault) => (fault.id === id ? { ...fault, when: later(fault) } : fault));
  return { ...plan, faults };
}

function sentenceOf(
  failing: Recording,
  decisive: readonly string[],
  fault: PlanFault | undefined,
  flip: Flip | undefined,
): string {
  const { plan, sentences } = failing;
  if (decisive.length === 0) {
    return idsOf(plan).length === 0
      ? 'No fault and no operation of the plan is needed: the cluster breaks the promise by itself.'
      : 'No single fault or operation is decisive: the plan fails without any one of them.';
  }
  const needed = decisive.map((id) => `${id} (${sentences.find((one) => one.id === id)?.text ?? id})`);
  const first = `Without any one of these the plan passes: ${needed.join('; ')}.`;
  if (fault === undefined) return `${first} No fault is needed.`;
  if (flip === undefined) return `${first} Struck later, ${fault.id} still breaks the promise.`;
  const [lastUs, firstUs] = [flip.failsByUs, flip.passesByUs].map((us) => `${(us / 1000).toFixed(2)} ms`);
  return `${first} The moment matters: ${fault.id} breaks the promise if it strikes up to ${lastUs} later, and not if it strikes ${firstUs} later.`;
}
