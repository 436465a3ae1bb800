/**
 * Parses a module's structure: its sections, bounded, with the code of its functions left as bytes. Everything refused
 * here is refused on every machine and every version of Node.js, whatever the engine supports.
 *
 * Types are not checked here: `WebAssembly.validate` does so before and after the rewriting.
 */
import { ModuleError } from './module-error.ts';
import { ModuleReader } from './module-reader.ts';
import { pageBytes, structureMax } from './module-limits.ts';
import { op, valueTypes } from './opcodes.ts';

/** Parameter and result types, by their codes in `valueTypes`. */
export interface FunctionType {
  readonly parameters: readonly number[];
  readonly results: readonly number[];
}

/** A range of the module's bytes. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** A global. */
export interface GlobalEntry {
  readonly type: number;
  readonly mutable: boolean;
  /** Its constant initial expression, without the final `end`. */
  readonly init: Span;
}

/** A table; sizes in elements. */
export interface TableEntry {
  readonly type: number;
  readonly min: number;
  readonly max: number | undefined;
}

/** Most elements of the rewritten table. */
export function tableElementsMax({ max }: TableEntry): number {
  return Math.min(max ?? structureMax.tableElements, structureMax.tableElements);
}

/** The memory; sizes in pages. */
export interface MemoryEntry {
  readonly pagesMin: number;
  readonly pagesMax: number | undefined;
}

/** Codes of the kinds of exports. */
export const exportKinds = { function: 0, table: 1, memory: 2, global: 3 } as const;

/** An export. */
export interface ExportEntry {
  readonly name: string;
  readonly kind: number;
  readonly index: number;
}

/** A function's body: the groups of its locals, and its code. */
export interface BodyEntry {
  readonly locals: readonly { readonly count: number; readonly type: number }[];
  readonly code: Span;
}

/** A parsed module. */
export interface ModuleStructure {
  readonly bytes: Uint8Array;
  readonly types: readonly FunctionType[];
  /** The type index of each function. */
  readonly functions: readonly number[];
  readonly tables: readonly TableEntry[];
  readonly memory: MemoryEntry | undefined;
  readonly globals: readonly GlobalEntry[];
  readonly exports: readonly ExportEntry[];
  /** Contents of the sections that the rewriter copies unchanged. */
  readonly elements: Span | undefined;
  readonly dataCount: Span | undefined;
  readonly data: Span | undefined;
  readonly bodies: readonly BodyEntry[];
  /** Functions that the code can hold as references: those of element segments, exports and globals. */
  readonly referable: ReadonlySet<number>;
}

/** Prefix of the rewriter's own exports. */
export const reservedPrefix = 'lockstep.';

const refFunc = 0xd2;
const magic = [0x00, 0x61, 0x73, 0x6d] as const;
const versionBytes = [1, 0, 0, 0] as const;

/** Ids of the sections. */
export const sectionIds = {
  custom: 0,
  type: 1,
  import: 2,
  function: 3,
  table: 4,
  memory: 5,
  global: 6,
  export: 7,
  start: 8,
  element: 9,
  code: 10,
  data: 11,
  dataCount: 12,
} as const;

/** The required order of sections: the count of data segments precedes the code. */
const sectionOrder: readonly number[] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 10, 11];

interface Draft {
  types: readonly FunctionType[];
  functions: readonly number[];
  tables: readonly TableEntry[];
  memory: MemoryEntry | undefined;
  globals: readonly GlobalEntry[];
  exports: readonly ExportEntry[];
  elements: Span | undefined;
  dataCount: Span | undefined;
  data: Span | undefined;
  bodies: readonly BodyEntry[];
  readonly referable: Set<number>;
}

/** Parses a module. Throws `ModuleError`. */
export function parseModule(bytes: Uint8Array, memoryBytesMax: number): ModuleStructure {
  const reader = new ModuleReader(bytes);
  expectBytes(reader, magic, 'it does not begin as a WebAssembly module does (00 61 73 6d)');
  expectBytes(reader, versionBytes, 'it is of another version of WebAssembly than 1');
  const draft: Draft = {
    types: [],
    functions: [],
    tables: [],
    memory: undefined,
    globals: [],
    exports: [],
    elements: undefined,
    dataCount: undefined,
    data: undefined,
    bodies: [],
    referable: new Set(),
  };
  let last = -1;
  while (!reader.done) {
    const at = reader.at;
    const id = reader.u8();
    const section = reader.part(reader.u32());
    if (id === sectionIds.custom) continue;
    const place = sectionOrder.indexOf(id);
    if (place < 0) throw new ModuleError(`a section of kind ${id}, which is not allowed`, at);
    if (place <= last) throw new ModuleError(`the section of kind ${id} is out of order`, at);
    last = place;
    parseSection(id, section, draft, memoryBytesMax);
  }
  if (draft.bodies.length !== draft.functions.length) {
    reader.fail(`${draft.functions.length} functions are declared and ${draft.bodies.length} have bodies`);
  }
  return { bytes, ...draft };
}

