/**
 * The table of instructions that modules may use: WebAssembly 1.0 with sign extension, saturating conversion, bulk
 * memory, multi-value and reference types. All others are refused by name (threads, SIMD, tail calls, exceptions,
 * garbage collection: each is not deterministic or not metered here).
 *
 * Source: the index of instructions of the WebAssembly 2.0 specification.
 */

import type { LengthPrice, TablePrice } from './prices.ts';
import { bytePriceOf, priceOf, tablePriceOf } from './prices.ts';

/** The immediate that follows an opcode. */
export type Immediate =
  | 'none'
  | 'block'
  | 'else'
  | 'end'
  | 'label'
  | 'labels'
  | 'call'
  | 'callIndirect'
  | 'selectTypes'
  | 'index'
  | 'memoryArgument'
  | 'zero'
  | 'zeroZero'
  | 's32'
  | 's64'
  | 'f32'
  | 'f64'
  | 'refType'
  | 'indexZero'
  | 'indexIndex';

/** One instruction. */
export interface Operation {
  readonly name: string;
  readonly immediate: Immediate;
  /** Operands taken from the stack and results put on it; control instructions and calls are handled separately. */
  readonly pops: number;
  readonly pushes: number;
  /** The width of a NaN that it may return, whose bits the standard does not fix. */
  readonly makesNan?: 'f32' | 'f64';
  /** Set if the bits of a NaN operand show in no result except in a new NaN. */
  readonly absorbsNan?: true;
  /** Units of fuel, without those for lengths, labels and parameters (`prices.ts`). */
  readonly fuel: number;
  /** Price by the byte length on top of the stack. */
  readonly byBytes?: LengthPrice | undefined;
  /** Price by the element count on top of the stack; that of `table.set` is fixed. */
  readonly ofTable?: TablePrice | undefined;
}

/** An instruction without its prices. */
type Row = Omit<Operation, 'fuel' | 'byBytes' | 'ofTable'>;

/** Codes of the allowed value types. */
export const valueTypes = {
  i32: 0x7f,
  i64: 0x7e,
  f32: 0x7d,
  f64: 0x7c,
  funcref: 0x70,
  externref: 0x6f,
} as const;

/** Opcodes that the rewriter writes or tests. */
export const op = {
  unreachable: 0x00,
  block: 0x02,
  loop: 0x03,
  if: 0x04,
  else: 0x05,
  end: 0x0b,
  br: 0x0c,
  brTable: 0x0e,
  brIf: 0x0d,
  return: 0x0f,
  call: 0x10,
  callIndirect: 0x11,
  select: 0x1b,
  selectTyped: 0x1c,
  localGet: 0x20,
  localSet: 0x21,
  localTee: 0x22,
  globalGet: 0x23,
  globalSet: 0x24,
  memorySize: 0x3f,
  memoryGrow: 0x40,
  prefix: 0xfc,
  i32Const: 0x41,
  f32Const: 0x43,
  f64Const: 0x44,
  i32Eq: 0x46,
  i32LtS: 0x48,
  i32LeU: 0x4d,
  f32Eq: 0x5b,
  f64Eq: 0x61,
  i32Add: 0x6a,
  i32Sub: 0x6b,
  i32Mul: 0x6c,
  i32And: 0x71,
  i32Or: 0x72,
  i32ShrU: 0x76,
  f32Copysign: 0x98,
  f64Copysign: 0xa6,
  empty: 0x40,
} as const;

const table: readonly (Operation | undefined)[] = buildTable();
const prefixed: readonly (Operation | undefined)[] = buildPrefixed();

/** The instruction of an opcode; undefined if it is not allowed (or is the prefix 0xfc). */
export function operationOf(code: number): Operation | undefined {
  return table[code];
}

/** The instruction of the prefix 0xfc and a number; undefined if it is not allowed. */
export function prefixedOperationOf(number: number): Operation | undefined {
  return prefixed[number];
}

/** The feature of an opcode that is not allowed, for messages. */
export function featureOf(code: number): string {
  switch (code) {
    case 0x12:
    case 0x13:
      return 'tail calls';
    case 0x06:
    case 0x07:
    case 0x08:
    case 0x09:
    case 0x0a:
    case 0x18:
    case 0x19:
    case 0x1f:
      return 'exceptions';
    case 0x14:
    case 0x15:
      return 'typed function references';
    case 0xfb:
    case 0xd3:
      return 'garbage collection';
    case 0xfd:
      return 'SIMD';
    case 0xfe:
      return 'threads';
    default:
      return `an unknown instruction 0x${code.toString(16).padStart(2, '0')}`;
  }
}

