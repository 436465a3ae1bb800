/**
 * The search for the nearest passing neighbours of one failing plan, and what they say about its cause. A run is the
 * costly thing: the most telling neighbours are run first, until the time is over.
 */
import type { Plan } from '../plan/plan.ts';
import { idsOf, withoutItem } from '../plan/plan-items.ts';
import { judgedAlone } from '../plan/shrink.ts';
import { deedOf } from './event-words.ts';
import type { Explanation, ExplainRuns } from './explanation.ts';
import { explained, explainRunsMax, triedSinglyMax } from './explanation.ts';
import { decisivePacket } from './decisive-packet.ts';
import { moved, reachOf, timedIds } from './neighbours.ts';
import type { Mark, Recording } from './recording.ts';
import { factsOf } from './facts.ts';
import { placeOf, seconds } from './places.ts';

/** Neighbours whose moment is so near are not told apart, in microseconds. */
const resolutionUs = 20;
/** Most faults whose moment is sought. */
const movedMax = 3;
/** Faults and operations that are shown in full; of the others the ids are shown. */
const toldMax = 3;

/** Two moments of one fault, as delays from where the plan has it: at the first it fails, at the second not. */
export interface Flip {
  readonly id: string;
  readonly failsByUs: number;
  readonly passesByUs: number;
}

/** The explanation of one small plan. */
export class NeighbourSearch {
  readonly #failing: Recording;
  readonly #how: ExplainRuns;
  readonly #isOver: () => boolean;
  readonly #recordings = new Map<string, Promise<Recording>>();
  #runs = 0;
  /** Faults and operations that were not left out singly. */
  #untried = 0;

  constructor(failing: Recording, how: ExplainRuns, isOver: () => boolean) {
    this.#failing = failing;
    this.#how = how;
    this.#isOver = isOver;
  }

