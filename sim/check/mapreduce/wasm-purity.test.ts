/** Tests which answers to a request that its module must fail `wasm-purity` accepts. */
import { expect, test } from 'vitest';

import { checkWasmPurity } from './wasm-purity.ts';

/** Broken and skipped comparisons for one answer to a request whose module traps. */
function verdict(answered: string | undefined, inPhase: boolean): readonly [broken: number, skipped: number] {
  const record = { node: 'n1', atUs: 5, asked: 'p2', inPhase, expected: 'WasmTrap', answered };
  const { reasons, skipped } = checkWasmPurity([], [record], [], []);
  return [reasons.length, skipped];
}

test('the failure of its module is the only answer to a request', () => {
  expect(verdict('WasmTrap', false)).toEqual([0, 0]);
  expect(verdict('Internal', false)).toEqual([1, 0]);
  expect(verdict('NoQuorum', false)).toEqual([1, 0]);
  expect(verdict(undefined, false)).toEqual([0, 1]);
});

test('a job may end by an error of the cluster before the call, and a node in STANDBY makes none', () => {
  expect(verdict('NoQuorum', true)).toEqual([0, 1]);
  expect(verdict('Standby', true)).toEqual([0, 1]);
  expect(verdict('Standby', false)).toEqual([0, 1]);
});
