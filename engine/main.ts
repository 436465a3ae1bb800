#!/usr/bin/env node
/**
 * The entry point of the `lockstep` command. It runs the bundle that the build makes of all modules (`.ci/bundle.js`),
 * which starts in half the time and takes a fifth less memory than the modules, which are the same code.
 */
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

import type * as Program from './cli/program.ts';

const room = import.meta.dirname;
const bundle = join(room, 'bundle', 'program.js');

const { runLockstep } = (await (isCurrent()
  ? import(pathToFileURL(bundle).href)
  : import('./cli/program.ts'))) as typeof Program;

// All outputs are flushed and the ports are closed by now. Remaining handles must not keep the process alive.
process.exit(await runLockstep(process.argv));

/** Whether the bundle can be used. In a checkout the compiler alone may have run since it was made. */
function isCurrent(): boolean {
  const madeMs = statSync(bundle, { throwIfNoEntry: false })?.mtimeMs;
  if (madeMs === undefined) return false;
  if (!existsSync(join(room, '../../tsconfig.json'))) return true;
  const modules = readdirSync(room, { recursive: true, encoding: 'utf8' }).filter((name) =>
    /\.js$/.test(name),
  );
  return modules.every((name) => statSync(join(room, name)).mtimeMs <= madeMs || name.startsWith('bundle'));
}
