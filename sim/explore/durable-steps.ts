/**
 * Strikes every durable step of what a node saves (step-subjects.ts), one in each run. A first run of a play counts its
 * steps; each further run is equal to it up to one step, and is struck there. After the heal every member must serve,
 * nothing may be reported as damaged or lost, every acknowledged write must be readable through every member, and the
 * subject's own promise must hold.
 */
import type { StepPoint, StepStrike } from './step-harness.ts';
import { StepHarness, describeStep } from './step-harness.ts';
import type { StepPlay, StepSubject, Writes } from './step-subjects.ts';
import { stepSubjects, verifyWrites } from './step-subjects.ts';

/** A point of one play of a subject. */
export interface SubjectPoint {
  readonly subject: string;
  readonly play: string;
  /** Undefined: the run without a strike. */
  readonly point: StepPoint | undefined;
}

/** The result of one run. */
export interface StepRun {
  readonly at: SubjectPoint;
  /** The steps that the run passed; only without a point. */
  readonly points: readonly StepPoint[];
  readonly struck: boolean;
  /** What is wrong; empty if nothing is. */
  readonly faults: readonly string[];
  readonly digest: string;
}

/** `drain n1 sync hints/00000001.log 2 power-loss`. */
export function describeSubjectPoint({ play, point }: SubjectPoint): string {
  return point === undefined ? `${play}, not struck` : `${play} ${describeStep(point)}`;
}

/** The subject of this name; undefined if there is none. */
export function subjectNamed(name: string): StepSubject | undefined {
  return stepSubjects.find((subject) => subject.name === name);
}

/** The points of a run that was not struck. */
export function pointsOf({ at, points }: StepRun): readonly SubjectPoint[] {
  return points.map((point) => ({ ...at, point }));
}

/** Runs a play with its strike. Throws if there is no such play. */
export async function runDurableStep(at: SubjectPoint): Promise<StepRun> {
  const play = subjectNamed(at.subject)?.plays.find(({ name }) => name === at.play);
  if (play === undefined) throw new Error(`there is no play ${at.subject} ${at.play}`);
  const { nodes, settings, concerns } = play;
  const harness = new StepHarness(`${at.subject} ${at.play}`, nodes, settings, concerns, at.point);
  const writes: Writes = {
    acknowledged: new Map(),
    possible: new Map(),
    changes: { acknowledged: -1, tried: -1 },
    transactions: [],
  };
  const faults = await faultsOf(harness, play, writes, at.point?.strike);
  return {
    at,
    points: harness.points,
    struck: harness.struck,
    faults: [...faults, ...(at.point === undefined ? unreached(harness, play) : [])],
    digest: harness.world.digest(),
  };
}

/** Strikes that make an operation fail. */
const failing: readonly StepStrike[] = ['full-disk', 'failing-write', 'failing-sync', 'failing-reads'];

async function faultsOf(
  harness: StepHarness,
  play: StepPlay,
  writes: Writes,
  strike: StepStrike | undefined,
): Promise<readonly string[]> {
  const { world, cluster, reported } = harness;
  // A start whose disk fails ends, and is made again after the heal.
  const mayFail = strike !== undefined && failing.includes(strike);
  const missing: string[] = [];
  const verified: string[] = [];
  try {
    await play.prepare(harness, writes);
    harness.count();
    await play.act(harness, writes);
    missing.push(...(await harness.heal()));
    if (missing.length === 0)
      verified.push(...(await play.verify(harness, writes)), ...(await verifyWrites(harness, writes)));
    await harness.stop();
  } catch (error) {
    verified.push(`the play broke off: ${error instanceof Error ? error.message : String(error)}`);
  }
  const refused = cluster.refusedStarts
    .filter(({ departed, code }) => !departed && !(mayFail && code === 'StorageFailed'))
    .map(({ node, code, detail }) => `${node} did not start: ${code} ${detail}`);
  const silent = missing.map((node) => `${node} does not serve after the heal`);
  const failures = world.failures.map(
    ({ host, what, error }) => `${host}: ${what}: ${error instanceof Error ? error.message : String(error)}`,
  );
  // What a disk refuses to read counts as damaged.
  const damages = strike === 'failing-reads' ? [] : reported;
  return [...verified, ...silent, ...refused, ...damages, ...harness.leaks, ...failures];
}

/** An exploration must not pass that has reached nothing. */
function unreached({ events, points }: StepHarness, { reaches }: StepPlay): readonly string[] {
  const missed = reaches.filter((event) => !events.has(event)).map((event) => `${event} never happened`);
  return points.length === 0 ? ['there is no step', ...missed] : missed;
}

/** How many points there are of each strike. */
export function countByStrike(
  points: readonly SubjectPoint[],
): Readonly<Partial<Record<StepStrike, number>>> {
  const counts: Partial<Record<StepStrike, number>> = {};
  for (const { point } of points)
    if (point !== undefined) counts[point.strike] = (counts[point.strike] ?? 0) + 1;
  return counts;
}
