/** Creates the copy of the built engine that contains one mutant. Works in real time, on the machine's files. */
import { cp, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

import { LockstepError } from '../../engine/base/errors.ts';
import { findNamed, nearestNames } from '../check/named.ts';
import { mutants } from '../mutants/catalogue.ts';
import type { EnumeratedBug, Mutant, MutantEdit } from '../mutants/mutant.ts';
import { transactionBugs } from '../mutants/transaction-mutants.ts';
import { buildDirectory, bundleFile } from '../runner/pool/build.ts';

/** The mutant of that name or code. Throws `NotFound` with the nearest names. */
export function mutantNamed(given: string): Mutant {
  return mustGet(mutants, given, () => {
    const other = findNamed(transactionBugs, given);
    return other === undefined
      ? undefined
      : `the crash points of a transaction expose the planted bug ${other.name}: lockstep-sim enumerate xa --plant ${other.name}`;
  });
}

/** The mutant of that name or code among those that crash points expose. Throws `NotFound` with the nearest names. */
export function mustGetEnumeratedBug(given: string): EnumeratedBug {
  return mustGet(transactionBugs, given, () => {
    const other = findNamed(mutants, given);
    return other === undefined
      ? undefined
      : `a scenario exposes the planted bug ${other.name}: lockstep-sim run --plant ${other.name}`;
  });
}

/** `elsewhere`: how to use it, if it is a mutant of the other kind. */
function mustGet<Bug extends MutantEdit>(
  bugs: readonly Bug[],
  given: string,
  elsewhere: () => string | undefined,
): Bug {
  const bug = findNamed(bugs, given);
  if (bug !== undefined) return bug;
  const unknown = `there is no planted bug "${given}"; the nearest are ${nearestNames(bugs, given)}; lockstep-sim list --mutants shows all`;
  throw new LockstepError('NotFound', elsewhere() ?? unknown);
}

/** The edited text. Throws `Conflict` unless `find` occurs exactly once: otherwise the catalogue is out of date. */
export function mutateInto(text: string, bug: MutantEdit): string {
  const found = text.split(bug.find).length - 1;
  if (found !== 1) {
    throw new LockstepError(
      'Conflict',
      `${bug.name}: its place is found ${found} times in ${bug.file}, once is expected`,
    );
  }
  return text.replace(bug.find, () => bug.replace);
}

/** Copies the build to `dist-plants/<name>` beside it, applies the edit there, and returns that directory. */
export async function mutateBuild(bug: MutantEdit, build: string = buildDirectory): Promise<string> {
  const edited = mutateInto(await readFile(join(build, bug.file), 'utf8'), bug);
  const plants = join(dirname(join(build, '.')), 'dist-plants');
  const target = join(plants, bug.name);
  const fresh = join(plants, `${bug.name}.${process.pid}`);
  await mkdir(plants, { recursive: true });
  // The bundle contains no mutant: the copy runs its modules.
  await cp(build, fresh, { recursive: true, filter: (source) => !source.endsWith(bundleFile) });
  await writeFile(join(fresh, bug.file), edited);
  await rm(target, { recursive: true, force: true });
  await rename(fresh, target);
  return target;
}
