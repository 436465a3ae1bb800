/** Which modules the rewriter accepts and refuses, and that a rewritten module behaves as before, for exactly its price. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import wabt from 'wabt';

import { LockstepError } from '../base/errors.ts';
import { CallError, Caller } from './instance.ts';
import { wasmLimitDefaults } from './module-limits.ts';
import { operationOf, prefixedOperationOf } from './opcodes.ts';
import { ownExports, prepareModule } from './prepare.ts';
import { answering, callerOf, phaseText, valueOf, wasmOf } from './wat.fixture.ts';

const toolkit = await wabt();

function refusalOf(bytes: Uint8Array): string {
  try {
    prepareModule(bytes, wasmLimitDefaults);
    return 'taken';
  } catch (error) {
    if (!(error instanceof LockstepError)) throw error;
    return `${error.code}: ${error.message}`;
  }
}

/** With features that modules may not use. */
function strangeWasm(text: string): Buffer {
  const features = {
    simd: true,
    threads: true,
    tail_call: true,
    exceptions: true,
    memory64: true,
    extended_const: true,
  };
  const parsed = toolkit.parseWat('strange.wat', text, features);
  const { buffer } = parsed.toBinary({});
  parsed.destroy();
  return Buffer.from(buffer);
}

describe('a refusal names the feature', () => {
  const strange: Readonly<Record<string, readonly [body: string, fields: string, problem: string]>> = {
    imports: ['(i32.const 0)', '(import "env" "now" (func))', 'it imports something'],
    'a start function': ['(i32.const 0)', '(func $go) (start $go)', 'it has a start function'],
    SIMD: ['(drop (i32x4.splat (i32.const 1))) (i32.const 0)', '', 'it uses SIMD'],
    'vector locals': ['(i32.const 0)', '(func (local v128))', 'the value type v128 (SIMD)'],
    threads: ['(drop (i32.atomic.load (i32.const 0))) (i32.const 0)', '', 'it uses threads'],
    'tail calls': [
      '(return_call $apply (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0))',
      '',
      'it uses tail calls',
    ],
    exceptions: ['(try (do)) (i32.const 0)', '', 'it uses exceptions'],
    'a tag': ['(i32.const 0)', '(tag)', 'a section of kind 13'],
    'computed initial values': [
      '(i32.const 0)',
      '(global i32 (i32.add (i32.const 1) (i32.const 2)))',
      'an initial value of several instructions',
    ],
    'a reserved name': [
      '(i32.const 0)',
      '(func (export "lockstep.begin"))',
      'an export called "lockstep.begin"; lockstep. is reserved',
    ],
    'a large table': ['(i32.const 0)', '(table 10001 funcref)', 'a table of 10001 elements'],
    'data outside of the memory': [
      '(i32.const 0)',
      '(data (i32.const 65536) "x")',
      'its data or elements lie outside',
    ],
  };
  test.each(Object.entries(strange))('%s', (_, [body, fields, problem]) => {
    // Imports come first in a text.
    const first = fields.startsWith('(import')
      ? phaseText(body).replace('(module', `(module ${fields}`)
      : phaseText(body, fields);
    const bytes = strangeWasm(first);
    if (problem.startsWith('its data')) {
      expect(refusalOf(bytes)).toBe('taken');
      expect(() => callerOf(first).call(Buffer.alloc(0))).toThrow();
    } else {
      expect(refusalOf(bytes)).toContain(`BadRequest: not a module for this node: ${problem}`);
    }
  });

  const memories = {
    '(memory (export "memory") 257)': 'a memory of 16842752 bytes; allowed: at most 16777216',
    '(memory (export "memory") 1 2 shared)': 'shared and 64-bit memories and tables',
    '(memory (export "memory") i64 1)': 'shared and 64-bit memories and tables',
    '(memory 1)': 'it exports no memory called memory',
  };
  test.each(Object.entries(memories))('%s', (memory, problem) => {
    const index = memory.includes('i64') ? 'i64.const' : 'i32.const';
    const text = `(module ${memory} (func (export "phase_alloc") (param i32) (result i32) (i32.load (${index} 0)))
      (func (export "phase_apply") (param i32 i32 i32 i32) (result i32) (i32.const 0)))`;
    expect(refusalOf(strangeWasm(text))).toContain(problem);
  });

  test('a role with an export that is missing or of another type', () => {
    const half = phaseText('(i32.const 0)').replace('(export "phase_alloc")', '');
    expect(refusalOf(wasmOf(half))).toContain('it exports no function phase_alloc');
    const other = phaseText('(i32.const 0)').replace(
      '(param $n i32) (result i32)',
      '(param $n i32) (param i32) (result i32)',
    );
    expect(refusalOf(wasmOf(other))).toContain('phase_alloc is not of the type (i32) -> i32');
    expect(refusalOf(Buffer.alloc(0))).toContain('it does not begin as a WebAssembly module does');
    expect(refusalOf(Buffer.alloc(wasmLimitDefaults.moduleBytesMax + 1))).toContain('TooLarge');
  });
});

