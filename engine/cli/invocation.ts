/**
 * How this command was called, so that what is printed can be typed back: through npx, by its installed name, or as a
 * file of the build.
 */
import { basename, relative } from 'node:path';

import { UsageError } from './exit-codes.ts';

/** The file that runs: `dist/engine/main.js`, or the installed link to it. */
export function program(): string {
  const file = process.argv[1];
  if (file === undefined) throw new UsageError('lockstep must be run from its file');
  return file;
}

/** The words that call this command again, from the same directory. */
export function invocation(): string {
  const file = program();
  if (basename(file) !== 'lockstep') return `node ${relative(process.cwd(), file)}`;
  return process.env['npm_command'] === 'exec' ? 'npx lockstep' : 'lockstep';
}
