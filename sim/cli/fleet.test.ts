/** Tests parts of campaigns, campaigns that go on, and their merge, on the built command line. */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';

import type { Campaign } from '../runner/campaign.ts';
import type { Checkpoint } from '../runner/checkpoint.ts';
import { exitCodes } from './complaints.ts';

const program = fileURLToPath(new URL('../../dist/sim/main.js', import.meta.url));
/** A module as a user of the simulator writes it: an invariant that every run breaks. */
const own =
  "export const invariants = [{ name: 'nothing-is-read', check({ finalReads }, tally) { tally.compare(finalReads.length === 0, 1, () => 'read'); } }];";
let directory = '';

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'lockstep-fleet-'));
  writeFileSync(join(directory, 'own.mjs'), own);
});
afterAll(() => rmSync(directory, { recursive: true }));

function call(...words: readonly string[]): { status: number | null; out: string; err: string } {
  const env = { ...process.env, GITHUB_ACTIONS: '', GITHUB_STEP_SUMMARY: '' };
  const made = spawnSync(process.execPath, [program, ...words], { encoding: 'utf8', cwd: directory, env });
  return { status: made.status, out: made.stdout.trimEnd(), err: made.stderr };
}

const run = (...words: readonly string[]): ReturnType<typeof call> =>
  call('run', 'calm', '--jobs', '1', '--no-shrink', '--json', ...words);

const checkpointOf = (name: string): Checkpoint =>
  JSON.parse(readFileSync(join(directory, name, 'checkpoint.json'), 'utf8')) as Checkpoint;

it('two parts, one of them ended early and gone on with, merge into the whole campaign', () => {
  const whole = JSON.parse(run('--seeds', '3', '--out', 'whole').out) as Campaign;
  // This part ended after its first seed.
  expect(run('--seeds', '1', '--shard', '0/2', '--out', 'a').status).toBe(0);
  expect(checkpointOf('a').scenarios[0]?.seeds).toEqual([[1, 1]]);
  const { scenarios } = JSON.parse(
    run('--seeds', '3', '--shard', '0/2', '--out', 'a', '--resume').out,
  ) as Campaign;
  expect(scenarios).toMatchObject([{ name: 'calm', seeds: 2, passed: 2 }]);
  expect(run('--seeds', '3', '--shard', '1/2', '--out', 'b').status).toBe(0);
  const { out, status, err } = call('merge', 'a', 'b', '--json', '--out', 'merged');
  expect([status, err]).toEqual([0, '']);
  const merged = JSON.parse(out) as Campaign;
  const told = ({ scenarios: [one], coverage }: Campaign): unknown => ({ ...one, wall_ms: 0, coverage });
  expect(told(merged)).toEqual(told(whole));
  expect(readFileSync(join(directory, 'merged', 'index.html'), 'utf8')).toContain('calm');

  expect(call('merge', 'a')).toMatchObject({
    status: 0,
    err: expect.stringContaining('not all parts of the campaign are here: 1/2') as string,
  });
  expect(call('merge', 'a', 'a')).toMatchObject({
    status: 2,
    err: expect.stringContaining('both ran calm, seed 1') as string,
  });
});

it('the plan of a failure is replayed from the directory of its part, wherever that lies now', () => {
  expect(run('--scenarios', 'own.mjs', '--seeds', '2', '--shard', '0/2', '--out', 'c').status).toBe(1);
  cpSync(join(directory, 'c'), join(directory, 'moved'), { recursive: true });
  rmSync(join(directory, 'c'), { recursive: true });
  const { out, status } = call('merge', 'moved', '--json');
  expect(status).toBe(1);
  const { scenarios } = JSON.parse(out) as Campaign;
  expect(scenarios[0]).toMatchObject({
    failed_seeds: [1],
    failure: { seed: 1, replay: 'lockstep-sim replay moved/calm-1.json --scenarios own.mjs' },
  });
});

it('a directory without a checkpoint, and --resume without a directory, say what to do', () => {
  expect(call('merge', directory)).toMatchObject({
    status: 2,
    err: expect.stringContaining('lockstep-sim run --out') as string,
  });
  expect(run('--resume')).toMatchObject({
    status: 2,
    err: expect.stringContaining('--resume needs --out DIR') as string,
  });
});

it('the files for GitHub and Kubernetes name options and exit codes that there are', () => {
  const root = join(import.meta.dirname, '../..');
  const textOf = (file: string): string => readFileSync(join(root, file), 'utf8');
  const known = ['run', 'merge'].map((name) => call(name, '--help').out).join('\n');
  const documents = parseAllDocuments(textOf('sim/docs/fleet-job.yaml')).map(
    (document) => document.toJS() as unknown,
  );
  expect(documents).toMatchObject([{ kind: 'PersistentVolumeClaim' }, { kind: 'Job' }]);
  const job = documents[1] as {
    spec: { podFailurePolicy: { rules: { onExitCodes: { values: number[] } }[] } };
  };
  const { passed, ...others } = exitCodes;
  expect(job.spec.podFailurePolicy.rules[0]?.onExitCodes.values).toEqual(Object.values(others));
  expect(passed).toBe(0);
  for (const file of ['sim/docs/fleet-job.yaml', '.github/workflows/fleet.yml']) {
    const flags = textOf(file)
      .split('\n')
      .filter((line) => /lockstep-sim|sim\/main|--shard/.test(line) && !line.startsWith('#'))
      .flatMap((line) => line.match(/--[a-z-]+/g) ?? []);
    expect(flags.length).toBeGreaterThan(3);
    for (const flag of flags) expect(known).toContain(`${flag} `);
  }
});