describe('a rewritten module behaves as before', () => {
  /** Every plain instruction with operands of its types: a function each, which answers its result. */
  test('every instruction that is not control', () => {
    const consts: Readonly<Record<string, readonly string[]>> = {
      i32: ['(i32.const -7)', '(i32.const 3)'],
      i64: ['(i64.const -7000000000)', '(i64.const 5)'],
      f32: ['(f32.const -2.75)', '(f32.const 1.5)'],
      f64: ['(f64.const -1e18)', '(f64.const 0.3)'],
    };
    const codes = Array.from({ length: 256 }, (_, code) => operationOf(code));
    const prefixed = Array.from({ length: 18 }, (_, number) => prefixedOperationOf(number));
    const numeric = [...codes, ...prefixed].filter(
      (operation) =>
        operation !== undefined &&
        /^[if](32|64)\./.test(operation.name) &&
        !/const|load|store/.test(operation.name),
    );
    expect(numeric.length).toBe(136);
    const functions = numeric.map((operation, index) => {
      const { name = '', pops = 0 } = operation ?? {};
      const [type = '', rest = ''] = name.split('.');
      const from = /_(i32|i64|f32|f64)/.exec(rest)?.[1] ?? type;
      const saturates = rest.includes('trunc_f') ? '(f32.const 7.5)' : undefined;
      const operand = saturates === undefined ? (consts[from] ?? []) : [saturates.replace('f32', from)];
      const result = /^(eqz?|ne|[lg][te](_[su])?)$/.test(rest) ? 'i32' : type;
      const operands = operand.slice(0, pops).join(' ');
      return `(func (export "f${index}") (result ${result}) (${name} ${operands}))`;
    });
    const bytes = wasmOf(phaseText('(i32.const 0)', functions.join('\n')));
    const before = new WebAssembly.Instance(new WebAssembly.Module(bytes)).exports;
    const after = new WebAssembly.Instance(
      new WebAssembly.Module(Buffer.from(prepareModule(bytes, wasmLimitDefaults).bytes)),
    ).exports;
    const begin = after[ownExports.begin] as (fuel: number, stack: number) => void;
    numeric.forEach((operation, index) => {
      begin(1000, 100_000);
      const run = (exports: Readonly<Record<string, unknown>>): unknown =>
        (exports[`f${index}`] as () => unknown)();
      expect([operation?.name, run(after)]).toEqual([operation?.name, run(before)]);
    });
  });

  test('loads, stores, tables, several results, references and segments', () => {
    const fields = `(table $t 4 10 funcref) (elem (i32.const 1) $one $two) (elem $late func $two) (data $words "later")
      (type $unary (func (result i32)))
      (func $one (result i32) (i32.const 1)) (func $two (result i32) (i32.const 2))
      (func $pair (param i32) (result i32 i64) (local.get 0) (i64.const 9))
      (func $early (param i32) (result i32 i32) (if (local.get 0) (then (return (i32.const 3) (i32.const 4)))) (i32.const 5) (i32.const 6))`;
    const body = `(local $sum i32)
      (memory.init $words (i32.const 100) (i32.const 0) (i32.const 5)) (data.drop $words)
      (table.init $t $late (i32.const 3) (i32.const 0) (i32.const 1)) (elem.drop $late)
      (drop (table.grow $t (ref.null func) (i32.const 3)))
      (table.copy $t $t (i32.const 4) (i32.const 1) (i32.const 1))
      (i64.store (i32.const 200) (i64.load (i32.const 97)))
      (memory.copy (i32.const 300) (i32.const 100) (i32.const 5))
      (local.set $sum (i32.load8_u (i32.const 304)))
      (local.set $sum (i32.add (local.get $sum) (call_indirect $t (type $unary) (i32.const 3))))
      (local.set $sum (i32.add (local.get $sum) (call_indirect $t (type $unary) (i32.const 4))))
      (local.set $sum (i32.add (local.get $sum) (table.size $t)))
      (call $pair (i32.const 1000)) (i32.wrap_i64) (i32.add) (local.get $sum) (i32.add) (local.set $sum)
      (call $early (i32.const 1)) (i32.mul) (call $early (i32.const 0)) (i32.mul) (i32.add) (local.get $sum) (i32.add) (local.set $sum)
      (block $out (block $a (block $b (br_table $a $b $out (i32.const 1))) (local.set $sum (i32.add (local.get $sum) (i32.const 100000)))))
      ${answering('(local.get $sum)')}`;
    const caller = callerOf(phaseText(body, fields));
    // 'r' of "later", 2 + 1 of the table, 7 elements, 1009, 12 + 30, and the second branch.
    const expected = 'r'.charCodeAt(0) + 3 + 7 + 1009 + 42 + 100_000;
    expect([1, 2, 3].map(() => valueOf(caller))).toEqual([expected, expected, expected]);
  });
});