function expectBytes(reader: ModuleReader, bytes: readonly number[], problem: string): void {
  for (const byte of bytes) {
    const at = reader.at;
    if (reader.done || reader.u8() !== byte) throw new ModuleError(problem, at);
  }
}

function parseSection(id: number, section: ModuleReader, draft: Draft, memoryBytesMax: number): void {
  const span: Span = { start: section.at, end: section.end };
  switch (id) {
    case sectionIds.type:
      draft.types = vector(section, structureMax.types, 'types', functionType);
      break;
    case sectionIds.import:
      if (section.u32() > 0) section.fail('it imports something; modules are given nothing to import');
      break;
    case sectionIds.function:
      draft.functions = vector(section, structureMax.functions, 'functions', (reader) =>
        typeIndex(reader, draft),
      );
      break;
    case sectionIds.table:
      draft.tables = vector(section, structureMax.tables, 'tables', tableEntry);
      checkTables(section, draft.tables);
      break;
    case sectionIds.memory:
      [draft.memory] = vector(section, 1, 'memories', (reader) => memoryEntry(reader, memoryBytesMax));
      break;
    case sectionIds.global:
      draft.globals = vector(section, structureMax.globals, 'globals', globalEntry);
      for (const { init } of draft.globals) noteReference(section, init, draft);
      break;
    case sectionIds.export:
      draft.exports = vector(section, structureMax.exports, 'exports', exportEntry);
      for (const { kind, index } of draft.exports)
        if (kind === exportKinds.function) draft.referable.add(index);
      break;
    case sectionIds.start:
      section.fail('it has a start function, which is not allowed; export it under a name, or leave it out');
      break;
    case sectionIds.element:
      checkElements(section, draft);
      draft.elements = span;
      break;
    case sectionIds.dataCount:
      section.u32();
      draft.dataCount = span;
      break;
    case sectionIds.code:
      draft.bodies = vector(section, structureMax.functions, 'functions', bodyEntry);
      break;
    case sectionIds.data:
      vector(section, structureMax.dataSegments, 'data segments', checkData);
      draft.data = span;
      break;
  }
  section.finish(`the section of kind ${id}`);
}

function vector<T>(
  reader: ModuleReader,
  max: number,
  what: string,
  read: (reader: ModuleReader) => T,
): readonly T[] {
  const count = reader.count(max, what);
  const items: T[] = [];
  for (let index = 0; index < count; index++) items.push(read(reader));
  return items;
}

function functionType(reader: ModuleReader): FunctionType {
  if (reader.u8() !== 0x60) reader.fail('a type that is none of a function (0x60), which is not allowed');
  const parameters = vector(reader, structureMax.parametersOfType, 'parameters', valueType);
  return { parameters, results: vector(reader, structureMax.parametersOfType, 'results', valueType) };
}

/** Reads a value type. Throws `ModuleError` for types of features that are not allowed. */
export function valueType(reader: ModuleReader): number {
  const at = reader.at;
  const type = reader.u8();
  if (Object.values(valueTypes).some((known) => known === type)) return type;
  const allowed = Object.keys(valueTypes).join(', ');
  const given = type === 0x7b ? 'v128 (SIMD)' : `0x${type.toString(16)}`;
  throw new ModuleError(`the value type ${given} is not allowed; allowed: ${allowed}`, at);
}

function refType(reader: ModuleReader): number {
  const type = reader.u8();
  if (type !== valueTypes.funcref && type !== valueTypes.externref) {
    reader.fail(`a table of the type 0x${type.toString(16)}; allowed: funcref, externref`);
  }
  return type;
}

function typeIndex(reader: ModuleReader, { types }: Draft): number {
  const index = reader.u32();
  if (index >= types.length) reader.fail(`there is no type ${index}`);
  return index;
}

/** Reads minimum and maximum; other flags denote shared or 64-bit memories. */
function limitsOf(reader: ModuleReader): { readonly min: number; readonly max: number | undefined } {
  const flags = reader.u8();
  if (flags > 1) reader.fail('shared and 64-bit memories and tables are not allowed');
  const min = reader.u32();
  return { min, max: flags === 1 ? reader.u32() : undefined };
}

function tableEntry(reader: ModuleReader): TableEntry {
  const type = refType(reader);
  const { min, max } = limitsOf(reader);
  const { tableElements } = structureMax;
  if (min > tableElements) {
    reader.fail(`a table of ${min} elements; allowed: at most ${tableElements}`);
  }
  return { type, min, max };
}

