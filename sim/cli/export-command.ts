/** `lockstep-sim export`: a run in the formats of other tools. */
import { mkdir, writeFile } from 'node:fs/promises';
import { basename, dirname } from 'node:path';

import { chromeTrace } from '../../reports/exports/chrome-trace.ts';
import { operationsCsv } from '../../reports/exports/operations-csv.ts';
import { shivizLog } from '../../reports/exports/shiviz.ts';
import { recordRun } from '../record/record-run.ts';
import type { Recording } from '../record/recording.ts';
import type { Own } from '../runner/user-defined.ts';
import { planToReplay } from './replay-command.ts';

/** The formats: what each is for, the ending of its file, and its text. */
const formats = {
  shiviz: { ending: '.shiviz.log', render: shivizLog },
  perfetto: { ending: '.trace.json', render: chromeTrace },
  csv: { ending: '.operations.csv', render: operationsCsv },
} as const satisfies Record<
  string,
  { readonly ending: string; readonly render: (recording: Recording) => string }
>;

/** Their names. */
export const exportFormats = Object.keys(formats) as readonly (keyof typeof formats)[];

/** What is written where. */
export interface ExportOptions {
  readonly format: (typeof exportFormats)[number];
  readonly seed: number | undefined;
  /** Undefined: the plan's or scenario's name with the format's ending, in the current directory. */
  readonly out: string | undefined;
}

/** Runs the plan and writes the file; resolves with its name. Throws what `planToReplay` and the run throw. */
export async function exportRun(
  what: string,
  { format, seed, out }: ExportOptions,
  own: Own,
): Promise<string> {
  const plan = await planToReplay(what, seed, own);
  const { ending, render } = formats[format];
  const stem = what.endsWith('.json')
    ? basename(what).replace(/(\.min)?\.json$/, '')
    : `${what}-${plan.seed}`;
  const file = out ?? `${stem}${ending}`;
  const recording = await recordRun(plan, () => performance.now(), own.invariants);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, render(recording));
  return file;
}