/**
 * Numbers behind 0xfc of instructions that change tables or segments: data.drop, table.init, elem.drop, table.copy,
 * table.grow, table.fill. `table.set` does so as well.
 */
export const changingNumbers: readonly number[] = [9, 12, 13, 14, 15, 17];
/** The opcode of `table.set`. */
export const tableSetCode = 0x26;
/** Numbers behind 0xfc of table instructions. */
export const tableNumbers = { init: 12, copy: 14, grow: 15, size: 16 } as const;
/** Opcodes that create references to functions: table.get and ref.func. */
export const referenceCodes: readonly number[] = [0x25, 0xd2];

/** Adds instructions of one shape with consecutive opcodes. */
type AddRun = (first: number, names: string, pops: number, pushes: number, more?: Partial<Row>) => void;

/** Control flow, locals, globals and tables. */
function addControl(run: AddRun): void {
  run(0x00, 'unreachable', 0, 0);
  run(0x01, 'nop', 0, 0);
  run(0x02, 'block loop', 0, 0, { immediate: 'block' });
  run(0x04, 'if', 1, 0, { immediate: 'block' });
  run(0x05, 'else', 0, 0, { immediate: 'else' });
  run(0x0b, 'end', 0, 0, { immediate: 'end' });
  run(0x0c, 'br', 0, 0, { immediate: 'label' });
  run(0x0d, 'br_if', 1, 0, { immediate: 'label' });
  run(0x0e, 'br_table', 1, 0, { immediate: 'labels' });
  run(0x0f, 'return', 0, 0);
  run(0x10, 'call', 0, 0, { immediate: 'call' });
  run(0x11, 'call_indirect', 1, 0, { immediate: 'callIndirect' });
  run(0x1a, 'drop', 1, 0, { absorbsNan: true });
  run(0x1b, 'select', 3, 1);
  run(0x1c, 'select', 3, 1, { immediate: 'selectTypes' });
  run(0x20, 'local.get', 0, 1, { immediate: 'index' });
  run(0x21, 'local.set', 1, 0, { immediate: 'index' });
  run(0x22, 'local.tee', 1, 1, { immediate: 'index' });
  run(0x23, 'global.get', 0, 1, { immediate: 'index' });
  run(0x24, 'global.set', 1, 0, { immediate: 'index' });
  run(0x25, 'table.get', 1, 1, { immediate: 'index' });
  run(0x26, 'table.set', 2, 0, { immediate: 'index' });
}

