/** `lockstep-sim report` and `page`: pages of runs, one HTML file each. */
import { readdirSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import process from 'node:process';

import { LockstepError } from '../../engine/base/errors.ts';
import { commandLine } from '../../reports/terminal.ts';
import type { Own } from '../runner/user-defined.ts';
import { planOfSeed } from '../runner/task.ts';
import type { Explanation } from '../record/explanation.ts';
import { recordRun } from '../record/record-run.ts';
import type { WrittenPage } from './page-files.ts';
import { explainRecording, writePage } from './page-files.ts';
import { ownMutant } from './mutate-build.ts';
import { planToReplay } from './replay-command.ts';

/** What `report` is asked. */
export interface ReportOptions {
  readonly seed: number | undefined;
  /** Directory for the pages; undefined: beside the plans. */
  readonly out: string | undefined;
  readonly ownFile: string | undefined;
}

/**
 * Writes a page for a plan file, for every plan of a directory (of a shrunk plan and its whole one, the shrunk), or for
 * a scenario's seed. Throws `BadRequest`, `NotFound`, `PlanInvalid`.
 */
export async function writeReports(
  what: string,
  options: ReportOptions,
  own: Own,
): Promise<readonly WrittenPage[]> {
  const pages: WrittenPage[] = [];
  for (const name of plansIn(what)) {
    const plan = await planToReplay(name, options.seed, own);
    const stem = name.endsWith('.json') ? name.replace(/(\.min)?\.json$/, '') : `${name}-${plan.seed}`;
    const file = options.out === undefined ? `${stem}.html` : join(options.out, `${basename(stem)}.html`);
    const replay = commandLine(replayOf(name, options));
    pages.push(
      await writePage(plan, own, file, {
        replay,
        playground: false,
        explain: true,
      }),
    );
  }
  return pages;
}

/**
 * Most milliseconds of processor time of this process, its start and the first run included; of these, most for
 * shrinking a large plan before it is explained.
 */
const [explainCpuMsMax, shrinkCpuMsMax] = [15_000, 9000];

/**
 * Why a plan fails, in words: what broke and how, what the failure needs, and at which moment it turns. Throws as
 * `writeReports`.
 */
export async function explain(
  what: string,
  { seed }: Pick<ReportOptions, 'seed'>,
  own: Own,
): Promise<Explanation> {
  const plan = await planToReplay(what, seed, own);
  const startedMs = spentCpuMs();
  const failing = await recordRun(plan, () => performance.now(), own.invariants);
  const leftMs = Math.max(0, explainCpuMsMax - spentCpuMs());
  // Of a plan that stays large the search can tell little.
  const shrinkCpuMs = Math.min(shrinkCpuMsMax, leftMs * 0.7);
  // The engine is compiled now: a run takes half as long as the first one.
  const runCpuMs = (spentCpuMs() - startedMs) / 2;
  return explainRecording(failing, own, { shrinkCpuMs, searchCpuMs: leftMs - shrinkCpuMs, runCpuMs });
}

/** Milliseconds of processor time that this process has used. */
function spentCpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/** Writes the playground: a page with the simulator and one run of a scenario's seed. */
export function writePlayground(
  scenario: string,
  seed: number,
  file: string,
  own: Own,
): Promise<WrittenPage> {
  return writePage(planOfSeed(scenario, seed, own), own, file, {
    replay: '',
    playground: true,
    explain: false,
  });
}

function plansIn(what: string): readonly string[] {
  if (statSync(what, { throwIfNoEntry: false })?.isDirectory() !== true) return [what];
  const names = readdirSync(what)
    .filter((name) => name.endsWith('.json'))
    .sort();
  const plans = names.filter((name) => !names.includes(name.replace(/\.json$/, '.min.json')));
  if (plans.length > 0) return plans.map((name) => join(what, name));
  throw new LockstepError(
    'NotFound',
    `${what} holds no plan (*.json); lockstep-sim run --out ${what} writes them`,
  );
}

function replayOf(name: string, { seed, ownFile }: ReportOptions): readonly string[] {
  const mutant = ownMutant();
  return [
    'replay',
    name,
    ...(seed === undefined ? [] : ['--seed', String(seed)]),
    ...(mutant === undefined ? [] : ['--mutant', mutant]),
    ...(ownFile === undefined ? [] : ['--scenarios', ownFile]),
  ];
}
