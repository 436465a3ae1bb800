/**
 * Creates the copy of the built engine that contains a mutant of the catalogue, or the changes of a user's patch. Works
 * in real time, on the machine's files.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import type { Dirent } from 'node:fs';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { cp, link, mkdir, readdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve } from 'node:path';
import process from 'node:process';

import { LockstepError } from '../../engine/base/errors.ts';
import { findNamed, nearestNames } from '../check/named.ts';
import { mutants } from '../mutants/catalogue.ts';
import type { EnumeratedMutant, Mutant, MutantEdit } from '../mutants/mutant.ts';
import { stepMutants } from '../mutants/step-mutants.ts';
import { transactionMutants } from '../mutants/transaction-mutants.ts';
import { browserBundleFile, buildDirectory, bundleDirectory } from '../runner/pool/build.ts';

/** Copies of the build lie in this folder beside it. */
export const mutatedFolder = 'dist-mutants';

/** The mutant of that name or code. Throws `NotFound` with the nearest names. */
export function mutantNamed(given: string): Mutant {
  return mustGet(mutants, given, () => {
    const step = findNamed(stepMutants, given);
    if (step?.subject !== undefined)
      return `durable steps expose the mutant ${step.name}: lockstep-sim enumerate ${step.subject} --mutant ${step.name}`;
    const other = findNamed(transactionMutants, given);
    return other === undefined
      ? undefined
      : `the crash points of a transaction expose the mutant ${other.name}: lockstep-sim enumerate xa --mutant ${other.name}`;
  });
}

/** The mutant of that name or code among those that crash points expose. Throws `NotFound` with the nearest names. */
export function mustGetEnumeratedMutant(given: string): EnumeratedMutant {
  return mustGet(transactionMutants, given, () => {
    const other = findNamed(mutants, given);
    return other === undefined
      ? undefined
      : `a scenario exposes the mutant ${other.name}: lockstep-sim run --mutant ${other.name}`;
  });
}

/**
 * The mutant of that name or code, of any kind but those of transactions' crash points. Throws `NotFound` with the
 * nearest names.
 */
export function mustGetStepMutant(given: string): MutantEdit {
  return findNamed(stepMutants, given) ?? mutantNamed(given);
}

/** `elsewhere`: how to use it, if it is a mutant of the other kind. */
function mustGet<Kind extends MutantEdit>(
  all: readonly Kind[],
  given: string,
  elsewhere: () => string | undefined,
): Kind {
  const mutant = findNamed(all, given);
  if (mutant !== undefined) return mutant;
  const unknown = `there is no mutant "${given}"; the nearest are ${nearestNames(all, given)}; lockstep-sim list --mutants shows all`;
  throw new LockstepError('NotFound', elsewhere() ?? unknown);
}

/** The edited text. Throws `Conflict` unless `find` occurs exactly once: otherwise the catalogue is out of date. */
export function mutateInto(text: string, mutant: MutantEdit): string {
  const found = text.split(mutant.find).length - 1;
  if (found !== 1) {
    throw new LockstepError(
      'Conflict',
      `${mutant.name}: its place is found ${found} times in ${mutant.file}, once is expected`,
    );
  }
  return text.replace(mutant.find, () => mutant.replace);
}

/**
 * Makes a copy of the build in `dist-mutants/<name>` beside it, with the edit applied, and returns that directory. A
 * copy of this very build is used again, with what has been bundled in it. Another process may use the copy of an
 * earlier build: it is replaced whole.
 */
export async function mutateBuild(mutant: MutantEdit, build: string = buildDirectory): Promise<string> {
  const edited = mutateInto(await readFile(join(build, mutant.file), 'utf8'), mutant);
  const mutated = join(dirname(join(build, '.')), mutatedFolder);
  const target = join(mutated, mutant.name);
  if (await isCopyOf(build, target, mutant.file, edited)) return target;
  const fresh = join(mutated, `${mutant.name}.${process.pid}`);
  await linkBuild(build, fresh, mutant.file, edited);
  await rm(target, { recursive: true, force: true });
  await rename(fresh, target);
  return target;
}

/**
 * Makes a copy of the build with one file's text replaced. All other files are hard links, so a copy takes no space and
 * a tenth of a second. The bundles are left out: they hold that file's former text.
 */
export async function linkBuild(build: string, target: string, file: string, text: string): Promise<void> {
  await rm(target, { recursive: true, force: true });
  const names = await linkedFiles(build, file);
  const folders = new Set([file, ...names].map((name) => dirname(name)));
  for (const folder of folders) await mkdir(join(target, folder), { recursive: true });
  await Promise.all(names.map((name) => link(join(build, name), join(target, name))));
  await writeFile(join(target, file), text);
}

