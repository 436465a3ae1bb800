/** Writes pages: records a run, and joins it with the page's script and the bundled simulator in one HTML file. */
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import process from 'node:process';
import { gzipSync } from 'node:zlib';

import { LockstepError } from '../../engine/base/errors.ts';
import { renderPage } from '../../reports/run-page.ts';
import type { ReportedInvariant } from '../check/report.ts';
import type { Plan } from '../plan/plan.ts';
import { explainPlan } from '../record/explain.ts';
import type { Broken, Explanation, ExplainRuns } from '../record/explanation.ts';
import { factsOf } from '../record/facts.ts';
import { recordRun } from '../record/record-run.ts';
import type { Recording } from '../record/recording.ts';
import { brokenInvariant } from '../runner/broken.ts';
import { browserBundleFile, buildDirectory } from '../runner/pool/build.ts';
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
}

/**
 * Records the plan's run and writes its page. A page that names the cause is written at once with what the one run
 * shows, and again when the search for the cause has ended. Throws what the run throws.
 */
export async function writePage(
  plan: Plan,
  own: Own,
  file: string,
  { replay, playground, explain }: PageOptions,
): Promise<WrittenPage> {
  // The simulator of a copy with a mutant is bundled in a process of its own, while this one runs the plan.
  const bundling = bundledEngine(plan);
  const recording = await recordRun(plan, () => performance.now(), own.invariants);
  const engine = await bundling;
  const parts = {
    recording,
    recordingData: packed(JSON.stringify(recording)),
    engineData: engine.data,
    engineMissing: engine.missing,
    script: await readFile(join(buildDirectory, 'reports/page/page.bundle.js'), 'utf8'),
    style: await readFile(join(buildDirectory, 'reports/page/page.css'), 'utf8'),
    replay,
    playground,
  };
  await mkdir(dirname(file), { recursive: true });
  const write = async (cause: readonly string[]): Promise<number> => {
    const html = renderPage({ ...parts, cause });
    await writeFile(file, html);
    return Buffer.byteLength(html);
  };
  const shown = explain ? shownBy(recording) : [];
  const bytes = await write(shown);
  if (!explain || !isSearched(recording)) return { file, bytes, recording };
  process.stderr.write(
    `${file} is written; what turns its verdict is searched for, up to ${explainMsMax / 1000} s\n`,
  );
  return { file, bytes: await write(await searchedCause(recording, own)), recording };
}

/** Most milliseconds of processor time that an explanation of a small plan takes. */
const explainMsMax = 10_000;

/** A plan with more faults and operations is too large to try each; `lockstep-sim explain` takes its time. */
const explainedSentencesMax = 12;

/** Whether the cause is searched among the plan's neighbours. */
function isSearched({ concern, sentences }: Recording): boolean {
  return concern !== undefined && sentences.length <= explainedSentencesMax;
}

/** What the one run shows of how the violation came about. The page's head says already what broke. */
function shownBy(recording: Recording): readonly string[] {
  if (recording.concern === undefined) return [];
  const facts = factsOf(recording).slice(1);
  if (isSearched(recording)) return facts;
  const { length } = recording.sentences;
  const more = `Which of the plan's ${length} faults and operations it needs, lockstep-sim explain finds; lockstep-sim shrink leaves out the others.`;
  return [...facts, more];
}

/** What led to the violation, by runs of the plan's neighbours. */
async function searchedCause(recording: Recording, own: Own): Promise<readonly string[]> {
  const limits = { shrinkCpuMs: 0, searchCpuMs: explainMsMax };
  return (await explainRecording(recording, own, limits)).lines.slice(1);
}

/** How to explain. Times are processor time of this process, so the explanation does not depend on the machine's load. */
export interface ExplainLimits {
  /** For shrinking a large plan before, in milliseconds; 0: it is not shrunk. */
  readonly shrinkCpuMs: number;
  /** For the rest. */
  readonly searchCpuMs: number;
  /** What a run costs, as far as is known before the first one. */
  readonly runCpuMs?: number;
}

