/**
 * Loads a module with the user's scenarios and invariants (`--scenarios FILE`): it exports the list `scenarios`, the
 * list `invariants`, or both. Each worker thread loads it itself, because functions do not cross threads.
 */
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

import { LockstepError } from '../../engine/base/errors.ts';
import { scenarios as builtIn } from '../../scenarios/catalogue.ts';
import type { Invariant } from '../check/user-invariants.ts';
import { mustBeInvariants } from '../check/user-invariants.ts';
import type { Own } from '../runner/user-defined.ts';
import { nothingOwn } from '../runner/user-defined.ts';
import type { Scenario } from '../plan/scenario.ts';
import { mustBeScenario } from '../plan/scenario-validation.ts';

/** The exports of the file; no additions without a file. Throws `NotFound`, `BadRequest`, `PlanInvalid`. */
export async function loadOwn(file: string | undefined): Promise<Own> {
  if (file === undefined) return nothingOwn;
  const module = await importFile(file);
  const given = listIn<Scenario>(module, 'scenarios', file);
  const invariants = listIn<Invariant>(module, 'invariants', file);
  if (given.length + invariants.length === 0) {
    const detail = `${file} exports no scenarios: "export const scenarios = […]", "export const invariants = […]" or both are expected`;
    throw new LockstepError('BadRequest', detail);
  }
  const taken = builtIn.map(({ name }) => name);
  const scenarios = given.map((one) => {
    const scenario = mustBeScenario(one, taken);
    taken.push(scenario.name);
    return scenario;
  });
  mustBeInvariants(invariants);
  return { scenarios, invariants };
}

async function importFile(file: string): Promise<object> {
  try {
    return (await import(pathToFileURL(resolve(file)).href)) as object;
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new LockstepError('NotFound', `the scenarios file cannot be loaded: ${why}`, { cause });
  }
}

function listIn<T>(module: object, name: string, file: string): readonly T[] {
  const value: unknown = Reflect.get(module, name) ?? [];
  if (!Array.isArray(value)) throw new LockstepError('BadRequest', `${file}: "${name}" is not a list`);
  return value as readonly T[];
}