/** The files of a build that its copy with another text of `file` shares with it. */
async function linkedFiles(build: string, file: string): Promise<readonly string[]> {
  const without = new Set([file, browserBundleFile]);
  const entries = await readdir(build, { recursive: true, withFileTypes: true });
  // A bundle that another process is making may come and go.
  const isOurs = ({ name }: Dirent): boolean => !name.endsWith('.d.ts') && !name.endsWith('.bundle.js.new');
  return entries
    .filter((entry) => entry.isFile() && isOurs(entry))
    .map((entry) => relative(build, join(entry.parentPath, entry.name)))
    .filter((name) => !without.has(name) && !name.startsWith(bundleDirectory));
}

/**
 * Whether `target` is the build with that text of `file`: it shares all other files, and none has changed since the copy
 * was made.
 */
async function isCopyOf(build: string, target: string, file: string, text: string): Promise<boolean> {
  const own = join(target, file);
  if (!existsSync(own) || readFileSync(own, 'utf8') !== text) return false;
  const { mtimeMs: madeMs } = statSync(own);
  const [names, copied] = [await linkedFiles(build, file), await linkedFiles(target, file)];
  if (names.length !== copied.length) return false;
  return names.every((name) => {
    const source = statSync(join(build, name));
    return (
      source.mtimeMs < madeMs && statSync(join(target, name), { throwIfNoEntry: false })?.ino === source.ino
    );
  });
}

/** Whether the value of `--mutant` is a file with a unified diff. */
export function isPatch(given: string): boolean {
  return /\.(patch|diff)$/.test(given);
}

/**
 * The directory of the build with the mutant of that name or code, or with the patch of that file. Throws `NotFound` for
 * an unknown name or file, and `BadRequest` for a patch that does not apply or does not compile.
 */
export async function engineWith(given: string): Promise<string> {
  return isPatch(given) ? patchBuild(given) : mutateBuild(mutantNamed(given));
}

/** The value of `--mutant` that replays the same: a mutant's name, or the patch's file. */
export function mutantWord(given: string): string {
  return isPatch(given) ? given : mutantNamed(given).name;
}

/** What the build is made from, in the repository's root. */
const sources = ['engine', 'sim', 'scenarios', 'reports', 'package.json', 'tsconfig.json'];

/** Applies the patch to a copy of the sources, compiles it, and returns the directory of that build. */
async function patchBuild(file: string): Promise<string> {
  const patch = await readFile(file).catch((cause: unknown) => {
    throw new LockstepError('NotFound', `the patch ${file} cannot be read`, { cause });
  });
  const root = dirname(join(buildDirectory, '.'));
  const compiler = join(root, 'node_modules/typescript7/bin/tsc');
  if (!existsSync(join(root, 'tsconfig.json')) || !existsSync(compiler)) {
    const detail = 'a patch changes the sources: run it in a clone of the repository, after npm ci';
    throw new LockstepError('BadRequest', detail);
  }
  process.stderr.write(`compiling the engine with ${file}\n`);
  const name = `patch-${createHash('sha256').update(patch).digest('hex').slice(0, 12)}`;
  const target = join(root, mutatedFolder, name);
  const work = `${target}.${process.pid}`;
  const tree = join(work, 'source');
  await mkdir(tree, { recursive: true });
  try {
    for (const one of sources) await cp(join(root, one), join(tree, one), { recursive: true });
    await symlink(join(root, 'node_modules'), join(tree, 'node_modules'));
    // Without the ceiling, git would find the repository around the copy, and leave the copy as it is.
    const env = { ...process.env, GIT_CEILING_DIRECTORIES: work };
    const apply = ['apply', '--whitespace=nowarn', resolve(file)];
    mustSucceed(`${file} does not apply`, spawnSync('git', apply, { cwd: tree, env, encoding: 'utf8' }));
    const compile = [compiler, '-p', 'tsconfig.json', '--outDir', join(work, 'build')];
    const compiled = spawnSync(process.execPath, compile, { cwd: tree, encoding: 'utf8' });
    mustSucceed(`the sources with ${file} do not compile`, compiled);
    await writeFile(join(work, 'build', patchNote), file);
    await rm(target, { recursive: true, force: true });
    await rename(join(work, 'build'), target);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
  return target;
}

/** The file in a patched build that names the patch. */
const patchNote = 'patched-by';

function mustSucceed(
  what: string,
  {
    status,
    stdout,
    stderr,
    error,
  }: ReturnType<typeof spawnSync> & { readonly stdout: string; readonly stderr: string },
): void {
  if (status === 0) return;
  const why = error?.message ?? `${stderr}${stdout}`.trim();
  throw new LockstepError('BadRequest', `${what}: ${why}`);
}

/** The value of `--mutant` of the build that this program belongs to; undefined if it has none. */
export function ownMutant(): string | undefined {
  const build = join(buildDirectory, '.');
  if (basename(dirname(build)) !== mutatedFolder) return undefined;
  const note = join(build, patchNote);
  return existsSync(note) ? readFileSync(note, 'utf8') : basename(build);
}
