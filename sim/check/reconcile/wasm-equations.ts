/**
 * What a node counts of Wasm: each call that it told of, under the role and the outcome that it had; and no more failures
 * by a module answered to clients than there were: here, or in phases elsewhere.
 */
import type { IncarnationAccount } from './account.ts';
import type { Claim } from './claims.ts';
import { between, equal } from './claims.ts';
import type { Numbers } from './numbers.ts';

const roles = ['keyfun', 'phase'] as const;
const outcomes = ['ok', 'trap', 'fuel', 'memory', 'result', 'refused'] as const;

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
    // Every node routes by itself; a phase that a client is told about may have failed at another replica.
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
