/** The counters of Wasm calls by role and outcome, and of the modules on this node. */
import type { FamilySource } from '../metrics/family.ts';
import { counterOf, gaugeOf } from '../metrics/family.ts';
import type { CallFailure } from './instance.ts';
import type { Role } from './roles.ts';
import { roles } from './roles.ts';

type Counts = { calls: number; fuelUsed: number } & Record<CallFailure, number>;

/** The counters of one node. */
export class WasmMetrics {
  readonly #byRole: Readonly<Record<Role, Counts>> = { keyfun: noCounts(), phase: noCounts() };
  /** Modules replaced by another version. */
  reloads = 0;
  /** Entries sent to peers, and entries taken from peers. */
  sent = 0;
  received = 0;

  /** The live counters of a role. */
  of(role: Role): Counts {
    return this.#byRole[role];
  }

  /** The counters as metric families; `modules` returns the number of registered modules. */
  families(modules: () => number): readonly FamilySource[] {
    const byRole = (name: string, help: string, value: (counts: Counts) => number): FamilySource => {
      const collect: FamilySource['collect'] = () =>
        roles.map((role) => ({ labels: { role }, value: value(this.#byRole[role]) }));
      return { name, help, type: 'counter', labels: ['role'], collect };
    };
    return [
      byRole('svc_wasm_calls_total', 'Calls into Wasm modules.', ({ calls }) => calls),
      byRole('svc_wasm_fuel_used_total', 'Fuel that they used.', ({ fuelUsed }) => fuelUsed),
      byRole(
        'svc_wasm_traps_total',
        'Calls that trapped, also because they nested too deeply.',
        ({ trap }) => trap,
      ),
      byRole('svc_wasm_fuel_exhausted_total', 'Calls that ran out of fuel.', ({ fuel }) => fuel),
      byRole('svc_wasm_memory_limit_total', 'Calls that failed for want of memory.', ({ memory }) => memory),
      byRole(
        'svc_wasm_bad_results_total',
        'Calls that answered an error, or a place outside of their memory.',
        ({ result, refused }) => result + refused,
      ),
      counterOf(
        'svc_wasm_reloads_total',
        'Modules that were replaced by another version.',
        () => this.reloads,
      ),
      gaugeOf('svc_wasm_modules', 'Modules registered on this node.', modules),
      counterOf(
        'svc_wasm_modules_sent_total',
        'Modules, and deletions of them, sent to peers.',
        () => this.sent,
      ),
      counterOf('svc_wasm_modules_received_total', 'The same, taken over from peers.', () => this.received),
    ];
  }
}

function noCounts(): Counts {
  return { calls: 0, fuelUsed: 0, trap: 0, fuel: 0, memory: 0, result: 0, refused: 0 };
}
