/**
 * Prepares uploaded bytes as a module that this node can run. It parses and bounds the module, refuses it if it could
 * behave differently on two machines, and rewrites it so that it counts fuel, stack and memory itself.
 *
 * The cost of a call is the same number everywhere: each instruction has a price in units of fuel (`prices.ts`), and a
 * call that can observe functions as references pays for those first. Other work of the engine, such as compiling and
 * resetting the memory after a call, costs no fuel: the size limits bound it.
 *
 * The rewritten module differs from the original in: a maximum of its memory and tables; three globals (fuel, stack,
 * whether memory was refused); the function `lockstep.begin`, which sets them and resets all mutable globals; and the
 * code that `function-rewriter.ts` adds. Custom sections are dropped.
 */
import { LockstepError } from '../base/errors.ts';
import { CodeWriter, vectorOf } from './code-writer.ts';
import type { CodeTraits, Meters } from './function-rewriter.ts';
import { rewriteFunction } from './function-rewriter.ts';
import { ModuleError } from './module-error.ts';
import type { FunctionType, ModuleStructure, Span } from './module.ts';
import { exportKinds, parseModule, sectionIds, tableElementsMax } from './module.ts';
import type { WasmLimits } from './module-limits.ts';
import { pageBytes, structureMax } from './module-limits.ts';
import { op, valueTypes } from './opcodes.ts';
import { referencePrice } from './prices.ts';
import type { Role } from './roles.ts';
import { rolesOf } from './roles.ts';

/** A module ready for compilation. */
export interface PreparedModule {
  /** The rewritten module. */
  readonly bytes: Uint8Array;
  /** The roles that it can be called in; at least one. */
  readonly roles: readonly Role[];
  /** Set if only memory and mutable globals outlive a call, which can be reset. */
  readonly resettable: boolean;
}

/** Names of the rewriter's own exports. */
export const ownExports = {
  begin: 'lockstep.begin',
  fuel: 'lockstep.fuel',
  stack: 'lockstep.stack',
  memoryRefused: 'lockstep.memory-refused',
} as const;

/** Prepares a module. Throws `TooLarge`, or `BadRequest` with the fault and its byte offset. */
export function prepareModule(bytes: Uint8Array, limits: WasmLimits): PreparedModule {
  if (bytes.length > limits.moduleBytesMax) {
    throw new LockstepError(
      'TooLarge',
      `a module of ${bytes.length} bytes; allowed: at most ${limits.moduleBytesMax}`,
    );
  }
  try {
    return rewrite(bytes, limits);
  } catch (error) {
    if (!(error instanceof ModuleError)) throw error;
    throw new LockstepError(
      'BadRequest',
      `not a module for this node: ${error.message} (byte ${error.offset})`,
    );
  }
}

function rewrite(bytes: Uint8Array, limits: WasmLimits): PreparedModule {
  const module = parseModule(bytes, limits.memoryBytesMax);
  if (!WebAssembly.validate(Buffer.from(bytes))) {
    throw new ModuleError('its types do not fit together, or its indices lead nowhere', 0);
  }
  const roles = rolesOf(module);
  const traits: CodeTraits = { changesTables: false, makesReferences: false };
  const rewritten = assemble(module, limits, traits);
  // Fails only at the engine's own limits.
  if (!WebAssembly.validate(rewritten)) {
    throw new ModuleError('with its meters it exceeds what WebAssembly engines accept', bytes.length);
  }
  return { bytes: rewritten, roles, resettable: !traits.changesTables };
}

function assemble(module: ModuleStructure, limits: WasmLimits, traits: CodeTraits): Buffer<ArrayBuffer> {
  const blocks = new ResultBlocks(module.types);
  const first = module.globals.length;
  const pagesMax = pagesMaxOf(module, limits);
  const globals: Meters = { fuel: first, stack: first + 1, memoryRefused: first + 2, pagesMax };
  const code = codeSection(module, globals, blocks, traits);
  const writer = new CodeWriter(module.bytes.length * 3 + 1024);
  writer.copy(module.bytes, 0, 8);
  writer.section(sectionIds.type, typeSection(blocks.types));
  writer.section(sectionIds.function, vectorOf([...module.functions, blocks.begin], index));
  if (module.tables.length > 0) writer.section(sectionIds.table, tableSection(module));
  if (module.memory !== undefined) writer.section(sectionIds.memory, memorySection(module, pagesMax));
  writer.section(sectionIds.global, globalSection(module));
  writer.section(sectionIds.export, exportSection(module, globals));
  copySection(writer, module, sectionIds.element, module.elements);
  copySection(writer, module, sectionIds.dataCount, module.dataCount);
  writer.section(sectionIds.code, code);
  copySection(writer, module, sectionIds.data, module.data);
  return writer.finish();
}

/** The module's types, and those that the rewriter adds: blocks of several results, and that of `lockstep.begin`. */
class ResultBlocks {
  readonly types: FunctionType[];
  readonly begin: number;
  readonly #byResults = new Map<string, number>();

