/** Tests patches of the sources as mutants, on the built command line. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';

import type { Campaign } from '../runner/campaign.ts';

const file = 'engine/storage/index/newest-records.ts';
const root = fileURLToPath(new URL('../../', import.meta.url));
let directory = '';

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'lockstep-patch-'));
});
afterAll(() => rmSync(directory, { recursive: true }));

/** Writes a diff with `replace` in the line of the file that holds `find`. */
function patchOf(name: string, find: string, replace: string): string {
  const lines = readFileSync(join(root, file), 'utf8').split('\n');
  const index = lines.findIndex((line) => line.includes(find));
  const line = lines[index] ?? find;
  const [before, after] = [lines.slice(index - 3, index), lines.slice(index + 1, index + 4)].map((context) =>
    context.map((one) => ` ${one}\n`).join(''),
  );
  const hunk = `@@ -${index - 2},7 +${index - 2},7 @@\n${before}-${line}\n+${line.replace(find, replace)}\n${after}`;
  writeFileSync(join(directory, name), `--- a/${file}\n+++ b/${file}\n${hunk}`);
  return name;
}

function run(...words: readonly string[]): { status: number | null; out: string; err: string } {
  const all = [
    join(root, 'dist/sim/main.js'),
    'run',
    'calm',
    '--seed',
    '1',
    '--no-shrink',
    '--json',
    ...words,
  ];
  const env = { ...process.env, GITHUB_ACTIONS: '', GITHUB_STEP_SUMMARY: '' };
  const { status, stdout, stderr } = spawnSync(process.execPath, all, {
    encoding: 'utf8',
    cwd: directory,
    env,
  });
  return { status, out: stdout, err: stderr };
}

it('a patch of the sources is compiled and run, and its failures are replayed with it', () => {
  const patch = patchOf('mine.diff', 'liveBytes += span', 'liveBytes += 2 * span');
  const { status, out } = run('--patch', patch);
  expect(status).toBe(1);
  const { scenarios } = JSON.parse(out) as Campaign;
  expect(scenarios[0]?.failure?.replay).toContain('--mutant mine.diff');
});

it('a patch that is not there or does not apply is refused with the reason', () => {
  expect(run('--patch', 'none.diff')).toMatchObject({
    status: 2,
    err: expect.stringContaining('the patch none.diff cannot be read') as string,
  });
  writeFileSync(
    join(directory, 'old.patch'),
    readFileSync(join(directory, 'mine.diff'), 'utf8').replaceAll('liveBytes', 'deadBytes'),
  );
  expect(run('--mutant', 'old.patch')).toMatchObject({
    status: 2,
    err: expect.stringContaining('old.patch does not apply: ') as string,
  });
});
