import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { crashAndRestart } from '../../../scenarios/crash-and-restart.ts';
import { planOfSeed, runPlan } from '../../lockstep-sim.ts';
import type { Task } from '../task.ts';
import { bundleFile, commandsBundleFile, loadCommands, workerFileOf } from './build.ts';
import { Pool } from './pool.ts';

const built = fileURLToPath(new URL('../../../dist', import.meta.url));
let build = '';

beforeEach(() => {
  build = mkdtempSync(join(tmpdir(), 'lockstep-build-'));
});

afterEach(() => {
  rmSync(build, { recursive: true });
});

/** A file of the build, changed at that second. */
function put(name: string, second: number, text = ''): void {
  mkdirSync(dirname(join(build, name)), { recursive: true });
  writeFileSync(join(build, name), text);
  utimesSync(join(build, name), second, second);
}

function fileOf(ownFile?: string): string {
  return fileURLToPath(workerFileOf(build, ownFile)).slice(build.length + 1);
}

const modules = join('sim', 'runner', 'pool', 'worker.js');
const bundled = join('sim', 'runner', 'pool', 'bundled-worker.js');

describe('what a worker thread runs', () => {
  beforeEach(() => {
    put(modules, 100);
    put('engine/node/node.js', 200);
  });

  it('is the modules where there is no bundle', () => {
    expect(fileOf()).toBe(modules);
  });

  it('is the bundle where no module is newer', () => {
    put(bundleFile, 200);
    put('engine/node/node.d.ts', 300);
    expect(fileOf()).toBe(bundled);
  });

  it('is the modules where one was changed after the bundle was made', () => {
    put(bundleFile, 199);
    expect(fileOf()).toBe(modules);
  });

  it('is the bundle where another bundle is newer', () => {
    put(bundleFile, 200);
    put(commandsBundleFile, 300);
    expect(fileOf()).toBe(bundled);
  });

  it('is the modules where the user has one that imports them', () => {
    put(bundleFile, 200);
    expect(fileOf('stories.js')).toBe(modules);
  });
});

it('the commands come from the bundle, from the modules for a file of the user, and where one is newer', async () => {
  put('sim/cli/commands.js', 100, "export const origin = 'modules';");
  put(commandsBundleFile, 200, "exports.origin = 'bundle';");
  expect(await loadCommands(build, false)).toEqual({ origin: 'bundle' });
  expect(await loadCommands(build, true)).toMatchObject({ origin: 'modules' });
  put('engine/node/node.js', 300);
  expect(await loadCommands(build, false)).toMatchObject({ origin: 'modules' });
});

it('a run comes out the same from the bundle of this build and from its sources', async () => {
  expect(fileURLToPath(workerFileOf(built))).toBe(join(built, bundled));
  const pool = new Pool(built, 1);
  const tasks: Task[] = [{ kind: 'seed', scenario: crashAndRestart.name, seed: 1 }];
  const digests: string[] = [];
  await pool.performAll(tasks.values(), (_, answer) => {
    if (answer.kind === 'ran') digests.push(answer.result.digest);
  });
  await pool.close();
  const { digest } = await runPlan(planOfSeed(crashAndRestart, 1));
  expect(digests).toEqual([digest]);
});
