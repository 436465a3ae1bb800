/** Tests copies of a build with one edit, on a build of three files. */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';

import { mutants } from '../mutants/catalogue.ts';
import type { MutantEdit } from '../mutants/mutant.ts';
import { browserBundleFile } from '../runner/pool/build.ts';
import { mutateBuild } from './mutate-build.ts';

const [first] = mutants;
let directory = '';
let build = '';

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'lockstep-copies-'));
  build = join(directory, 'dist');
  mkdirSync(join(build, 'engine'), { recursive: true });
  write('engine/edited.js', 'one', 10);
  write('engine/other.js', 'other', 10);
});
afterEach(() => rmSync(directory, { recursive: true }));

/** Writes a file of the build as if that many seconds ago. */
function write(file: string, text: string, secondsAgo: number): void {
  writeFileSync(join(build, file), text);
  const at = new Date(Date.now() - secondsAgo * 1000);
  utimesSync(join(build, file), at, at);
}

/** Copies the build, and says whether the copy is a fresh one: a bundle of it is gone then. */
async function copyIsFresh(replace: string): Promise<boolean> {
  if (first === undefined) throw new Error('the catalogue is empty');
  const edit: MutantEdit = { ...first, file: 'engine/edited.js', find: 'one', replace };
  const copy = await mutateBuild(edit, build);
  expect(readFileSync(join(copy, 'engine/edited.js'), 'utf8')).toBe(replace);
  const bundle = join(copy, browserBundleFile);
  const isFresh = !existsSync(bundle);
  mkdirSync(join(copy, 'sim/browser'), { recursive: true });
  writeFileSync(bundle, 'bundled');
  return isFresh;
}

it('a copy of the same build is used again, with what was bundled in it', async () => {
  expect(await copyIsFresh('two')).toBe(true);
  expect(await copyIsFresh('two')).toBe(false);
});

it('a copy is made anew after another edit, a rebuilt file, and a new one', async () => {
  await copyIsFresh('two');
  expect(await copyIsFresh('three')).toBe(true);
  write('engine/other.js', 'rebuilt', -10);
  expect(await copyIsFresh('three')).toBe(true);
  write('engine/other.js', 'rebuilt', 5);
  write('engine/new.js', 'new', 5);
  expect(await copyIsFresh('three')).toBe(true);
});
