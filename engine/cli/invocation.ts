/**
 * Finds out how this command was called (through npx, by its installed name, or as a file of the build), so that the
 * user can type the commands that it prints.
 */
import { basename, relative } from 'node:path';

import { UsageError } from './exit-codes.ts';

/** The program file: `dist/engine/main.js`, or the installed link to it. Throws `UsageError` if there is none. */
export function program(): string {
  const file = process.argv[1];
  if (file === undefined) throw new UsageError('lockstep must be run from its file');
  return file;
}

/** The text that calls this command again from the same directory. */
export function invocation(): string {
  const file = program();
  if (basename(file) !== 'lockstep') return `node ${relative(process.cwd(), file)}`;
  return process.env['npm_command'] === 'exec' ? 'npx lockstep' : 'lockstep';
}
