/** The meter charges exactly the prices, and work in proportion to an operand costs in proportion to it. */
import { describe, expect, test } from 'vitest';

import { LockstepError } from '../base/errors.ts';
import { CallError } from './instance.ts';
import { structureMax, wasmLimitDefaults } from './module-limits.ts';
import type { Operation } from './opcodes.ts';
import { operationOf, prefixedOperationOf } from './opcodes.ts';
import { ownExports, prepareModule } from './prepare.ts';
import { priceOf } from './prices.ts';
import { answering, callerOf, phaseText, valueOf, wasmOf } from './wat.fixture.ts';

const allowed: readonly Operation[] = [
  ...Array.from({ length: 256 }, (_, code) => operationOf(code)),
  ...Array.from({ length: 18 }, (_, number) => prefixedOperationOf(number)),
].filter((operation) => operation !== undefined);

/** Fuel of a call of a phase with this body. */
function fuelOf(body: string, fields = '', memory?: string): number {
  const caller = callerOf(phaseText(`${body} (i32.const 0)`, fields, memory));
  caller.call(Buffer.alloc(0));
  return caller.fuelUsed;
}

/** The cost of `count` more of the same. */
function priceIn(body: string, fields = '', count = 1): number {
  return (fuelOf(body.repeat(count), fields) - fuelOf('', fields)) / count;
}

/** Operands of an instruction by its name: its own type, or the type that it converts from. */
function operandsOf({ name, pops }: Operation): string[] {
  const [type = '', rest = ''] = name.split('.');
  const from = /_(i32|i64|f32|f64)/.exec(rest)?.[1] ?? type;
  if (rest.includes('load')) return ['(i32.const 8)'];
  if (rest.includes('store')) return ['(i32.const 8)', `(${type}.const 1)`];
  return Array.from({ length: pops }, () => `(${from}.const 3)`);
}

describe('every instruction costs its price', () => {
  const numeric = allowed.filter(({ name }) => /^[if](32|64)\./.test(name) && !name.endsWith('.const'));

  test('numbers and single accesses to memory', () => {
    expect(numeric.length).toBe(136 + 23);
    for (const operation of numeric) {
      const { name, pushes } = operation;
      const operands = operandsOf(operation);
      const text = `(${name} ${operands.join(' ')})`;
      const whole = priceIn(pushes > 0 ? `(drop ${text})` : text, '', 3);
      expect([name, whole - operands.length - pushes]).toEqual([name, priceOf(name)]);
    }
  });

  test('the other instructions, at their present prices', () => {
    const fields = `(global $g (mut i32) (i32.const 0)) (table $f 4 8 funcref) (table $o 4 8 externref) (elem $e func $none)
      (data $d "abc") (type $t (func (param i32) (result i32)))
      (func $none) (func $same (type $t) (local.get 0)) (elem (table $f) (i32.const 0) func $same)
      (func $wide (param i64 i64) (local i64 i64 i64 i64 i64 i64 i64 i64)) (func $two (result i32 i32) (i32.const 1) (i32.const 1))`;
    const costs: Readonly<Record<string, readonly [string, number]>> = {
      nop: ['(nop)', 0],
      block: ['(block)', 0],
      loop: ['(loop)', 8],
      if: ['(if (i32.const 0) (then))', 4],
      br: ['(block (br 0))', 3],
      br_if: ['(block (br_if 0 (i32.const 1)))', 4],
      'br_if with two values': [
        '(block (result i32 i32) (i32.const 1) (i32.const 1) (i32.const 1) (br_if 0)) (drop) (drop)',
        10,
      ],
      br_table: ['(block (br_table 0 0 0 0 0 (i32.const 1)))', 1 + 6 + 6],
      call: ['(call $none)', 24],
      'call with parameters and locals': ['(call $wide (i64.const 1) (i64.const 2))', 2 + 24 + 2 + 5],
      'call with results': ['(call $two) (drop) (drop)', 24 + 2 + 2 + 2],
      call_indirect: ['(drop (call_indirect $f (type $t) (i32.const 1) (i32.const 0)))', 2 + 28 + 2 + 1 + 1],
      'local.get, drop': ['(drop (local.get 0))', 2],
      'local.set': ['(local.set 0 (local.get 0))', 2],
      'local.tee': ['(drop (local.tee 0 (local.get 0)))', 3],
      'global.get': ['(drop (global.get $g))', 3],
      'global.set': ['(global.set $g (i32.const 1))', 2],
      select: ['(drop (select (i32.const 1) (i32.const 1) (i32.const 1)))', 5],
      'table.get': ['(drop (table.get $o (i32.const 0)))', 14],
      'table.set of functions': ['(table.set $f (i32.const 1) (ref.null func))', 183],
      'table.set of others': ['(table.set $o (i32.const 1) (ref.null extern))', 15],
      'table.size': ['(drop (table.size $o))', 3],
      'ref.null, ref.is_null': ['(drop (ref.is_null (ref.null func)))', 3],
      'ref.func': ['(drop (ref.func $none))', 11],
      'data.drop': ['(data.drop $d)', 2],
      'elem.drop': ['(elem.drop $e)', 5],
      'memory.size': ['(drop (memory.size))', 3],
      'memory.grow, refused': ['(drop (memory.grow (i32.const 60000)))', 163],
      'memory.grow by two pages': ['(drop (memory.grow (i32.const 2)))', 163 + 1500 + 2 * 8000],
    };
    // Five functions can be looked at: the two of segments, phase_alloc and phase_apply, which are exported, and none twice.
    const referable = 4 * 3000;
    for (const [name, [body, cost]] of Object.entries(costs)) {
      const makesReferences = /table\.get|ref\.func/.test(body);
      const price = priceIn(body, fields) - (makesReferences ? referable : 0);
      expect([name, price]).toEqual([name, cost]);
    }
  });

  test('every allowed instruction has a price, and no other has one', () => {
    for (const { name, fuel } of allowed) expect([name, fuel]).toEqual([name, priceOf(name)]);
    const free = allowed.filter(({ fuel }) => fuel === 0).map(({ name }) => name);
    expect(free).toEqual(['nop', 'block', 'else', 'end']);
  });
});

