/**
 * Finds why a plan fails: the things without which it passes, and for a fault the instant up to which it must strike.
 * Compares the failing run with the nearest passing one, and says in words what lies between them.
 */
import type { Plan, PlanFault } from '../plan/plan.ts';
import { shrinkPlan, withoutFloors } from '../plan/shrink.ts';
import type { CheckReport } from '../check/report.ts';
import type { Mark, Recording } from './recording.ts';

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

/** How plans are run. */
export interface ExplainRuns {
  /** Runs a plan, and records it. */
  readonly record: (plan: Plan) => Promise<Recording>;
  /** Runs a plan; the gravest invariant that it broke. */
  readonly judge: (plan: Plan) => Promise<CheckReport | undefined>;
}

/** A plan of more faults and operations is shrunk before each is left out once. */
const triedSinglyMax = 12;

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
    return { decisive: [], sentence: 'The plan breaks no promise: there is nothing to explain.', runs: 0 };
  }
  const count = idsOf(failing.plan).length;
  if (signal === undefined || count <= triedSinglyMax) return new Search(failing, runs, isOver).explain();
  const stormUs = failing.phases.find(({ name }) => name === 'storm')?.atUs ?? 0;
  const {
    plan,
    found,
    runs: before,
  } = await shrinkPlan(failing.plan, {
    findsFailure: async (candidate) =>
      breaks(await runs.judge(candidate), concern.invariant) ? candidate : undefined,
    signal,
    violationUs: Math.max(1, concern.atUs - stormUs),
  });
  if (found === undefined) return new Search(failing, runs, isOver).explain();
  const recording = await runs.record(plan);
  if (recording.concern === undefined) return new Search(failing, runs, isOver).explain();
  const small = await new Search(recording, runs, isOver).explain();
  const sentence = `Of the plan's ${count} faults and operations, ${idsOf(plan).length} are enough. ${small.sentence}`;
  return { ...small, sentence, runs: before + 1 + small.runs };
}

/** Whether a run breaks this invariant by what it saw, and not because it compared too little. */
function breaks(report: CheckReport | undefined, invariant: string): boolean {
  return report?.invariant === invariant && !report.vacuous;
}

/** The explanation of one small plan. */
class Search {
  readonly #failing: Recording;
  readonly #how: ExplainRuns;
  readonly #isOver: () => boolean;
  #runs = 0;
  /** Says how much was not tried; empty if all was. */
  #untried = '';

  constructor(failing: Recording, how: ExplainRuns, isOver: () => boolean) {
    this.#failing = failing;
    this.#how = how;
    this.#isOver = isOver;
  }