/** A program over four locals, with a model of its effect and its cost. */
interface Program {
  readonly text: string;
  run(locals: number[]): number;
}

const locals = 4;
/** Units of `if` and `br_if`, and of a turn of a loop. */
const branchPrice = 3;
const turnPrice = 8;
/** Most instructions of a program's run; a longer program is skipped. */
const costMax = 50_000;

class TooLong extends Error {}

const expression: fc.Memo<Program> = fc.memo((depth) => {
  const leaf: fc.Arbitrary<Program> = fc.oneof(
    fc.integer({ min: -100, max: 100 }).map((value) => ({
      text: `(i32.const ${value})`,
      run: (state: number[]) => (state.push(value), 1),
    })),
    fc.nat(locals - 1).map((local) => ({
      text: `(local.get $v${local})`,
      run: (state: number[]) => (state.push(state[local] ?? 0), 1),
    })),
  );
  if (depth < 2) return leaf;
  const binary = fc
    .tuple(fc.constantFrom('add', 'sub', 'xor', 'lt_s'), expression(depth - 1), expression(depth - 1))
    .map(([name, left, right]) => ({
      text: `(i32.${name} ${left.text} ${right.text})`,
      run: (state: number[]) => {
        const cost = left.run(state) + right.run(state) + 1;
        const second = state.pop() ?? 0;
        const first = state.pop() ?? 0;
        const values = {
          add: first + second,
          sub: first - second,
          xor: first ^ second,
          lt_s: first < second ? 1 : 0,
        };
        state.push(values[name] | 0);
        return cost;
      },
    }));
  return fc.oneof(leaf, binary);
});

const statement: fc.Memo<Program> = fc.memo((depth) => {
  const set = fc.tuple(fc.nat(locals - 1), expression(3)).map(([local, value]) => ({
    text: `(local.set $v${local} ${value.text})`,
    run: (state: number[]) => {
      const cost = value.run(state) + 1;
      state[local] = state.pop() ?? 0;
      return cost;
    },
  }));
  if (depth < 2) return set;
  const inner = fc.array(statement(depth - 1), { maxLength: 3 });
  const branch = fc.tuple(expression(2), inner, inner).map(([condition, yes, no]) => ({
    text: `(if ${condition.text} (then ${textOf(yes)}) (else ${textOf(no)}))`,
    run: (state: number[]) =>
      condition.run(state) + branchPrice + runAll(state.pop() === 0 ? no : yes, state),
  }));
  const leave = fc.tuple(inner, expression(2), inner).map(([before, condition, after]) => ({
    text: `(block $out${depth} ${textOf(before)} (br_if $out${depth} ${condition.text}) ${textOf(after)})`,
    run: (state: number[]) => {
      const cost = runAll(before, state) + condition.run(state) + branchPrice;
      return (state.pop() ?? 0) === 0 ? cost + runAll(after, state) : cost;
    },
  }));
  const repeat = fc.tuple(fc.integer({ min: 0, max: 4 }), inner).map(([times, body]) => ({
    // The turns are counted in a local that no statement sets.
    text: `(local.set $turn${depth} (i32.const ${times}))
      (loop $again${depth} ${textOf(body)}
        (br_if $again${depth} (i32.gt_s (local.tee $turn${depth} (i32.sub (local.get $turn${depth}) (i32.const 1))) (i32.const 0))))`,
    run: (state: number[]) => {
      let cost = 2;
      for (let turn = 0; turn < Math.max(1, times); turn++) {
        cost += runAll(body, state) + 6 + branchPrice + turnPrice;
        if (cost > costMax) throw new TooLong();
      }
      return cost;
    },
  }));
  return fc.oneof(set, branch, leave, repeat);
});

function textOf(programs: readonly Program[]): string {
  return programs.map(({ text }) => text).join(' ');
}

function runAll(programs: readonly Program[], state: number[]): number {
  return programs.reduce((sum, program) => sum + program.run(state), 0);
}