function buildTable(): (Operation | undefined)[] {
  const rows: (Operation | undefined)[] = [];
  const row = (code: number, operation: Row): void => void (rows[code] = withPrices(operation));
  /** Adds instructions of one shape with consecutive opcodes. */
  const run: AddRun = (first, names, pops, pushes, more = {}) =>
    names.split(' ').forEach((name, index) => {
      row(first + index, { name, immediate: 'none', pops, pushes, ...more });
    });
  addControl(run);
  const memory = { immediate: 'memoryArgument' } as const;
  run(0x28, 'i32.load i64.load f32.load f64.load i32.load8_s i32.load8_u i32.load16_s', 1, 1, memory);
  run(0x2f, 'i32.load16_u i64.load8_s i64.load8_u i64.load16_s i64.load16_u i64.load32_s', 1, 1, memory);
  run(0x35, 'i64.load32_u', 1, 1, memory);
  run(0x36, 'i32.store i64.store f32.store f64.store i32.store8 i32.store16 i64.store8', 2, 0, memory);
  run(0x3d, 'i64.store16 i64.store32', 2, 0, memory);
  run(0x3f, 'memory.size', 0, 1, { immediate: 'zero' });
  run(0x40, 'memory.grow', 1, 1, { immediate: 'zero' });
  run(0x41, 'i32.const', 0, 1, { immediate: 's32' });
  run(0x42, 'i64.const', 0, 1, { immediate: 's64' });
  run(0x43, 'f32.const', 0, 1, { immediate: 'f32' });
  run(0x44, 'f64.const', 0, 1, { immediate: 'f64' });
  const comparisons = 'eq ne lt_s lt_u gt_s gt_u le_s le_u ge_s ge_u';
  const floatComparisons = 'eq ne lt gt le ge';
  run(0x45, 'i32.eqz', 1, 1);
  run(0x46, typed('i32', comparisons), 2, 1);
  run(0x50, 'i64.eqz', 1, 1);
  run(0x51, typed('i64', comparisons), 2, 1);
  run(0x5b, typed('f32', floatComparisons), 2, 1, { absorbsNan: true });
  run(0x61, typed('f64', floatComparisons), 2, 1, { absorbsNan: true });
  const bits = 'clz ctz popcnt';
  const arithmetic = 'add sub mul div_s div_u rem_s rem_u and or xor shl shr_s shr_u rotl rotr';
  run(0x67, typed('i32', bits), 1, 1);
  run(0x6a, typed('i32', arithmetic), 2, 1);
  run(0x79, typed('i64', bits), 1, 1);
  run(0x7c, typed('i64', arithmetic), 2, 1);
  for (const [type, at] of [
    ['f32', 0x8b],
    ['f64', 0x99],
  ] as const) {
    const fresh = { makesNan: type, absorbsNan: true } as const;
    // These two and copysign only move bits or change the sign.
    run(at, typed(type, 'abs neg'), 1, 1);
    run(at + 2, typed(type, 'ceil floor trunc nearest sqrt'), 1, 1, fresh);
    run(at + 7, typed(type, 'add sub mul div min max'), 2, 1, fresh);
    run(at + 13, `${type}.copysign`, 2, 1);
  }
  run(0xa7, 'i32.wrap_i64', 1, 1);
  const truncations = 'trunc_f32_s trunc_f32_u trunc_f64_s trunc_f64_u';
  run(0xa8, typed('i32', truncations), 1, 1, { absorbsNan: true });
  run(0xac, 'i64.extend_i32_s i64.extend_i32_u', 1, 1);
  run(0xae, typed('i64', truncations), 1, 1, { absorbsNan: true });
  run(0xb2, typed('f32', 'convert_i32_s convert_i32_u convert_i64_s convert_i64_u'), 1, 1);
  run(0xb6, 'f32.demote_f64', 1, 1, { makesNan: 'f32', absorbsNan: true });
  run(0xb7, typed('f64', 'convert_i32_s convert_i32_u convert_i64_s convert_i64_u'), 1, 1);
  run(0xbb, 'f64.promote_f32', 1, 1, { makesNan: 'f64', absorbsNan: true });
  run(0xbc, 'i32.reinterpret_f32 i64.reinterpret_f64 f32.reinterpret_i32 f64.reinterpret_i64', 1, 1);
  run(0xc0, 'i32.extend8_s i32.extend16_s i64.extend8_s i64.extend16_s i64.extend32_s', 1, 1);
  run(0xd0, 'ref.null', 0, 1, { immediate: 'refType' });
  run(0xd1, 'ref.is_null', 1, 1);
  run(0xd2, 'ref.func', 0, 1, { immediate: 'index' });
  return rows;
}

function buildPrefixed(): (Operation | undefined)[] {
  const conversions = typed('i32', 'trunc_sat_f32_s trunc_sat_f32_u trunc_sat_f64_s trunc_sat_f64_u');
  const longConversions = conversions.replaceAll('i32.', 'i64.');
  const saturating = `${conversions} ${longConversions}`.split(' ').map((name): Row => {
    return { name, immediate: 'none', pops: 1, pushes: 1, absorbsNan: true };
  });
  const bulk = (name: string, immediate: Immediate): Row => ({ name, immediate, pops: 3, pushes: 0 });
  const rows: readonly Row[] = [
    ...saturating,
    bulk('memory.init', 'indexZero'),
    { name: 'data.drop', immediate: 'index', pops: 0, pushes: 0 },
    bulk('memory.copy', 'zeroZero'),
    bulk('memory.fill', 'zero'),
    bulk('table.init', 'indexIndex'),
    { name: 'elem.drop', immediate: 'index', pops: 0, pushes: 0 },
    bulk('table.copy', 'indexIndex'),
    { name: 'table.grow', immediate: 'index', pops: 2, pushes: 1 },
    { name: 'table.size', immediate: 'index', pops: 0, pushes: 1 },
    bulk('table.fill', 'index'),
  ];
  return rows.map(withPrices);
}

function withPrices(row: Row): Operation {
  const { name } = row;
  return { ...row, fuel: priceOf(name), byBytes: bytePriceOf(name), ofTable: tablePriceOf(name) };
}

function typed(type: string, names: string): string {
  return names
    .split(' ')
    .map((name) => `${type}.${name}`)
    .join(' ');
}
