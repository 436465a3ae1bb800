/** The kinds of faults of Wasm modules. */
import type { FaultKindRow } from './fault-kind-row.ts';

export const wasmFaultIds = ['FW1', 'FW2', 'FW3', 'FW4', 'FW5'] as const;

export type WasmFault = (typeof wasmFaultIds)[number];

const asked = {
  key: { kind: 'integer', min: 0, max: 9 },
  what: { kind: 'choice', of: ['get', 'put', 'job', 'map', 'reduce'] },
} as const;

export const wasmFaultKinds: Readonly<Record<WasmFault, FaultKindRow>> = {
  FW1: {
    title: 'trap in a module',
    story:
      'a client asks for a key at which the module that routes the bucket traps, or for a phase that traps',
    aim: 'node',
    lasting: false,
    params: asked,
  },
  FW2: {
    title: 'endless module',
    story: 'a client asks for a key at which the module never ends, or for a phase that never ends',
    aim: 'node',
    lasting: false,
    params: asked,
  },
  FW3: {
    title: 'greedy module',
    story: 'a client asks for a key, or for a phase, at which the module wants more memory than there is',
    aim: 'node',
    lasting: false,
    params: asked,
  },
  FW4: {
    title: 'bad answer of a module',
    story:
      'a client asks for a key, or for a phase, at which the module points out of its memory, or refuses',
    aim: 'node',
    lasting: false,
    params: { ...asked, how: { kind: 'choice', of: ['pointer', 'refusal'] } },
  },
  FW5: {
    title: 'module swapped',
    story: 'an operator replaces a module by another version, in the middle of whatever is under way',
    aim: 'node',
    lasting: false,
    params: { version: { kind: 'integer', min: 1, max: 3 } },
  },
};
