/** Keeps the plan of a failure for good: its file, and a vitest file that replays it in the user's own repository. */
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join, relative, resolve, sep } from 'node:path';

import { invariantTable } from '../check/invariants.ts';
import { findNamed } from '../check/named.ts';
import type { ReportedInvariant } from '../check/report.ts';
import type { Plan } from '../plan/plan.ts';
import { formatPlan } from '../plan/plan.ts';

/** Where `--keep` puts plans unless a directory is named. */
export const keptDirectory = join('scenarios', 'regressions');

/**
 * Writes the plan and its test into `directory`, under a name that is not taken: `<scenario>-<seed>-<invariant>`.
 * Resolves with the two files. Throws what the file system throws.
 */
export async function keepPlan(
  plan: Plan,
  broke: ReportedInvariant,
  directory: string,
  ownFile: string | undefined,
): Promise<readonly [plan: string, test: string]> {
  await mkdir(directory, { recursive: true });
  const stem = freeStem(directory, `${plan.scenario}-${plan.seed}-${broke}`);
  const [planFile, testFile] = [join(directory, `${stem}.json`), join(directory, `${stem}.test.ts`)];
  await writeFile(planFile, formatPlan(plan));
  await writeFile(
    testFile,
    testOf(plan, broke, stem, ownFile === undefined ? undefined : from(directory, ownFile)),
  );
  return [planFile, testFile];
}

function freeStem(directory: string, wanted: string): string {
  let stem = wanted;
  for (let number = 2; existsSync(join(directory, `${stem}.json`)); number++) stem = `${wanted}-${number}`;
  return stem;
}

/** The path of a module as an import from the directory names it. */
function from(directory: string, file: string): string {
  const path = relative(resolve(directory), resolve(file)).split(sep).join('/');
  return path.startsWith('.') ? path : `./${path}`;
}

function testOf(plan: Plan, broke: ReportedInvariant, stem: string, own: string | undefined): string {
  const row = findNamed(invariantTable, broke);
  const promise = row === undefined ? '' : ` ${broke}: ${row.promise}.`;
  const judged = own === undefined || plan.judgedBy === undefined ? undefined : own;
  return `/**
 * ${plan.scenario}, seed ${plan.seed} broke ${broke}; this replays the smallest plan that did.
 *${promise === '' ? '' : `${promise}\n *`} Its steps in words: npx lockstep-sim report ${stem}.json
 */
import { readFileSync } from 'node:fs';

import { checkPlan, parsePlan } from 'lockstep/sim';
import { expect, it } from 'vitest';
${judged === undefined ? '' : `\nimport { invariants } from '${judged}';\n`}
it('${plan.scenario}, seed ${plan.seed} keeps ${broke}', async () => {
  const plan = parsePlan(readFileSync(new URL('${stem}.json', import.meta.url), 'utf8'));
  const { verdict } = await checkPlan(plan${judged === undefined ? '' : ', { invariants }'});
  expect(verdict).toBe('passed');
}, 60_000);
`;
}
