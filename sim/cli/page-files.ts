/** Writes pages: records a run, and joins it with the page's script and the bundled simulator in one HTML file. */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';

import { renderPage } from '../../reports/run-page.ts';
import type { Plan } from '../plan/plan.ts';
import type { Explanation } from '../record/explain.ts';
import { explainPlan } from '../record/explain.ts';
import { recordRun } from '../record/record-run.ts';
import type { Recording } from '../record/recording.ts';
import { brokenInvariant } from '../runner/broken.ts';
import { judgeOutcome } from '../runner/judge-outcome.ts';
import { runPlan } from '../runner/run.ts';
import { browserBundleFile, buildDirectory } from '../runner/pool/build.ts';
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

/** Records the plan's run and writes its page. Throws what the run throws. */
export async function writePage(
  plan: Plan,
  own: Own,
  file: string,
  { replay, playground, explain }: PageOptions,
): Promise<WrittenPage> {
  const recording = await recordRun(plan, () => performance.now(), own.invariants);
  const engine = await engineOf(plan);
  const html = renderPage({
    recording,
    recordingData: packed(JSON.stringify(recording)),
    engineData: engine.data,
    engineMissing: engine.missing,
    script: await readFile(join(buildDirectory, 'reports/page/page.bundle.js'), 'utf8'),
    style: await readFile(join(buildDirectory, 'reports/page/page.css'), 'utf8'),
    replay,
    cause: explain ? await causeOf(recording, own) : '',
    playground,
  });
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, html);
  return { file, bytes: Buffer.byteLength(html), recording };
}

/** Most milliseconds of real time that an explanation of a small plan takes. */
const explainMsMax = 10_000;

/** A plan with more faults and operations is too large to try each; `lockstep-sim explain` takes its time. */
const explainedSentencesMax = 12;

async function causeOf(recording: Recording, own: Own): Promise<string> {
  if (recording.concern === undefined || recording.sentences.length > explainedSentencesMax) return '';
  return (await explainRecording(recording, own)).sentence;
}

/** Explains a failing run by runs of its neighbours; shrinks its plan before, if that is large, for `shrinkMs`. */
export function explainRecording(failing: Recording, own: Own, shrinkMs = 0): Promise<Explanation> {
  const endMs = performance.now() + shrinkMs + explainMsMax;
  const runs = {
    record: (plan: Plan) => recordRun(plan, () => performance.now(), own.invariants),
    judge: async (plan: Plan) => brokenInvariant(judgeOutcome(plan, await runPlan(plan), 0, own.invariants)),
  };
  const signal = shrinkMs === 0 ? undefined : AbortSignal.timeout(shrinkMs);
  return explainPlan(failing, runs, () => performance.now() > endMs, signal);
}

/** The bundled simulator, or why the page has none. */
async function engineOf(
  plan: Plan,
): Promise<{ readonly data: string | undefined; readonly missing: string }> {
  if (plan.judgedBy !== undefined) {
    const missing = `The invariants ${plan.judgedBy.invariants.join(', ')} are not in this page, so it does not run again here; the replay line does.`;
    return { data: undefined, missing };
  }
  const file = join(buildDirectory, browserBundleFile);
  if (!existsSync(file)) bundleHere();
  if (existsSync(file)) return { data: packed(await readFile(file, 'utf8')), missing: '' };
  const missing = 'This page cannot run the engine with the mutant again; the replay line does.';
  return { data: undefined, missing };
}

/** Bundles the simulator of a copy with a mutant, where the project's own sources are at hand. */
function bundleHere(): void {
  const root = join(buildDirectory, '../..');
  const script = join(root, '.ci/browser.js');
  if (existsSync(script))
    spawnSync(process.execPath, [script, buildDirectory], { cwd: root, stdio: 'ignore' });
}

function packed(text: string): string {
  return gzipSync(text, { level: 9 }).toString('base64');
}
