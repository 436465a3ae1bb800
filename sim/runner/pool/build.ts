/**
 * Finds the build that a command belongs to, and the files that the command and its worker threads run: all modules in
 * one bundle, which starts faster, or the modules themselves.
 */
import { readdirSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

import { BundledCode } from '../../../engine/real/bundled-code.ts';

/** The directory of the build that this file belongs to, whether it is a module or in a bundle. */
export const buildDirectory = fileURLToPath(new URL('../../..', import.meta.url));

const room = join('sim', 'runner', 'pool');

/** The directory of the bundles. It is as deep as this file's, so that `buildDirectory` is right in them. */
export const bundleDirectory = join('sim', 'runner', 'bundle');

/** `worker.ts` with all its imports, bundled in one file (.ci/bundle.js). */
export const bundleFile = join(bundleDirectory, 'worker.cjs');

/** `sim/cli/commands.ts` with all its imports. */
export const commandsBundleFile = join(bundleDirectory, 'commands.cjs');

/** The simulator for a browser's worker, bundled in one script (.ci/browser.js). */
export const browserBundleFile = join('sim', 'browser', 'worker.bundle.js');

/**
 * The file that the threads of a build start with. It loads the bundle, unless a module is newer than the bundle, or
 * `ownFile` is to be loaded: that file imports modules itself, and each module must exist once.
 */
export function workerFileOf(build: string, ownFile?: string): URL {
  const isBundled = ownFile === undefined && isCurrent(join(build, bundleFile), build);
  return pathToFileURL(join(build, room, isBundled ? 'bundled-worker.js' : 'worker.js'));
}

/**
 * Loads the commands of a build: what `sim/cli/commands.ts` exports. `hasOwn`: a file of the user is to be loaded, as for
 * `workerFileOf`.
 */
export async function loadCommands(build: string, hasOwn: boolean): Promise<object> {
  const bundle = join(build, commandsBundleFile);
  if (!hasOwn && isCurrent(bundle, build))
    return new BundledCode(join(build, bundleDirectory)).load(basename(bundle));
  return (await import(pathToFileURL(join(build, 'sim', 'cli', 'commands.js')).href)) as object;
}

function isCurrent(bundle: string, build: string): boolean {
  const madeMs = statSync(bundle, { throwIfNoEntry: false })?.mtimeMs;
  if (madeMs === undefined) return false;
  return readdirSync(build, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.js') && !name.endsWith('.bundle.js'))
    .every((name) => statSync(join(build, name)).mtimeMs <= madeMs);
}
