#!/usr/bin/env node
/**
 * The entry point of the `lockstep` command. It runs the bundle that the build makes of all modules (`.ci/bundle.js`),
 * which starts in half the time and takes a fifth less memory than the modules, which are the same code.
 */
import type { Dirent } from 'node:fs';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

import { flushed } from './cli/flushed.ts';
import type * as Program from './cli/program.ts';
import { BundledCode } from './real/bundled-code.ts';

const directory = import.meta.dirname;
const bundle = join(directory, 'bundle');
const entry = 'program.cjs';

const { runLockstep } = (
  isCurrent() ? new BundledCode(bundle).load(entry) : await import('./cli/program.ts')
) as typeof Program;

const code = await runLockstep(process.argv);
await Promise.all([flushed(process.stdout), flushed(process.stderr)]);
// The ports are closed by now. Remaining handles must not keep the process alive.
process.exit(code);

/** Whether the bundle can be used. In a checkout the compiler alone may have run since it was made. */
function isCurrent(): boolean {
  const madeMs = statSync(join(bundle, entry), { throwIfNoEntry: false })?.mtimeMs;
  if (madeMs === undefined) return false;
  return !existsSync(join(directory, '../../tsconfig.json')) || isOlder(directory, madeMs);
}

/** Whether all modules below a directory are as old as the bundle. */
function isOlder(below: string, madeMs: number): boolean {
  const isSo = (one: Dirent): boolean => {
    const path = join(below, one.name);
    if (one.isDirectory()) return path === bundle || isOlder(path, madeMs);
    return !one.name.endsWith('.js') || statSync(path).mtimeMs <= madeMs;
  };
  return readdirSync(below, { withFileTypes: true }).every(isSo);
}
