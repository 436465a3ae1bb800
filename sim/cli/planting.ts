/**
 * Makes the copy of the built engine that holds one planted bug. Lives in real time, on the machine's own files.
 */
import { cp, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

import { LockstepError } from '../../engine/base/errors.ts';
import { mutants } from '../mutants/catalogue.ts';
import type { EnumeratedBug, Mutant, MutantEdit } from '../mutants/mutant.ts';
import { transactionBugs } from '../mutants/transaction-mutants.ts';
import { buildDirectory, bundleFile } from '../runner/pool/build.ts';

/** The bug of that id. Throws `NotFound` with the known ids. */
export function mutantNamed(id: string): Mutant {
  const bug = mutants.find((one) => one.id === id);
  if (bug !== undefined) return bug;
  const known = idsOf(mutants);
  throw new LockstepError('NotFound', `there is no planted bug "${id}"; known are ${known}`);
}

/** The bug of that id among those that crash points expose. Throws `NotFound` with the known ids. */
export function mustGetEnumeratedBug(id: string): EnumeratedBug {
  const bug = transactionBugs.find((one) => one.id === id);
  if (bug !== undefined) return bug;
  const known = idsOf(transactionBugs);
  throw new LockstepError('NotFound', `no crash point exposes a planted bug "${id}"; known are ${known}`);
}

/** The edited text. Throws `Conflict` unless the edit's place is found exactly once: the catalogue is out of date. */
export function plantInto(text: string, bug: MutantEdit): string {
  const found = text.split(bug.find).length - 1;
  if (found !== 1) {
    throw new LockstepError(
      'Conflict',
      `${bug.id}: its place is found ${found} times in ${bug.file}, once is expected`,
    );
  }
  return text.replace(bug.find, () => bug.replace);
}

/** Copies the build to `dist-plants/<id>` beside it with the bug in; answers that directory. */
export async function plant(bug: MutantEdit, build: string = buildDirectory): Promise<string> {
  const edited = plantInto(await readFile(join(build, bug.file), 'utf8'), bug);
  const plants = join(dirname(join(build, '.')), 'dist-plants');
  const target = join(plants, bug.id);
  const fresh = join(plants, `${bug.id}.${process.pid}`);
  await mkdir(plants, { recursive: true });
  // The bundle holds no bug: the modules run.
  await cp(build, fresh, { recursive: true, filter: (source) => !source.endsWith(bundleFile) });
  await writeFile(join(fresh, bug.file), edited);
  await rm(target, { recursive: true, force: true });
  await rename(fresh, target);
  return target;
}

/** The ids in their order: M2 before M10. */
function idsOf(bugs: readonly { readonly id: string }[]): string {
  const numbered = bugs.map(({ id }) => ({ id, number: Number(/\d+/.exec(id)?.[0] ?? 0) }));
  return numbered
    .toSorted((left, right) => left.number - right.number || (left.id < right.id ? -1 : 1))
    .map(({ id }) => id)
    .join(', ');
}
