/** Parses the modules that a node registers at its start: `store_wasm_modules`, a list of `{id, path}`. */
import type { ValueKind } from './values.ts';
import { listOf, mapped, parsedText, record, text } from './values.ts';

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
