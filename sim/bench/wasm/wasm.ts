/**
 * `npm run bench wasm`: the cost of a call into a module, of metering (each workload with and without meters in turns,
 * in one process: read the ratio), of preparing a module, and the time of equal fuel for each instruction. Medians of
 * rounds.
 */
import { performance } from 'node:perf_hooks';
import wabt from 'wabt';

import { Caller } from '../../../engine/wasm/instance.ts';
import { wasmLimitDefaults } from '../../../engine/wasm/module-limits.ts';
import { ownExports, prepareModule } from '../../../engine/wasm/prepare.ts';
import { figure, median, table } from '../figures.ts';
import { fuelTimes } from './wasm-fuel.ts';
import { echoText, largeText, workloads } from './wasm-modules.ts';

/** Number of rounds and form of the output. */
export interface WasmBenchOptions {
  readonly rounds: number;
  readonly json: boolean;
}

/** How many of the fastest and of the slowest instructions are printed; --json has all. */
const shownAtEnds = 5;
const callsPerRound = 50_000;
/** A module has only one first call, which is short. */
const firstCallsPerRound = 5;
/** Milliseconds until the engine has optimized a hot function. */
const warmUpMs = 300;
const roundMs = 150;
const limits = { ...wasmLimitDefaults, fuelMax: 1_000_000_000 };

type Work = () => unknown;

/** Runs the benchmark and prints its tables, or one line of JSON. */
export async function run({ rounds, json }: WasmBenchOptions): Promise<void> {
  const toolkit = await wabt();
  const wasmOf = (text: string): Buffer => {
    const parsed = toolkit.parseWat('bench.wat', text);
    const { buffer } = parsed.toBinary({});
    parsed.destroy();
    return Buffer.from(buffer);
  };
  const call = callMicroseconds(wasmOf(echoText), rounds);
  const overheads = workloads.map(({ name, text }) => ({ name, ...overheadOf(wasmOf(text), rounds) }));
  const rewriting = rewriteTimes(wasmOf(largeText(1000)), rounds);
  const fuel = fuelTimes(wasmOf, rounds * firstCallsPerRound);
  if (json) {
    process.stdout.write(`${JSON.stringify({ callMicroseconds: call, overheads, rewriting, fuel })}\n`);
    return;
  }
  const rows = [
    ['a call with 100 bytes, fuel on', 'us'],
    ['  fresh instance, in and out', figure(call)],
    ['work with meters', 'times as long'],
    ...overheads.map(({ name, ratio }) => [`  ${name}`, figure(ratio)]),
    ['preparing a module', 'ms'],
    [`  1000 functions, ${figure(rewriting.bytes)} bytes`, figure(rewriting.ms)],
    [`1000 units of fuel, ${fuel.length} instructions and lengths`, 'us'],
    ...[...fuel.slice(0, shownAtEnds), ...fuel.slice(-shownAtEnds)].map(({ name, nanoseconds }) => [
      `  ${name}`,
      nanoseconds.toFixed(3),
    ]),
    [
      '  the slowest by the fastest',
      figure((fuel.at(-1)?.nanoseconds ?? NaN) / (fuel[0]?.nanoseconds ?? NaN)),
    ],
  ];
  process.stdout.write(`${table(rows)}\n`);
}

function callMicroseconds(bytes: Buffer, rounds: number): number {
  const { bytes: rewritten, resettable } = prepareModule(bytes, wasmLimitDefaults);
  const module = new WebAssembly.Module(Buffer.from(rewritten));
  const caller = new Caller(module, 'phase', resettable, wasmLimitDefaults.fuelMax);
  const input = Buffer.alloc(100, 7);
  const times: number[] = [];
  for (let round = 0; round <= rounds; round++) {
    const start = performance.now();
    for (let count = 0; count < callsPerRound; count++) caller.call(input);
    if (round > 0) times.push(((performance.now() - start) * 1000) / callsPerRound);
  }
  return median(times);
}

function overheadOf(bytes: Buffer, rounds: number): { readonly plainMs: number; readonly ratio: number } {
  const plain = exportsOf(bytes);
  const metered = exportsOf(Buffer.from(prepareModule(bytes, limits).bytes));
  const begin = metered[ownExports.begin] as (fuel: number, stack: number) => void;
  const work: readonly Work[] = [
    plain['work'] as Work,
    () => {
      begin(limits.fuelMax, 384 * 1024);
      return (metered['work'] as Work)();
    },
  ];
  for (const one of work) timesIn(one, warmUpMs);
  const plainMs: number[] = [];
  const ratios: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const [without = NaN, withMeters = NaN] = work.map((one) => timesIn(one, roundMs));
    plainMs.push(without);
    ratios.push(withMeters / without);
  }
  return { plainMs: median(plainMs), ratio: median(ratios) };
}

/** Milliseconds per run, the median of as many as fit into `milliseconds`. */
function timesIn(work: Work, milliseconds: number): number {
  const times: number[] = [];
  const end = performance.now() + milliseconds;
  while (performance.now() < end) {
    const start = performance.now();
    work();
    times.push(performance.now() - start);
  }
  return median(times);
}

function exportsOf(bytes: Buffer): Readonly<Record<string, unknown>> {
  return new WebAssembly.Instance(new WebAssembly.Module(Buffer.from(bytes))).exports;
}

function rewriteTimes(bytes: Buffer, rounds: number): { readonly bytes: number; readonly ms: number } {
  const times: number[] = [];
  for (let round = 0; round < rounds + 3; round++) {
    const start = performance.now();
    prepareModule(bytes, limits);
    if (round >= 3) times.push(performance.now() - start);
  }
  return { bytes: bytes.length, ms: median(times) };
}
