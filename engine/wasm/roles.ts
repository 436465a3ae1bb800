/**
 * The roles of modules, by their exports. Keyfun: computes the route bytes of a key. Phase: a step of MapReduce. Both
 * have the same form: an allocator, and a function of (input pointer, input length, address for the output's pointer,
 * address for its length). Its result is 0, or the output is an error text.
 */
import { ModuleError } from './module-error.ts';
import type { FunctionType, ModuleStructure } from './module.ts';
import { exportKinds } from './module.ts';
import { valueTypes } from './opcodes.ts';

/** The role in which a module is called. */
export type Role = 'keyfun' | 'phase';

/** All roles. */
export const roles: readonly Role[] = ['keyfun', 'phase'];

/** The exports of a role, besides `memory`. */
export const roleExports: Readonly<Record<Role, { readonly alloc: string; readonly apply: string }>> = {
  keyfun: { alloc: 'keyfun_alloc', apply: 'keyfun_route' },
  phase: { alloc: 'phase_alloc', apply: 'phase_apply' },
};

const { i32 } = valueTypes;
const allocType: FunctionType = { parameters: [i32], results: [i32] };
const applyType: FunctionType = { parameters: [i32, i32, i32, i32], results: [i32] };

/** The module's roles, at least one. Throws `ModuleError` if an export is missing or of another type. */
export function rolesOf(module: ModuleStructure): readonly Role[] {
  const found = roles.filter((role) => hasRole(module, role));
  if (found.length > 0) return found;
  const wanted = roles.map((role) => `${roleExports[role].alloc} and ${roleExports[role].apply}`);
  throw new ModuleError(`it exports neither ${wanted.join(' nor ')}`, module.bytes.length);
}

function hasRole(module: ModuleStructure, role: Role): boolean {
  const { alloc, apply } = roleExports[role];
  const names = [alloc, apply].filter((name) => module.exports.some((entry) => entry.name === name));
  if (names.length === 0) return false;
  checkFunction(module, alloc, allocType);
  checkFunction(module, apply, applyType);
  const memory = module.exports.find(({ name }) => name === 'memory');
  if (memory?.kind !== exportKinds.memory) fail(module, 'it exports no memory called memory');
  return true;
}

function checkFunction(module: ModuleStructure, name: string, type: FunctionType): void {
  const entry = module.exports.find((one) => one.name === name);
  if (entry?.kind !== exportKinds.function) fail(module, `it exports no function ${name}`);
  const actual = module.types[module.functions[entry.index] ?? -1];
  const fits =
    actual?.parameters.join() === type.parameters.join() && actual.results.join() === type.results.join();
  if (fits) return;
  const takes = type.parameters.map(() => 'i32').join(', ');
  fail(module, `${name} is not of the type (${takes}) -> i32`);
}

function fail(module: ModuleStructure, problem: string): never {
  throw new ModuleError(problem, module.bytes.length);
}