test('a program costs exactly the prices of its instructions, and computes its result', () => {
  fc.assert(
    fc.property(fc.array(statement(4), { maxLength: 4 }), (programs) => {
      const state = Array.from({ length: locals }, () => 0);
      let cost: number;
      try {
        cost = runAll(programs, state);
      } catch (error) {
        if (error instanceof TooLong) return;
        throw error;
      }
      const names = [0, 1, 2, 3].map((local) => `(local $v${local} i32)`).join(' ');
      const turns = [2, 3, 4].map((depth) => `(local $turn${depth} i32)`).join(' ');
      const sum =
        '(i32.add (i32.add (local.get $v0) (local.get $v1)) (i32.xor (local.get $v2) (local.get $v3)))';
      const caller = callerOf(phaseText(`${names} ${turns} ${textOf(programs)} ${answering(sum)}`));
      const [a = 0, b = 0, c = 0, d = 0] = state;
      expect(valueOf(caller)).toBe((((a + b) | 0) + (c ^ d)) | 0);
      // Two allocations, seven locals to clear, seven for the sum, nine for the answer.
      expect(caller.fuelUsed).toBe(14 + 4 + cost + 7 + 9);
    }),
    { numRuns: 150 },
  );
});

describe('arbitrary bytes', () => {
  const corpus = [
    phaseText(
      answering('(call $f (i32.const 3))'),
      '(func $f (param i32) (result i32) (if (result i32) (local.get 0) (then (call $f (i32.sub (local.get 0) (i32.const 1)))) (else (i32.const 7))))',
    ),
    phaseText(
      '(loop $l (br_if $l (i32.lt_u (memory.grow (i32.const 1)) (i32.const 3)))) (i32.const 0)',
      '(table 3 funcref) (elem (i32.const 0) $apply) (data (i32.const 8) "abc")',
    ),
    phaseText(
      `(drop (f64.sqrt (f64.mul (f64.const 2) (f64.load (i32.const 0))))) (memory.fill (i32.const 9) (local.get $len) (i32.const 30)) ${answering('(i32.const 1)')}`,
      '(global (mut f64) (f64.const 1)) (global $big (mut i64) (i64.const -1))',
    ),
  ].map((text) => wasmOf(text));
  const limits = { ...wasmLimitDefaults, memoryBytesMax: 4 * 65_536, fuelMax: 20_000 };

  /** Accepted and run, or refused with a message; nothing else. */
  function tryOut(bytes: Uint8Array): void {
    try {
      const { bytes: rewritten, roles, resettable } = prepareModule(bytes, limits);
      const module = new WebAssembly.Module(Buffer.from(rewritten));
      for (const role of roles) {
        const caller = new Caller(module, role, resettable, limits.fuelMax);
        const outcomes = [1, 2].map(() => {
          try {
            return `${Buffer.from(caller.call(Buffer.from('some input'))).toString('hex')} ${caller.fuelUsed}`;
          } catch (error) {
            if (error instanceof CallError) return `${error.failure} ${caller.fuelUsed}`;
            throw error;
          }
        });
        expect(outcomes[1]).toBe(outcomes[0]);
      }
    } catch (error) {
      // The instance cannot be created: its segments lie outside.
      if (error instanceof WebAssembly.RuntimeError) return;
      if (!(error instanceof LockstepError)) throw error;
      expect(['BadRequest', 'TooLarge']).toContain(error.code);
    }
  }

  test('modified modules are refused, or run to an end', () => {
    const change = fc.record({
      at: fc.nat(400),
      byte: fc.nat(255),
      kind: fc.constantFrom('set', 'insert', 'remove', 'cut'),
    });
    fc.assert(
      fc.property(
        fc.constantFrom(...corpus),
        fc.array(change, { minLength: 1, maxLength: 4 }),
        (module, changes) => {
          let bytes: Buffer = Buffer.from(module);
          for (const { at, byte, kind } of changes) {
            const place = at % Math.max(1, bytes.length);
            const after = kind === 'set' || kind === 'remove' ? place + 1 : place;
            const middle = kind === 'set' || kind === 'insert' ? Buffer.of(byte) : Buffer.alloc(0);
            bytes =
              kind === 'cut'
                ? bytes.subarray(0, place)
                : Buffer.concat([bytes.subarray(0, place), middle, bytes.subarray(after)]);
          }
          tryOut(bytes);
        },
      ),
      { numRuns: 3000 },
    );
  });

  test('random bytes are refused, or run to an end', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), fc.boolean(), (bytes, begun) => {
        tryOut(begun ? Buffer.concat([Buffer.from('\0asm\u0001\0\0\0', 'latin1'), bytes]) : bytes);
      }),
      { numRuns: 1000 },
    );
  });
});
