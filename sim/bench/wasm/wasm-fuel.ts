/**
 * The time of equal fuel for every instruction: nanoseconds per unit of fuel in a first call into a module, as a node
 * makes it. Takes the best of several calls, because other load can only lengthen a call.
 */
import { performance } from 'node:perf_hooks';

import { wasmLimitDefaults } from '../../../engine/wasm/module-limits.ts';
import { ownExports, prepareModule } from '../../../engine/wasm/prepare.ts';
import { instructionLoads } from './wasm-instructions.ts';

/** The time of one instruction's fuel. */
export interface FuelTime {
  readonly name: string;
  /** Nanoseconds per unit of fuel. */
  readonly nanoseconds: number;
}

/** Fuel of a call that compiles the module and ends before it does any work. */
const fuelToCompile = 1;
const fuelOfACall = 500_000;

/** All instructions, the fastest for their fuel first. */
export function fuelTimes(wasmOf: (text: string) => Uint8Array, calls: number): FuelTime[] {
  const limits = { ...wasmLimitDefaults, moduleBytesMax: 2 * wasmLimitDefaults.moduleBytesMax };
  const times = instructionLoads().map(({ name, text }): FuelTime => {
    const { bytes } = prepareModule(wasmOf(text), limits);
    let best = Infinity;
    for (let call = 0; call < calls; call++) best = Math.min(best, firstCallMs(unlike(bytes, call)));
    return { name, nanoseconds: (best * 1e6) / fuelOfACall };
  });
  return times.sort((left, right) => left.nanoseconds - right.nanoseconds);
}

/** The same module with another custom section: the engine has better code for a module that it has run before. */
function unlike(bytes: Uint8Array, index: number): Buffer<ArrayBuffer> {
  return Buffer.from(Buffer.concat([bytes, Buffer.of(0, 2, 1, index)]));
}

function firstCallMs(bytes: Buffer<ArrayBuffer>): number {
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(bytes));
  const begin = exports[ownExports.begin] as (fuel: number, stack: number) => void;
  const apply = exports['phase_apply'] as (...parameters: number[]) => number;
  const runOut = (fuel: number): void => {
    // Time before the first instruction is not the instruction's.
    begin(0, 0);
    const paidAhead = -Number((exports[ownExports.fuel] as WebAssembly.Global).value);
    begin(fuel + paidAhead, wholeStackBytes);
    try {
      apply(0, 0, 0, 0);
    } catch (error) {
      if (error instanceof WebAssembly.RuntimeError) return;
      throw error;
    }
    throw new Error('a module that should run until its fuel is used up has ended');
  };
  runOut(fuelToCompile);
  const processor = process.cpuUsage();
  const start = performance.now();
  runOut(fuelOfACall);
  const wallMs = performance.now() - start;
  const { user, system } = process.cpuUsage(processor);
  // Other processes lengthen elapsed time; background compilation lengthens processor time.
  return Math.min(wallMs, (user + system) / 1000);
}

const wholeStackBytes = 384 * 1024;