describe('work in proportion to an operand costs in proportion', () => {
  const fields = `(table $f 5000 9000 funcref) (table $o 5000 9000 externref) (table $g 0 9000 funcref) (func $same)
    (elem $references func ${'$same '.repeat(4000)}) (elem $nulls externref ${'(ref.null extern) '.repeat(4000)})
    (data $bytes "${'x'.repeat(4000)}")`;
  /** The units for one element, or for 8 bytes. */
  const each: Readonly<Record<string, readonly [(length: number) => string, number]>> = {
    'memory.fill': [(n) => `(memory.fill (i32.const 4096) (i32.const 7) (i32.const ${n}))`, 1 / 8],
    'memory.copy': [(n) => `(memory.copy (i32.const 4097) (i32.const 4096) (i32.const ${n}))`, 1 / 8],
    'memory.init': [(n) => `(memory.init $bytes (i32.const 4096) (i32.const 0) (i32.const ${n}))`, 1 / 8],
    'table.fill of functions': [(n) => `(table.fill $f (i32.const 0) (ref.null func) (i32.const ${n}))`, 105],
    'table.fill of others': [(n) => `(table.fill $o (i32.const 0) (ref.null extern) (i32.const ${n}))`, 16],
    'table.copy of functions': [
      (n) => `(table.copy $f $f (i32.const 1) (i32.const 0) (i32.const ${n}))`,
      140,
    ],
    'table.copy of others': [(n) => `(table.copy $o $o (i32.const 1) (i32.const 0) (i32.const ${n}))`, 55],
    'table.init of functions': [
      (n) => `(table.init $f $references (i32.const 0) (i32.const 0) (i32.const ${n}))`,
      155,
    ],
    'table.init of others': [
      (n) => `(table.init $o $nulls (i32.const 0) (i32.const 0) (i32.const ${n}))`,
      45,
    ],
    'table.grow of functions': [(n) => `(drop (table.grow $f (ref.null func) (i32.const ${n})))`, 120],
    'table.grow of others': [(n) => `(drop (table.grow $o (ref.null extern) (i32.const ${n})))`, 25],
  };
  test.each(Object.entries(each))('%s', (_, [body, unit]) => {
    const none = fuelOf(body(0), fields);
    for (const length of [8, 80, 800, 4000]) expect(fuelOf(body(length), fields) - none).toBe(length * unit);
  });

  test('a refused growth, and a length above the table’s, cost no elements', () => {
    const grow = each['table.grow of functions']?.[0] ?? String;
    expect(fuelOf(grow(4001), fields)).toBe(fuelOf(grow(0), fields));
    expect(fuelOf(grow(2 ** 31), fields)).toBe(fuelOf(grow(0), fields));
    const fill = callerOf(
      phaseText('(table.fill $f (i32.const 0) (ref.null func) (i32.const -1)) (i32.const 0)', fields),
    );
    expect(() => fill.call(Buffer.alloc(0))).toThrow('it trapped: undefined element');
  });

  test('a loop that fills a table ends after as many elements as its fuel pays for', () => {
    const fills = (turns: number): string => `(local $n i32)
      (loop $l (table.fill $t (i32.const 0) (ref.null func) (i32.const 9000))
        (br_if $l (i32.lt_u (local.tee $n (i32.add (local.get $n) (i32.const 1))) (i32.const ${turns}))))
      ${answering('(local.get $n)')}`;
    const text = (turns: number): string => phaseText(fills(turns), '(table $t 9000 funcref)');
    const limits = { fuelMax: 10_000_000 };
    expect(valueOf(callerOf(text(10), limits))).toBe(10);
    expect(() => valueOf(callerOf(text(11), limits))).toThrow('more than 10000000 units of fuel were used');
    // What a call may use by default: six times as much.
    expect(valueOf(callerOf(text(60)))).toBe(60);
    expect(() => valueOf(callerOf(text(64)))).toThrow('more than 60000000 units of fuel were used');
  });
});