  async explain(): Promise<Explanation> {
    const { plan } = this.#failing;
    const timed = timedIds(plan);
    const faults = await this.#decisiveOf(timed);
    const flips = await this.#flips(faults);
    const lines: string[] = [];
    let passing: Plan | undefined;
    for (const flip of flips) {
      lines.push(await this.#momentLine(flip));
      passing ??= moved(plan, flip.id, flip.passesByUs);
    }
    if (flips.every(({ passesByUs }) => Math.abs(passesByUs) > nearUs)) {
      const packet = await decisivePacket(this.#failing, {
        fails: (candidate) => this.#fails(candidate),
        record: (candidate) => this.#record(candidate),
        mayRun: () => this.#mayRun(),
      });
      if (packet !== undefined) lines.unshift(packet.line);
      passing = packet?.plan ?? passing;
    }
    // Operations last: that a shrunk plan needs each of its operations is no news.
    const work = idsOf(plan).filter((id) => !timed.includes(id));
    const isSmall = idsOf(plan).length <= triedSinglyMax;
    const operations = isSmall ? await this.#decisiveOf(work) : [];
    if (!isSmall) this.#untried += work.length;
    const [fault] = faults;
    if (passing === undefined && fault !== undefined) passing = withoutItem(plan, fault);
    const neighbour = passing === undefined ? undefined : await this.#record(passing);
    const facts = factsOf(this.#failing, neighbour?.concern === undefined ? neighbour : undefined);
    const decisive = [...faults, ...operations];
    return explained(decisive, [...facts, this.#needsLine(decisive), ...lines].filter(Boolean), this.#runs);
  }

  /** Those of the faults or operations without which the plan passes. */
  async #decisiveOf(ids: readonly string[]): Promise<readonly string[]> {
    const { plan } = this.#failing;
    const outcomes = await this.#outcomes(ids.map((id) => withoutItem(plan, id)));
    this.#untried += ids.length - outcomes.length;
    return ids.filter((_, at) => outcomes[at] === false);
  }

  /** Runs plans in their order; fewer outcomes than plans if the time ended. */
  async #outcomes(plans: readonly Plan[]): Promise<readonly boolean[]> {
    const outcomes: boolean[] = [];
    for (const plan of plans) {
      if (!this.#mayRun()) break;
      outcomes.push(await this.#fails(plan));
    }
    return outcomes;
  }

  /** The moments of a fault at which the verdict turns, the narrowest first. */
  async #flips(faults: readonly string[]): Promise<readonly Flip[]> {
    const { plan } = this.#failing;
    const flips: Flip[] = [];
    for (const id of faults.slice(0, movedMax)) {
      const { earlierUs, laterUs } = reachOf(plan, id);
      for (const flip of [await this.#flipOf(id, laterUs, 1), await this.#flipOf(id, earlierUs, -1)])
        if (flip !== undefined) flips.push(flip);
    }
    return narrowest(flips);
  }

  /** Moves it by growing steps until the plan passes; then halves the step. `sign`: 1 later, -1 earlier. */
  async #flipOf(id: string, reachUs: number, sign: 1 | -1): Promise<Flip | undefined> {
    const { plan } = this.#failing;
    let failsByUs = 0;
    let passesByUs: number | undefined;
    for (let byUs = 200; byUs < reachUs && passesByUs === undefined && this.#mayRun(); byUs *= 4) {
      if (await this.#fails(moved(plan, id, sign * byUs))) failsByUs = byUs;
      else passesByUs = byUs;
    }
    if (passesByUs === undefined) return undefined;
    while (passesByUs - failsByUs > Math.max(resolutionUs, passesByUs / 200) && this.#mayRun()) {
      const middle = Math.floor((failsByUs + passesByUs) / 2);
      if (await this.#fails(moved(plan, id, sign * middle))) failsByUs = middle;
      else passesByUs = middle;
    }
    return { id, failsByUs: sign * failsByUs, passesByUs: sign * passesByUs };
  }

  /** Up to when it strikes, and the event before, or after, which it must: in words. */
  async #momentLine(flip: Flip): Promise<string> {
    const { id, failsByUs, passesByUs } = flip;
    const { plan } = this.#failing;
    const isLater = passesByUs > 0;
    const [fails, passes] = [failsByUs, passesByUs].map((us) => `${(Math.abs(us) / 1000).toFixed(2)} ms`);
    const direction = isLater ? 'later' : 'earlier';
    const both = `${id} breaks the promise if it strikes up to ${fails} ${direction}, and not if it strikes ${passes} ${direction}`;
    // Of both runs, the one in which it comes later has the event that lies between the two moments before it.
    const later = this.#mayRun()
      ? await this.#record(moved(plan, id, isLater ? passesByUs : failsByUs))
      : undefined;
    const strikes = later && this.#strikesOf(later, id);
    if (later === undefined || strikes === undefined) return `The moment decides: ${both}.`;
    const fromUs = strikes.atUs - Math.abs(passesByUs - failsByUs);
    const deed = deedWithin(later, strikes.lanes, fromUs, strikes.atUs);
    if (deed === undefined) return `The moment decides: ${both}.`;
    return `The moment decides: ${id} must come ${isLater ? 'before' : 'after'} ${deed}. (It${both.slice(id.length)}.)`;
  }

  /** When, and at which hosts, the fault struck in that run. */
  #strikesOf(
    run: Recording,
    id: string,
  ): { readonly atUs: number; readonly lanes: readonly number[] } | undefined {
    const struck = run.marks.filter(({ kind, text }) => kind === 'fault' && text.startsWith(`${id}: `));
    const [first] = struck;
    const change = run.operations.find((one) => one.id === id);
    if (change !== undefined) return { atUs: change.invokedUs, lanes: [change.node] };
    if (first === undefined) return undefined;
    return { atUs: first.atUs, lanes: struck.map(({ lane }) => lane) };
  }

  #needsLine(decisive: readonly string[]): string {
    const { plan, sentences } = this.#failing;
    if (idsOf(plan).length === 0)
      return 'No fault and no operation of the plan is needed: the cluster breaks the promise by itself.';
    const all = idsOf(plan).length;
    const untried =
      this.#untried === 0
        ? ''
        : ` ${this.#untried} of its ${all} faults and operations were not left out singly.`;
    const short =
      all <= toldMax ? ` The plan: ${sentences.map(({ id, text }) => `${id} (${text})`).join('; ')}.` : '';
    if (this.#untried >= all)
      return `The time ended before any of the plan's ${all} faults and operations was left out singly.${short}`;
    if (decisive.length === 0) {
      return this.#untried === 0
        ? 'No single fault or operation is decisive: the plan fails without any one of them.'
        : `None of the faults and operations that were left out singly is decisive.${untried}${short}`;
    }
    const told = decisive
      .slice(0, toldMax)
      .map((id) => `${id} (${sentences.find((one) => one.id === id)?.text ?? id})`);
    const more = decisive.length > toldMax ? `; ${decisive.slice(toldMax).join(', ')}` : '';
    return `Without any one of these the plan passes: ${told.join('; ')}${more}.${untried}${settingsClause(plan)}`;
  }

  #mayRun(): boolean {
    return this.#runs < explainRunsMax && !this.#isOver();
  }

  async #fails(candidate: Plan): Promise<boolean> {
    this.#runs += 1;
    const invariant = this.#invariant;
    return (await this.#how.judge(judgedAlone(candidate, invariant), invariant)) !== undefined;
  }

  /** The run of a plan, judged by the invariant in question; each plan is recorded once. */
  #record(plan: Plan): Promise<Recording> {
    const name = JSON.stringify(plan);
    const known = this.#recordings.get(name);
    if (known !== undefined) return known;
    this.#runs += 1;
    const recording = this.#how.record(judgedAlone(plan, this.#invariant));
    this.#recordings.set(name, recording);
    return recording;
  }

  get #invariant(): string {
    return this.#failing.concern?.invariant ?? '';
  }
}

