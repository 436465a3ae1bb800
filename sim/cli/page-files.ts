/** Writes pages: records a run, and joins it with the page's script and the bundled simulator in one HTML file. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';

import { LockstepError } from '../../engine/base/errors.ts';
import { renderPage } from '../../reports/run-page.ts';
import type { CheckReport, ReportedInvariant } from '../check/report.ts';
import type { Plan } from '../plan/plan.ts';
import { explainPlan } from '../record/explain.ts';
import type { Explanation, ExplainRuns } from '../record/explanation.ts';
import { factsOf } from '../record/facts.ts';
import { recordRun } from '../record/record-run.ts';
import type { Recording } from '../record/recording.ts';
import { brokenInvariant } from '../runner/broken.ts';
import { browserBundleFile, buildDirectory } from '../runner/pool/build.ts';
import { Pool } from '../runner/pool/pool.ts';
import type { Task, TaskAnswer } from '../runner/task.ts';
import { performTask } from '../runner/task.ts';
import type { Own } from '../runner/user-defined.ts';

/** A page that was written. */
export interface WrittenPage {
  readonly file: string;
  readonly bytes: number;
  readonly recording: Recording;
}

/** What a page shows beside its run. */
export interface PageOptions {
  /** The command that replays the run; empty for the playground. */
  readonly replay: string;
  readonly playground: boolean;
  /** Whether the page names the cause, if the run failed. */
  readonly explain: boolean;
  /** The module with the user's scenarios and invariants; undefined: there is none. */
  readonly ownFile: string | undefined;
}

/** Records the plan's run and writes its page. Throws what the run throws. */
export async function writePage(
  plan: Plan,
  own: Own,
  file: string,
  { replay, playground, explain, ownFile }: PageOptions,
): Promise<WrittenPage> {
  // The simulator of a copy with a mutant is bundled in a process of its own, while this one runs the plan.
  const bundling = bundledEngine(plan);
  const recording = await recordRun(plan, () => performance.now(), own.invariants);
  const cause = explain ? await causeOf(recording, own, ownFile) : [];
  const engine = await bundling;
  const html = renderPage({
    recording,
    recordingData: packed(JSON.stringify(recording)),
    engineData: engine.data,
    engineMissing: engine.missing,
    script: await readFile(join(buildDirectory, 'reports/page/page.bundle.js'), 'utf8'),
    style: await readFile(join(buildDirectory, 'reports/page/page.css'), 'utf8'),
    replay,
    cause,
    playground,
  });
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, html);
  return { file, bytes: Buffer.byteLength(html), recording };
}

/** Most milliseconds of processor time that an explanation of a small plan takes. */
const explainMsMax = 10_000;

/** A plan with more faults and operations is too large to try each; `lockstep-sim explain` takes its time. */
const explainedSentencesMax = 12;

/** What led to the violation; of a large plan what its one run shows. The page's head says already what broke. */
async function causeOf(
  recording: Recording,
  own: Own,
  ownFile: string | undefined,
): Promise<readonly string[]> {
  if (recording.concern === undefined) return [];
  const { length } = recording.sentences;
  if (length > explainedSentencesMax) {
    const more = `Which of the plan's ${length} faults and operations it needs, lockstep-sim explain finds; lockstep-sim shrink leaves out the others.`;
    return [...factsOf(recording).slice(1), more];
  }
  const limits = { shrinkCpuMs: 0, searchCpuMs: explainMsMax, ownFile };
  return (await explainRecording(recording, own, limits)).lines.slice(1);
}

/** How to explain. Times are processor time of all threads, so the explanation does not depend on the machine's load. */
export interface ExplainLimits {
  /** For shrinking a large plan before, in milliseconds; 0: it is not shrunk. */
  readonly shrinkCpuMs: number;
  /** For the rest. */
  readonly searchCpuMs: number;
  /** The module with the user's scenarios and invariants, which the threads load. */
  readonly ownFile: string | undefined;
}