/**
 * Explains a failing run by runs of its neighbours. They run in this thread, which has just compiled the engine: another
 * one would take as long to become as fast as an explanation may take in all.
 */
export async function explainRecording(
  failing: Recording,
  own: Own,
  { shrinkCpuMs, searchCpuMs, runCpuMs: expectedCpuMs = 0 }: ExplainLimits,
): Promise<Explanation> {
  const shrinking = new AbortController();
  const shrink = new Stopwatch();
  let search: Stopwatch | undefined;
  let runCpuMs = expectedCpuMs;
  if (runCpuMs > shrinkCpuMs) shrinking.abort();
  const timed = async <T>(run: () => Promise<T>): Promise<T> => {
    const before = new Stopwatch();
    const result = await run();
    runCpuMs = before.spentMs;
    if (shrink.spentMs + runCpuMs > shrinkCpuMs) shrinking.abort();
    return result;
  };
  // The search begins with its first question. It ends with one more run, of the nearest neighbour that passes.
  const isOver = (): boolean => {
    search ??= new Stopwatch();
    return search.spentMs + 2 * runCpuMs > searchCpuMs;
  };
  const runs: ExplainRuns = {
    record: (plan) => timed(() => recordRun(plan, () => performance.now(), own.invariants)),
    judge: (plan, invariant) =>
      timed(() => brokenIn((task) => performTask(task, () => performance.now(), own), plan, invariant)),
  };
  return explainPlan(failing, runs, isOver, shrinkCpuMs === 0 ? undefined : shrinking.signal);
}

/** On a machine so busy that its processor time comes this much later, real time counts instead. */
const realPerCpu = 3;

/** How much processor time this process has used since. */
class Stopwatch {
  readonly #startMs = performance.now();
  readonly #start = process.cpuUsage();

  get spentMs(): number {
    const { user, system } = process.cpuUsage(this.#start);
    const realMs = performance.now() - this.#startMs;
    return Math.max((user + system) / 1000, realMs / realPerCpu);
  }
}

/** The breach of the invariant in a run of the plan; undefined if it holds, or the plan is none without what it lacks. */
async function brokenIn(
  perform: (task: Task) => Promise<TaskAnswer>,
  plan: Plan,
  invariant: string,
): Promise<Broken | undefined> {
  const name = invariant as ReportedInvariant;
  try {
    const answer = await perform({ kind: 'plan', plan, invariant: name, uncovered: true, timed: true });
    if (answer.kind !== 'ran') return undefined;
    const broken = brokenInvariant(answer.result);
    if (broken?.invariant !== name || broken.vacuous) return undefined;
    return { report: broken, ...(answer.busy === undefined ? {} : { busy: answer.busy }) };
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
  if (!existsSync(file)) await bundleCopy();
  if (existsSync(file)) return { data: packed(await readFile(file, 'utf8')), missing: '' };
  const missing = 'This page cannot run the engine with the mutant again; the replay line does.';
  return { data: undefined, missing };
}

/**
 * Bundles the simulator of a copy with a mutant for pages, where the project's own sources are at hand. The copy's
 * commands follow while the run goes on: the next command with this mutant starts faster.
 */
async function bundleCopy(): Promise<void> {
  const root = join(buildDirectory, '../..');
  const make = (script: string): ChildProcess =>
    spawn(process.execPath, [script, buildDirectory], { cwd: root, stdio: 'ignore' });
  const [browser, commands] = [join(root, '.ci/browser.js'), join(root, '.ci/bundle.js')];
  if (!existsSync(browser) || !existsSync(commands)) return;
  // Whether one succeeded, the bundle's presence shows.
  await once(make(browser), 'close').catch(() => undefined);
  make(commands).on('error', () => undefined);
}

function packed(text: string): string {
  return gzipSync(text, { level: 6 }).toString('base64');
}