/** Bounds the tables' initial elements, which every new instance creates without paying fuel. */
function checkTables(reader: ModuleReader, tables: readonly TableEntry[]): void {
  const total = tables.reduce((sum, { min }) => sum + min, 0);
  const { tableElements } = structureMax;
  if (total > tableElements) {
    reader.fail(`tables that begin with ${total} elements together; allowed: at most ${tableElements}`);
  }
}

function memoryEntry(reader: ModuleReader, memoryBytesMax: number): MemoryEntry {
  const { min, max } = limitsOf(reader);
  if (min * pageBytes > memoryBytesMax) {
    reader.fail(`a memory of ${min * pageBytes} bytes; allowed: at most ${memoryBytesMax}`);
  }
  return { pagesMin: min, pagesMax: max };
}

function globalEntry(reader: ModuleReader): GlobalEntry {
  const type = valueType(reader);
  const mutability = reader.u8();
  if (mutability > 1) reader.fail('a global is neither constant (0) nor mutable (1)');
  return { type, mutable: mutability === 1, init: constant(reader) };
}

function exportEntry(reader: ModuleReader): ExportEntry {
  const at = reader.at;
  const name = reader.text(structureMax.nameBytes);
  if (name.startsWith(reservedPrefix)) {
    throw new ModuleError(`an export called ${JSON.stringify(name)}; ${reservedPrefix} is reserved`, at);
  }
  const kind = reader.u8();
  if (kind > exportKinds.global) reader.fail(`an export of kind ${kind}, which is not allowed`);
  return { name, kind, index: reader.u32() };
}

/** Reads one constant and `end`; the span covers the constant. */
function constant(reader: ModuleReader): Span {
  const start = reader.at;
  const code = reader.u8();
  switch (code) {
    case op.i32Const:
      reader.skipSigned(5);
      break;
    case op.i32Const + 1:
      reader.skipSigned(10);
      break;
    case op.f32Const:
      reader.skip(4);
      break;
    case op.f64Const:
      reader.skip(8);
      break;
    case 0xd0:
      refType(reader);
      break;
    case refFunc:
      reader.u32();
      break;
    default:
      throw new ModuleError('an initial value that is not a constant, which is not allowed', start);
  }
  const end = reader.at;
  if (reader.u8() !== op.end) throw new ModuleError('an initial value of several instructions', start);
  return { start, end };
}

/** Records the function of a constant `ref.func`. */
function noteReference({ bytes }: ModuleReader, { start, end }: Span, { referable }: Draft): void {
  if (bytes[start] === refFunc) referable.add(new ModuleReader(bytes, start + 1, end).u32());
}

function checkElements(reader: ModuleReader, draft: Draft): void {
  let total = 0;
  vector(reader, structureMax.elementSegments, 'element segments', () => {
    const flags = reader.u32();
    if (flags > 7) reader.fail(`an element segment of kind ${flags}, which is not allowed`);
    const active = (flags & 1) === 0;
    const expressions = (flags & 4) !== 0;
    if (active && (flags & 2) !== 0) reader.u32();
    if (active) constant(reader);
    if ((flags & 3) !== 0) {
      if (expressions) refType(reader);
      else if (reader.u8() !== 0) reader.fail('an element segment of something else than functions');
    }
    const item = expressions
      ? (): void => noteReference(reader, constant(reader), draft)
      : (): void => void draft.referable.add(reader.u32());
    total += vector<unknown>(reader, structureMax.elementsInitialised, 'elements', item).length;
    if (total > structureMax.elementsInitialised) {
      reader.fail(`more than ${structureMax.elementsInitialised} elements in all segments`);
    }
  });
}

function checkData(reader: ModuleReader): void {
  const flags = reader.u32();
  if (flags > 2) reader.fail(`a data segment of kind ${flags}, which is not allowed`);
  if (flags === 2 && reader.u32() !== 0) reader.fail('a data segment of another memory than 0');
  if (flags !== 1) constant(reader);
  reader.skip(reader.u32());
}

function bodyEntry(reader: ModuleReader): BodyEntry {
  const body = reader.part(reader.u32());
  let count = 0;
  const locals = vector(body, structureMax.localsOfFunction, 'groups of locals', () => {
    const at = body.at;
    const group = { count: body.u32(), type: valueType(body) };
    count += group.count;
    if (count > structureMax.localsOfFunction) {
      throw new ModuleError(
        `a function of ${count} locals; allowed: at most ${structureMax.localsOfFunction}`,
        at,
      );
    }
    return group;
  });
  return { locals, code: { start: body.at, end: body.end } };
}
