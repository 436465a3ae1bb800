/**
 * The build that a command belongs to, and what its worker threads run: all their modules in one file, which is quicker,
 * or each from its own.
 */
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

/** The directory of the build that this file belongs to. */
export const buildDirectory = fileURLToPath(new URL('../../..', import.meta.url));

const room = join('sim', 'runner', 'pool');

/** The built `worker.ts` with all that it imports in one file (.ci/bundle.js). */
export const bundleFile = join(room, 'worker.bundle.js');

/**
 * The file for the threads of a build. The bundle, unless a module is newer than it (it was made of what the module was
 * before), or `ownFile` is to be loaded, which imports modules of its own accord: each is there once.
 */
export function workerFileOf(build: string, ownFile?: string): URL {
  const isBundled = ownFile === undefined && isCurrent(join(build, bundleFile), build);
  return pathToFileURL(join(build, isBundled ? bundleFile : join(room, 'worker.js')));
}

function isCurrent(bundle: string, build: string): boolean {
  const madeMs = statSync(bundle, { throwIfNoEntry: false })?.mtimeMs;
  if (madeMs === undefined) return false;
  return readdirSync(build, { recursive: true, encoding: 'utf8' }).every(
    (name) => !name.endsWith('.js') || statSync(join(build, name)).mtimeMs <= madeMs,
  );
}
