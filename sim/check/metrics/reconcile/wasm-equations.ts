/**
 * Equations of Wasm metrics: each traced call counts under its role and outcome. Clients receive no more module
 * failures than occurred, on this node or in phases elsewhere.
 */
import type { IncarnationAccount } from './account.ts';
import type { Claim } from './claims.ts';
import { between, equal } from './claims.ts';
import type { Numbers } from './numbers.ts';

const roles = ['keyfun', 'phase'] as const;
const outcomes = ['ok', 'trap', 'fuel', 'memory', 'result', 'refused'] as const;

/** The claims about the Wasm metrics of one account. */
export function wasmEquations(numbers: Numbers, { truth }: IncarnationAccount): readonly Claim[] {
  const told = (role: string, ...of: readonly string[]): number =>
    of.reduce((sum, outcome) => sum + (truth.wasm[`${role} ${outcome}`] ?? 0), 0);
  const { errors } = truth.clients;
  const sum = (family: string, role: string): number => numbers.sum(family, { role });
  return [
    ...roles.flatMap((role) => [
      equal(`svc_wasm_calls_total, ${role}`, sum('svc_wasm_calls_total', role), told(role, ...outcomes)),
      equal(`svc_wasm_traps_total, ${role}`, sum('svc_wasm_traps_total', role), told(role, 'trap')),
      equal(
        `svc_wasm_fuel_exhausted_total, ${role}`,
        sum('svc_wasm_fuel_exhausted_total', role),
        told(role, 'fuel'),
      ),
      equal(
        `svc_wasm_memory_limit_total, ${role}`,
        sum('svc_wasm_memory_limit_total', role),
        told(role, 'memory'),
      ),
      equal(
        `svc_wasm_bad_results_total, ${role}`,
        sum('svc_wasm_bad_results_total', role),
        told(role, 'result', 'refused'),
      ),
    ]),
    // Every node routes requests itself; a phase failure that a client receives may have occurred at another replica.
    between(
      'WasmOutOfFuel answered, of svc_wasm_fuel_exhausted_total',
      errors['WasmOutOfFuel'] ?? 0,
      0,
      numbers.sum('svc_wasm_fuel_exhausted_total') + (truth.wasm['elsewhere fuel'] ?? 0),
    ),
    between(
      'WasmMemoryLimit answered, of svc_wasm_memory_limit_total',
      errors['WasmMemoryLimit'] ?? 0,
      0,
      numbers.sum('svc_wasm_memory_limit_total') + (truth.wasm['elsewhere memory'] ?? 0),
    ),
  ];
}
