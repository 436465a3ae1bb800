/** Faults of Wasm modules; `workload/module-work.ts` sends the requests that meet them. */
import type { FaultFamily } from './fault-row.ts';
import { targetOf } from './fault.ts';

const asked = {
  key: { kind: 'integer', min: 0, max: 9 },
  what: { kind: 'choice', of: ['get', 'put', 'job', 'map', 'reduce'] },
} as const;

/** The rows by name. */
export const wasmFaults = {
  'wasm-trap': {
    code: 'FW1',
    description: 'a module traps at a key or in a phase',
    aim: 'node',
    lasting: false,
    params: asked,
    strike: (fault, { modules }) => modules.provoke(fault, { letter: 't', code: 'WasmTrap' }),
  },
  'wasm-infinite-loop': {
    code: 'FW2',
    description: 'a module never ends at a key or in a phase',
    aim: 'node',
    lasting: false,
    params: asked,
    strike: (fault, { modules }) => modules.provoke(fault, { letter: 'l', code: 'WasmOutOfFuel' }),
  },
  'wasm-memory-exhaustion': {
    code: 'FW3',
    description: 'a module wants more memory than it may have',
    aim: 'node',
    lasting: false,
    params: asked,
    strike: (fault, { modules }) => modules.provoke(fault, { letter: 'g', code: 'WasmMemoryLimit' }),
  },
  'wasm-bad-result': {
    code: 'FW4',
    description: 'a module returns a bad pointer, or an error',
    aim: 'node',
    lasting: false,
    params: { ...asked, how: { kind: 'choice', of: ['pointer', 'refusal'] } },
    strike: (fault, { modules }) =>
      modules.provoke(fault, { letter: fault.params['how'] === 'refusal' ? 'r' : 'p', code: 'WasmTrap' }),
  },
  'wasm-module-swap': {
    code: 'FW5',
    description: 'a module is replaced while it is in use',
    aim: 'node',
    lasting: false,
    params: { version: { kind: 'integer', min: 1, max: 3 } },
    strike: (fault, { modules }) => modules.swap(targetOf(fault), Number(fault.params['version'])),
  },
} satisfies FaultFamily;
