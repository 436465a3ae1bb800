/**
 * Finds the build that a command belongs to, and the files that the command and its worker threads run: all modules in
 * one bundle, which starts faster, or the modules themselves.
 */
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

/** The `lockstep` command's own bundle, which is made of the same modules. */
const commandBundle = join('engine', 'bundle', '/');

/** The directory of the build that this file belongs to. */
export const buildDirectory = fileURLToPath(new URL('../../..', import.meta.url));

const room = join('sim', 'runner', 'pool');

/** `worker.ts` with all its imports, bundled in one file (.ci/bundle.js). */
export const bundleFile = join(room, 'worker.bundle.js');

/** `sim/cli/commands.ts` with all its imports. It lies beside the other bundle, so that both find the build. */
export const commandsBundleFile = join(room, 'commands.bundle.js');

/** The simulator for a browser's worker, bundled in one script (.ci/browser.js). */
export const browserBundleFile = join('sim', 'browser', 'worker.bundle.js');

/**
 * The file that the threads of a build run. It is the bundle, unless a module is newer than the bundle, or `ownFile` is
 * to be loaded: that file imports modules itself, and each module must exist once.
 */
export function workerFileOf(build: string, ownFile?: string): URL {
  return fileOf(build, bundleFile, join(room, 'worker.js'), ownFile !== undefined);
}

/** The file with the commands of a build. `hasOwn`: a file of the user is to be loaded, as for `workerFileOf`. */
export function commandsFileOf(build: string, hasOwn: boolean): URL {
  return fileOf(build, commandsBundleFile, join('sim', 'cli', 'commands.js'), hasOwn);
}

function fileOf(build: string, bundle: string, module: string, hasOwn: boolean): URL {
  return pathToFileURL(join(build, !hasOwn && isCurrent(join(build, bundle), build) ? bundle : module));
}

function isCurrent(bundle: string, build: string): boolean {
  const madeMs = statSync(bundle, { throwIfNoEntry: false })?.mtimeMs;
  if (madeMs === undefined) return false;
  return readdirSync(build, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.js') && !name.endsWith('.bundle.js') && !name.startsWith(commandBundle))
    .every((name) => statSync(join(build, name)).mtimeMs <= madeMs);
}
