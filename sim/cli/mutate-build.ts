/** Creates the copy of the built engine that contains one mutant. Works in real time, on the machine's files. */
import { cp, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

import { LockstepError } from '../../engine/base/errors.ts';
import { findNamed, nearestNames } from '../check/named.ts';
import { mutants } from '../mutants/catalogue.ts';
import type { EnumeratedMutant, Mutant, MutantEdit } from '../mutants/mutant.ts';
import { transactionMutants } from '../mutants/transaction-mutants.ts';
import { browserBundleFile, buildDirectory, bundleFile } from '../runner/pool/build.ts';

/** Copies of the build lie in this folder beside it. */
const mutatedFolder = 'dist-mutants';

/** The mutant of that name or code. Throws `NotFound` with the nearest names. */
export function mutantNamed(given: string): Mutant {
  return mustGet(mutants, given, () => {
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

/** Copies the build to `dist-mutants/<name>` beside it, applies the edit there, and returns that directory. */
export async function mutateBuild(mutant: MutantEdit, build: string = buildDirectory): Promise<string> {
  const edited = mutateInto(await readFile(join(build, mutant.file), 'utf8'), mutant);
  const mutated = join(dirname(join(build, '.')), mutatedFolder);
  const target = join(mutated, mutant.name);
  const fresh = join(mutated, `${mutant.name}.${process.pid}`);
  await mkdir(mutated, { recursive: true });
  // The bundles contain no mutant: the copy runs its modules.
  const bundles = [bundleFile, browserBundleFile];
  const filter = (source: string): boolean => !bundles.some((bundle) => source.endsWith(bundle));
  await cp(build, fresh, { recursive: true, filter });
  await writeFile(join(fresh, mutant.file), edited);
  await rm(target, { recursive: true, force: true });
  await rename(fresh, target);
  return target;
}

/** The mutant of the build that this program belongs to; undefined if it has none. */
export function ownMutant(): string | undefined {
  const build = join(buildDirectory, '.');
  return basename(dirname(build)) === mutatedFolder ? basename(build) : undefined;
}
