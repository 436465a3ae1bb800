/**
 * Another build that a benchmark measures in turns with this one (`--compare`): a `dist` directory, or a revision of
 * this repository, which is checked out and built once and kept under `dist-builds`.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, readdirSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';

import { builtFile } from '../../processes/built-file.ts';
import { progress } from '../bench-process.ts';

/** A build beside this one. */
export interface OtherBuild {
  /** What the tables call it: the short name of the revision, or the directory as it was given. */
  readonly name: string;
  /** Its `dist` directory. */
  readonly dist: string;
}

/** Characters of a revision's name in tables. */
const shortName = 8;

/** The build that `what` names. Throws an error that says what was wrong with it, or which step of the build failed. */
export function otherBuild(what: string): OtherBuild {
  if (existsSync(join(what, 'engine', 'main.js'))) return { name: what, dist: resolve(what) };
  const project = dirname(dirname(dirname(builtFile('engine/main.js'))));
  const asked = git(project, ['rev-parse', '--verify', '--quiet', '--end-of-options', `${what}^{commit}`]);
  if (asked === undefined)
    throw new Error(
      `It is neither a directory of a build (with engine/main.js) nor a revision of the repository at ${project}.`,
    );
  const revision = asked.trim();
  const kept = join(project, 'dist-builds', revision);
  if (!existsSync(join(kept, 'dist', 'engine', 'main.js'))) build(project, revision, kept);
  return { name: revision.slice(0, shortName), dist: join(kept, 'dist') };
}

/** What a build needs in order to run; Node.js reads the form of its modules from `package.json`. */
const keptNames = new Set(['dist', 'node_modules', 'package.json']);

/** Checks the revision out and builds it in a directory beside `kept`, which it then becomes. */
function build(project: string, revision: string, kept: string): void {
  progress(`building ${revision.slice(0, shortName)}; kept in ${kept}`);
  const place = `${kept}.${process.pid}`;
  try {
    buildIn(place, project, revision);
    rmSync(kept, { recursive: true, force: true });
    renameSync(place, kept);
  } finally {
    rmSync(place, { recursive: true, force: true });
  }
}

function buildIn(place: string, project: string, revision: string): void {
  mkdirSync(place, { recursive: true });
  // An index of its own: the repository's index and work tree stay as they are.
  const index = { GIT_INDEX_FILE: join(place, '.index') };
  if (git(project, ['--work-tree', place, 'checkout', '--quiet', revision, '--', '.'], index) === undefined)
    throw new Error(`git could not check out ${revision} in ${place}`);
  const lockfile = 'package-lock.json';
  const isSameLock = readFileSync(join(project, lockfile)).equals(readFileSync(join(place, lockfile)));
  if (isSameLock) symlinkSync(join(project, 'node_modules'), join(place, 'node_modules'));
  else npm(place, ['ci', '--ignore-scripts']);
  npm(place, ['run', 'build']);
  for (const name of readdirSync(place))
    if (!keptNames.has(name)) rmSync(join(place, name), { recursive: true });
}

function git(
  project: string,
  words: readonly string[],
  variables: Readonly<Record<string, string>> = {},
): string | undefined {
  const options = { encoding: 'utf8', env: { ...process.env, ...variables } } as const;
  const { status, stdout } = spawnSync('git', ['-C', project, ...words], options);
  return status === 0 ? stdout : undefined;
}

function npm(place: string, words: readonly string[]): void {
  const { status, stdout, stderr } = spawnSync('npm', words, { cwd: place, encoding: 'utf8' });
  if (status !== 0)
    throw new Error(`npm ${words.join(' ')} in ${basename(place)} failed:\n${stdout}\n${stderr}`);
}
