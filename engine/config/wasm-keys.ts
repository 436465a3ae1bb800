/** The configuration keys of Wasm modules, for the table of `keys.ts`. */
import type { KeyRows } from './config-key.ts';
import { untried } from './config-key.ts';
import type { ValueKind } from './values.ts';
import { flag, wholeNumber, listOf, mapped, parsedText, record, text } from './values.ts';

/** A configured module. */
export interface WasmModuleFile {
  readonly id: string;
  /** Path of a .wasm or .wat file, relative to the configuration file. */
  readonly path: string;
}

const countMax = 1000;

const moduleId: ValueKind<string> = parsedText('1 to 64 of A-Z a-z 0-9 _ . -', (given) =>
  /^[A-Za-z0-9_.-]{1,64}$/.test(given) ? given : undefined,
);

/** The list of modules, with distinct ids. */
export const wasmModuleList: ValueKind<readonly WasmModuleFile[]> = mapped(
  listOf(record<WasmModuleFile>({ id: { kind: moduleId }, path: { kind: text(4096) } }), countMax),
  `a list of at most ${countMax} modules, each a map with id (${moduleId.allowed}) and path (of a .wasm or .wat file)`,
  (modules, path, report) => {
    const twice = modules.find(({ id }, index) => modules.findIndex((other) => other.id === id) < index);
    if (twice === undefined) return { value: modules };
    report(path, `the module ${twice.id} (${twice.path}) is given twice; ids must be different`);
    return undefined;
  },
);

const mebibyte = 1024 * 1024;
const gibibyte = 1024 * mebibyte;

/** The rows. */
export const wasmKeys = {
  featuresWasm: {
    kind: flag,
    fallback: true,
    trial: [false, true],
    help: 'Runs Wasm modules; without, registrations and jobs with Wasm phases are answered WasmNotImplemented.',
  },
  storeWasmModules: {
    kind: wasmModuleList,
    fallback: [],
    trial: untried('nodes with features_wasm start with the modules of the load'),
    help: 'Modules that are registered at the start; a path is relative to the configuration file.',
  },
  wasmModuleBytesMax: {
    kind: wholeNumber(1024, 4 * mebibyte, 'bytes'),
    fallback: mebibyte,
    trial: [128 * 1024, mebibyte],
    help: 'Largest Wasm module, also as text. This and the next two should be the same on all nodes.',
  },
  wasmMemoryBytesMax: {
    kind: wholeNumber(65_536, gibibyte, 'bytes'),
    fallback: 16 * mebibyte,
    trial: [4 * mebibyte, 16 * mebibyte],
    help: 'Memory that a call into a module may use, in steps of 65536.',
  },
  wasmFuelMax: {
    kind: wholeNumber(1000, 1_000_000_000, 'units'),
    fallback: 60_000_000,
    trial: [20_000, 60_000_000],
    help: 'Fuel of a call into a module. A unit is the time of one plain instruction (an addition, a load; 0.1 to 0.4 ns); a division, a call, or work on many bytes or table elements costs as many units as it takes times as long. The node does nothing else during a call: 60 million units take 5 to 50 ms.',
  },
  wasmModulesMax: {
    kind: wholeNumber(1, 1000, 'modules'),
    fallback: 256,
    trial: [32, 256],
    help: 'Modules registered at most.',
  },
  wasmTextTimeoutMs: {
    kind: wholeNumber(100, 60_000, 'ms'),
    fallback: 5000,
    trial: untried('the world compiles texts at once'),
    help: 'How long compiling a module’s text may take.',
  },
} as const satisfies KeyRows;