test('a call pays in advance for the functions that it can observe, and only if it can', () => {
  const functions = Array.from({ length: 50 }, (_, index) => `(func $q${index})`).join(' ');
  const names = Array.from({ length: 50 }, (_, index) => `$q${index}`).join(' ');
  const fields = `(table $t 60 funcref) ${functions} (elem (table $t) (i32.const 0) func ${names})`;
  const looks = fuelOf('(drop (table.get $t (i32.const 0)))', fields) - fuelOf('', fields);
  // 50, and the two that are exported.
  expect(looks).toBe(52 * 3000 + 14);
  const poor = callerOf(phaseText('(drop (table.get $t (i32.const 0))) (i32.const 0)', fields), {
    fuelMax: 50 * 3000,
  });
  expect(() => poor.call(Buffer.alloc(0))).toThrow(CallError);
});

test('code after nested calls is charged while they return, not after they all have', () => {
  const steps = 2000;
  const tail = '(global.set $steps (i32.add (global.get $steps) (i32.const 1)))'.repeat(steps);
  // Each block ends a run of instructions, so that no run holds all of the tail.
  const body = `(func $down (param $n i32) (if (local.get $n) (then (call $down (i32.sub (local.get $n) (i32.const 1)))))
    ${`(block ${tail.slice(0, tail.length / 2)}) `.repeat(2)})`;
  const bytes = wasmOf(
    phaseText(
      '(call $down (i32.const 1500)) (i32.const 0)',
      `(global $steps (export "steps") (mut i32) (i32.const 0)) ${body}`,
    ),
  );
  const { exports } = new WebAssembly.Instance(
    new WebAssembly.Module(Buffer.from(prepareModule(bytes, wasmLimitDefaults).bytes)),
  );
  const fuel = 1_000_000;
  (exports[ownExports.begin] as (fuel: number, stack: number) => void)(fuel, 384 * 1024);
  expect(() => (exports['phase_apply'] as (...given: number[]) => number)(0, 0, 0, 0)).toThrow(
    WebAssembly.RuntimeError,
  );
  const ran = Number((exports['steps'] as WebAssembly.Global).value);
  // A step is 5 units; one function's tail may be over before the comparison that ends it all.
  expect(ran).toBeGreaterThan(0);
  expect(ran).toBeLessThanOrEqual(fuel / 5 + 2 * steps);
});

test('the initial elements of a new instance are bounded', () => {
  const half = structureMax.tableElements / 2;
  const refused = wasmOf(phaseText('(i32.const 0)', `(table ${half} funcref) (table ${half + 1} funcref)`));
  expect(() => prepareModule(refused, wasmLimitDefaults)).toThrow(LockstepError);
  expect(() => prepareModule(refused, wasmLimitDefaults)).toThrow(
    'tables that begin with 10001 elements together',
  );
  prepareModule(
    wasmOf(phaseText('(i32.const 0)', `(table ${half} funcref) (table ${half} funcref)`)),
    wasmLimitDefaults,
  );
});
