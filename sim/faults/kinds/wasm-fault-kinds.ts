/** The faults of Wasm modules, as rows of the table of fault kinds; `faults/wasm-faults.ts` injects them. */
import type { FaultKindRow } from './fault-kind-row.ts';

/** Their names, in the order of the list command. */
export const wasmFaultNames = [
  'wasm-trap',
  'wasm-infinite-loop',
  'wasm-memory-exhaustion',
  'wasm-bad-result',
  'wasm-module-swap',
] as const;

/** One kind of Wasm fault. */
export type WasmFault = (typeof wasmFaultNames)[number];

const asked = {
  key: { kind: 'integer', min: 0, max: 9 },
  what: { kind: 'choice', of: ['get', 'put', 'job', 'map', 'reduce'] },
} as const;

/** The rows by name. */
export const wasmFaultKinds: Readonly<Record<WasmFault, FaultKindRow>> = {
  'wasm-trap': {
    code: 'FW1',
    description: 'a module traps at a key or in a phase',
    aim: 'node',
    lasting: false,
    params: asked,
  },
  'wasm-infinite-loop': {
    code: 'FW2',
    description: 'a module never ends at a key or in a phase',
    aim: 'node',
    lasting: false,
    params: asked,
  },
  'wasm-memory-exhaustion': {
    code: 'FW3',
    description: 'a module wants more memory than it may have',
    aim: 'node',
    lasting: false,
    params: asked,
  },
  'wasm-bad-result': {
    code: 'FW4',
    description: 'a module returns a bad pointer, or an error',
    aim: 'node',
    lasting: false,
    params: { ...asked, how: { kind: 'choice', of: ['pointer', 'refusal'] } },
  },
  'wasm-module-swap': {
    code: 'FW5',
    description: 'a module is replaced while it is in use',
    aim: 'node',
    lasting: false,
    params: { version: { kind: 'integer', min: 1, max: 3 } },
  },
};