/** The settings that differ from the defaults; shrinking leaves those that the failure needs. */
function settingsClause({ settings }: Plan): string {
  const all = Object.entries(settings).map(([name, value]) => `${name} ${value}`);
  return all.length === 0 || all.length > settingsMax ? '' : ` Settings: ${all.join(', ')}.`;
}

/** A plan with more settings is not shrunk: they are no part of its cause. */
const settingsMax = 6;

/** A moment that turns the verdict within this time is near: no other neighbour says more. */
const nearUs = 5000;

/** The narrowest flip, and that of the same fault in the other direction. */
function narrowest(flips: readonly Flip[]): readonly Flip[] {
  const sorted = flips.toSorted((left, right) => Math.abs(left.passesByUs) - Math.abs(right.passesByUs));
  const [first] = sorted;
  return first === undefined ? [] : sorted.filter(({ id }) => id === first.id);
}

/** What a host decides or makes durable, the most telling first. */
const deedKinds: readonly Mark['kind'][] = ['step', 'ring', 'log', 'sync'];

/** The last telling event at these hosts in that time, with its node and time; else a message of theirs. */
function deedWithin(
  run: Recording,
  lanes: readonly number[],
  fromUs: number,
  toUs: number,
): string | undefined {
  const isWithin = (atUs: number): boolean => atUs >= fromUs && atUs <= toUs;
  const deeds = run.marks.filter(
    ({ lane, atUs, kind }) => lanes.includes(lane) && isWithin(atUs) && deedKinds.includes(kind),
  );
  const [deed] = deeds.toSorted(
    (left, right) => deedKinds.indexOf(left.kind) - deedKinds.indexOf(right.kind) || right.atUs - left.atUs,
  );
  if (deed !== undefined) return `${placeOf(run, deed.lane)} ${deedOf(deed)} (${seconds(deed.atUs)})`;
  const message = run.messages.find(
    ({ from, to, sentUs, arrivedUs }) =>
      (lanes.includes(from) && isWithin(sentUs)) || (lanes.includes(to) && isWithin(arrivedUs)),
  );
  if (message === undefined) return undefined;
  const { from, to, sentUs, arrivedUs, kind } = message;
  const what = run.messageKinds[kind] ?? 'a message';
  return lanes.includes(from) && isWithin(sentUs)
    ? `${placeOf(run, from)} sends ${what} to ${placeOf(run, to)} (${seconds(sentUs)})`
    : `${placeOf(run, to)} receives ${what} from ${placeOf(run, from)} (${seconds(arrivedUs)})`;
}