  constructor(types: readonly FunctionType[]) {
    this.types = [...types];
    this.begin = this.#add({ parameters: [valueTypes.i32, valueTypes.i32], results: [] });
  }

  of({ results }: FunctionType): number {
    if (results.length < 2) return 0;
    const key = results.join();
    const known = this.#byResults.get(key);
    if (known !== undefined) return known;
    const added = this.#add({ parameters: [], results });
    this.#byResults.set(key, added);
    return added;
  }

  #add(type: FunctionType): number {
    return this.types.push(type) - 1;
  }
}

function index(writer: CodeWriter, value: number): void {
  writer.u32(value);
}

function typeSection(types: readonly FunctionType[]): CodeWriter {
  return vectorOf(types, (writer, { parameters, results }) => {
    writer.u8(0x60).block(Uint8Array.from(parameters)).block(Uint8Array.from(results));
  });
}

function tableSection({ tables }: ModuleStructure): CodeWriter {
  return vectorOf(tables, (writer, table) => {
    writer.u8(table.type).u8(1).u32(table.min).u32(tableElementsMax(table));
  });
}

/** Most pages of the memory, by the module's own maximum and this node's limit. */
function pagesMaxOf({ memory }: ModuleStructure, { memoryBytesMax }: WasmLimits): number {
  const allowed = Math.floor(memoryBytesMax / pageBytes);
  return Math.min(memory?.pagesMax ?? allowed, allowed);
}

function memorySection({ memory }: ModuleStructure, pagesMax: number): CodeWriter {
  return vectorOf(memory === undefined ? [] : [memory], (writer, { pagesMin }) => {
    writer.u8(1).u32(pagesMin).u32(pagesMax);
  });
}

function globalSection({ bytes, globals }: ModuleStructure): CodeWriter {
  const writer = new CodeWriter(1024);
  writer.u32(globals.length + 3);
  for (const { type, mutable, init } of globals) {
    writer
      .u8(type)
      .u8(mutable ? 1 : 0)
      .copy(bytes, init.start, init.end)
      .u8(op.end);
  }
  for (let count = 0; count < 3; count++) writer.u8(valueTypes.i32).u8(1).i32Const(0).u8(op.end);
  return writer;
}

function exportSection({ exports, functions }: ModuleStructure, globals: Meters): CodeWriter {
  const { function: aFunction, global: aGlobal } = exportKinds;
  const own = [
    { name: ownExports.begin, kind: aFunction, index: functions.length },
    { name: ownExports.fuel, kind: aGlobal, index: globals.fuel },
    { name: ownExports.stack, kind: aGlobal, index: globals.stack },
    { name: ownExports.memoryRefused, kind: aGlobal, index: globals.memoryRefused },
  ];
  return vectorOf([...exports, ...own], (writer, entry) => {
    writer.block(Buffer.from(entry.name)).u8(entry.kind).u32(entry.index);
  });
}

function copySection(
  writer: CodeWriter,
  { bytes }: ModuleStructure,
  id: number,
  span: Span | undefined,
): void {
  if (span !== undefined) writer.u8(id).block(bytes.subarray(span.start, span.end));
}

function codeSection(
  module: ModuleStructure,
  globals: Meters,
  blocks: ResultBlocks,
  traits: CodeTraits,
): CodeWriter {
  const { bodies, functions, types } = module;
  const writer = new CodeWriter(module.bytes.length * 2 + 256);
  writer.u32(bodies.length + 1);
  bodies.forEach((body, at) => {
    const type = types[functions[at] ?? 0] ?? { parameters: [], results: [] };
    const rewritten = rewriteFunction(module, body, type, globals, blocks.of(type), traits);
    if (rewritten.length > structureMax.functionBytes) {
      throw new ModuleError('a function is too large once it has its meters', body.code.start);
    }
    writer.u32(rewritten.length).append(rewritten);
  });
  const firstPrice = traits.makesReferences ? module.referable.size * referencePrice : 0;
  const begin = beginBody(module, globals, firstPrice);
  return writer.u32(begin.length).append(begin);
}

/** `lockstep.begin(fuel, stack)`: sets the meters, charges `firstPrice`, and resets the mutable globals. */
function beginBody(
  { bytes, globals: own }: ModuleStructure,
  globals: Meters,
  firstPrice: number,
): CodeWriter {
  const writer = new CodeWriter(256);
  writer.u32(0);
  writer.u8(op.localGet).u32(0);
  if (firstPrice > 0) writer.i32Const(firstPrice).u8(op.i32Sub);
  writer.u8(op.globalSet).u32(globals.fuel);
  writer.u8(op.localGet).u32(1).u8(op.globalSet).u32(globals.stack);
  writer.i32Const(0).u8(op.globalSet).u32(globals.memoryRefused);
  own.forEach(({ mutable, init }, at) => {
    if (mutable) writer.copy(bytes, init.start, init.end).u8(op.globalSet).u32(at);
  });
  return writer.u8(op.end);
}