  async explain(): Promise<Explanation> {
    const { plan } = this.#failing;
    const decisive: string[] = [];
    // Faults first: if the time ends, what they say matters most.
    let left = idsOf(plan).length;
    for (const id of idsOf(plan)) {
      if (!this.#mayRun()) break;
      left -= 1;
      if (!(await this.#fails(without(plan, id)))) decisive.push(id);
    }
    if (left > 0) this.#untried = `The time ended before ${left} of its faults and operations were tried. `;
    const faults = plan.faults.filter(({ id }) => decisive.includes(id));
    for (const fault of faults) {
      const flip = await this.#flipOf(fault);
      if (flip === undefined) continue;
      const between = await this.#between(fault, flip);
      return this.#explained(decisive, `${momentSentence(fault, flip)}${between}`);
    }
    const [first] = faults;
    if (first === undefined) return this.#explained(decisive, 'No fault is needed.');
    return this.#explained(decisive, `Struck later, ${first.id} still breaks the promise.`);
  }

  #explained(decisive: readonly string[], moment: string): Explanation {
    const { plan, sentences } = this.#failing;
    if (decisive.length > 0) {
      const needed = decisive.map((id) => `${id} (${sentences.find((one) => one.id === id)?.text ?? id})`);
      const sentence = `${this.#untried}Without any one of these the plan passes: ${needed.join('; ')}. ${moment}`;
      return { decisive, sentence, runs: this.#runs };
    }
    const sentence =
      idsOf(plan).length === 0
        ? 'No fault and no operation of the plan is needed: the cluster breaks the promise by itself.'
        : this.#untried === ''
          ? 'No single fault or operation is decisive: the plan fails without any one of them.'
          : `${this.#untried}None of the others is decisive.`;
    return { decisive, sentence, runs: this.#runs };
  }

  #mayRun(): boolean {
    return this.#runs < explainRunsMax && !this.#isOver();
  }

  async #fails(candidate: Plan): Promise<boolean> {
    this.#runs += 1;
    const report = await this.#how.judge(withoutFloors(candidate));
    return breaks(report, this.#failing.concern?.invariant ?? '');
  }

  /** Moves the fault later, by growing steps, until the plan passes; then halves the step. */
  async #flipOf({ id }: PlanFault): Promise<Flip | undefined> {
    const { plan } = this.#failing;
    let failsByUs = 0;
    let passesByUs: number | undefined;
    for (let byUs = 200; byUs < 1_000_000 && passesByUs === undefined && this.#mayRun(); byUs *= 4) {
      if (await this.#fails(moved(plan, id, byUs))) failsByUs = byUs;
      else passesByUs = byUs;
    }
    if (passesByUs === undefined) return undefined;
    while (passesByUs - failsByUs > resolutionUs && this.#mayRun()) {
      const middle = Math.floor((failsByUs + passesByUs) / 2);
      if (await this.#fails(moved(plan, id, middle))) failsByUs = middle;
      else passesByUs = middle;
    }
    return { failsByUs, passesByUs };
  }

  /** What the fault's hosts do in the passing run between the two instants: the decision that turns the verdict. */
  async #between({ id, targets }: PlanFault, { failsByUs, passesByUs }: Flip): Promise<string> {
    this.#runs += 1;
    const passing = await this.#how.record(moved(this.#failing.plan, id, passesByUs));
    const struck = passing.marks.find(({ kind, text }) => kind === 'fault' && text.startsWith(`${id}: `));
    if (struck === undefined) return '';
    const fromUs = struck.atUs - (passesByUs - failsByUs);
    const isWithin = (atUs: number): boolean => atUs >= fromUs && atUs <= struck.atUs;
    const lanes = targets.map((target) => passing.lanes.findIndex(({ name }) => name === target));
    const deeds = passing.marks.filter(
      ({ lane, atUs, kind }) => lanes.includes(lane) && isWithin(atUs) && deedKinds.includes(kind),
    );
    const nameOf = (lane: number): string => passing.lanes[lane]?.name ?? '';
    const told = deeds
      .toSorted((left, right) => deedKinds.indexOf(left.kind) - deedKinds.indexOf(right.kind))
      .slice(0, deedsMax)
      .map(({ lane, atUs, kind, text }) => `at ${seconds(atUs)} ${nameOf(lane)} ${deedOf(kind, text)}`);
    if (told.length === 0) {
      const message = passing.messages.find(
        ({ from, to, sentUs, arrivedUs }) =>
          (lanes.includes(from) && isWithin(sentUs)) || (lanes.includes(to) && isWithin(arrivedUs)),
      );
      if (message === undefined) return '';
      const what = passing.messageKinds[message.kind] ?? 'a message';
      const sent = lanes.includes(message.from) && isWithin(message.sentUs);
      told.push(
        sent
          ? `at ${seconds(message.sentUs)} ${nameOf(message.from)} sends ${what} to ${nameOf(message.to)}`
          : `at ${seconds(message.arrivedUs)} ${nameOf(message.to)} receives ${what} from ${nameOf(message.from)}`,
      );
    }
    return ` Between these two instants: ${told.join('; ')}. Before it the fault breaks the promise, after it it does not.`;
  }
}

/** What a host decides or makes durable, the most telling first. */
const deedKinds: readonly Mark['kind'][] = ['step', 'ring', 'sync', 'log'];
/** Most deeds that a sentence names. */
const deedsMax = 3;

function deedOf(kind: Mark['kind'], text: string): string {
  if (kind === 'sync') return `makes ${/path=(\S+)/.exec(text)?.[1] ?? 'a file'} durable`;
  return `takes the step ${text}`;
}

function seconds(us: number): string {
  return `${(us / 1_000_000).toFixed(4)} s`;
}

function momentSentence({ id }: PlanFault, { failsByUs, passesByUs }: Flip): string {
  const [lastUs, firstUs] = [failsByUs, passesByUs].map((us) => `${(us / 1000).toFixed(2)} ms`);
  return `The moment matters: ${id} breaks the promise if it strikes up to ${lastUs} later, and not if it strikes ${firstUs} later.`;
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

function moved(plan: Plan, id: string, byUs: number): Plan {
  const later = ({ when }: PlanFault): PlanFault['when'] =>
    'atUs' in when ? { atUs: when.atUs + byUs } : { ...when, delayUs: when.delayUs + byUs };
  const faults = plan.faults.map((fault) => (fault.id === id ? { ...fault, when: later(fault) } : fault));
  return { ...plan, faults };
}