/** Explains a failing run by runs of its neighbours, on as many threads as the machine has processors. */
export async function explainRecording(
  failing: Recording,
  own: Own,
  { shrinkCpuMs, searchCpuMs, ownFile }: ExplainLimits,
): Promise<Explanation> {
  const pool = new Pool(buildDirectory, Math.min(threadsMax, availableParallelism()), ownFile);
  const shrinking = new AbortController();
  let isShrinkOver = shrinkCpuMs === 0;
  let search = new Stopwatch(searchCpuMs);
  const shrink = new Stopwatch(shrinkCpuMs);
  const watch = setInterval(() => {
    if (shrink.isOver()) shrinking.abort();
  }, 100);
  const isOver = (): boolean => {
    // The search begins with its first question.
    if (!isShrinkOver) search = new Stopwatch(searchCpuMs);
    isShrinkOver = true;
    return search.isOver();
  };
  const here = new Stopwatch(hereCpuMs);
  let last: Promise<unknown> = Promise.resolve();
  const runHere = (task: Task): Promise<TaskAnswer> => {
    const next = last.then(() => performTask(task, () => performance.now(), own));
    last = next.catch(() => undefined);
    return next;
  };
  const runs: ExplainRuns = {
    get width() {
      return here.isOver() ? pool.workersMax : 1;
    },
    record: (plan) => recordRun(plan, () => performance.now(), own.invariants),
    judge: (plan, invariant) =>
      brokenIn((task) => (here.isOver() ? pool.perform(task) : runHere(task)), plan, invariant),
  };
  try {
    return await explainPlan(failing, runs, isOver, shrinkCpuMs === 0 ? undefined : shrinking.signal);
  } finally {
    clearInterval(watch);
    await pool.close();
  }
}

/** On a machine so busy that its processor time comes this much later, real time ends the search. */
const realPerCpu = 4;

/** A limit of this process's processor time, and of real time. */
class Stopwatch {
  readonly #limitMs: number;
  readonly #startMs = performance.now();
  readonly #start = process.cpuUsage();

  constructor(limitMs: number) {
    this.#limitMs = limitMs;
  }

  isOver(): boolean {
    const { user, system } = process.cpuUsage(this.#start);
    const realMs = performance.now() - this.#startMs;
    return (user + system) / 1000 > this.#limitMs || realMs > this.#limitMs * realPerCpu;
  }
}

/**
 * So long, in milliseconds of processor time, neighbours run in this thread, which has just compiled the engine. A new
 * thread takes a second or two until it is as fast.
 */
const hereCpuMs = 4000;

/** Most threads of one explanation: it has no more neighbours to run at once. */
const threadsMax = 4;

/** The breach of the invariant in a run of the plan; undefined if it holds, or the plan is none without what it lacks. */
async function brokenIn(
  perform: (task: Task) => Promise<TaskAnswer>,
  plan: Plan,
  invariant: string,
): Promise<CheckReport | undefined> {
  const name = invariant as ReportedInvariant;
  try {
    const answer = await perform({ kind: 'plan', plan, invariant: name, uncovered: true });
    if (answer.kind !== 'ran') return undefined;
    const broken = brokenInvariant(answer.result);
    return broken?.invariant === name && !broken.vacuous ? broken : undefined;
  } catch (error) {
    if (error instanceof LockstepError && error.code === 'PlanInvalid') return undefined;
    throw error;
  }
}

/** The simulator that a page carries, compressed, or why it has none. */
interface PageEngine {
  readonly data: string | undefined;
  readonly missing: string;
}

async function bundledEngine(plan: Plan): Promise<PageEngine> {
  if (plan.judgedBy !== undefined) {
    const missing = `The invariants ${plan.judgedBy.invariants.join(', ')} are not in this page, so it does not run again here; the replay line does.`;
    return { data: undefined, missing };
  }
  const file = join(buildDirectory, browserBundleFile);
  if (!existsSync(file)) await bundleHere();
  if (existsSync(file)) return { data: packed(await readFile(file, 'utf8')), missing: '' };
  const missing = 'This page cannot run the engine with the mutant again; the replay line does.';
  return { data: undefined, missing };
}

/** Bundles the simulator of a copy with a mutant, where the project's own sources are at hand. */
async function bundleHere(): Promise<void> {
  const root = join(buildDirectory, '../..');
  const script = join(root, '.ci/browser.js');
  if (!existsSync(script)) return;
  const child = spawn(process.execPath, [script, buildDirectory], { cwd: root, stdio: 'ignore' });
  // Whether it succeeded, the bundle's presence shows.
  await once(child, 'close').catch(() => undefined);
}

function packed(text: string): string {
  return gzipSync(text, { level: 6 }).toString('base64');
}
