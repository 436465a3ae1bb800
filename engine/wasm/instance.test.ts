import { expect, test } from 'vitest';

import { CallError } from './instance.ts';
import { answering, callerOf, phaseText, valueOf } from './wat.fixture.ts';

function failureOf(run: () => unknown): string {
  try {
    run();
    return 'none';
  } catch (error) {
    if (!(error instanceof CallError)) throw error;
    return `${error.failure} ${error.code}: ${error.message}`;
  }
}

const fibonacci = `(func $fib (param i32) (result i32)
  (if (result i32) (i32.lt_s (local.get 0) (i32.const 2)) (then (local.get 0))
    (else (i32.add (call $fib (i32.sub (local.get 0) (i32.const 1))) (call $fib (i32.sub (local.get 0) (i32.const 2)))))))`;

test('a call returns its output, and costs exactly the prices of its instructions', () => {
  const caller = callerOf(phaseText(answering('(i32.add (i32.const 40) (i32.const 2))')));
  expect(valueOf(caller)).toBe(42);
  // Two allocations of 7 units each, and 12 of the body.
  expect(caller.fuelUsed).toBe(26);
});

test('a loop pays for every turn, a function for every call, and every run costs the same', () => {
  const loop = callerOf(
    phaseText(`(local $i i32)
      (loop $again (br_if $again (i32.lt_s (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 1000))))
      ${answering('(local.get $i)')}`),
  );
  expect(valueOf(loop)).toBe(1000);
  expect(loop.fuelUsed).toBe(14 + (6 + 3 + 8) * 1000 + 10);
  const recursive = callerOf(phaseText(answering('(call $fib (i32.const 15))'), fibonacci));
  const used = [1, 2, 3].map(() => (valueOf(recursive), recursive.fuelUsed));
  expect(used).toEqual([used[0], used[0], used[0]]);
});

test('an endless loop runs out of fuel, whatever its form', () => {
  const forms = [
    '(loop $l (br $l))',
    '(block $b (loop $l (br_if $b (i32.const 0)) (br $l)))',
    '(loop $l (loop $m (br $l)))',
  ];
  for (const form of forms) {
    const caller = callerOf(phaseText(`${form} (i32.const 0)`), { fuelMax: 100_000 });
    expect(failureOf(() => caller.call(Buffer.alloc(3)))).toContain(
      'fuel WasmOutOfFuel: more than 100000 units',
    );
    expect(caller.fuelUsed).toBe(100_000);
  }
});

test('endless recursion traps by the estimated depth, not by the native stack', () => {
  const endless = '(func $down (param i32) (result i32) (i32.add (i32.const 1) (call $down (local.get 0))))';
  const caller = callerOf(phaseText(answering('(call $down (i32.const 1))'), endless));
  expect(failureOf(() => caller.call(Buffer.alloc(0)))).toBe('trap WasmTrap: its calls nest too deeply');
});

test('large frames count by their size: the native stack never overflows first', () => {
  for (const count of [10, 200, 2000]) {
    const sums = Array.from(
      { length: count },
      (_, local) => `(local.set $v${local} (f64.add (local.get $x) (f64.const ${local})))`,
    );
    const kept = Array.from({ length: count }, (_, local) => `(local.get $v${local}) (f64.add)`);
    const names = Array.from({ length: count }, (_, local) => `(local $v${local} f64)`);
    const wide = `(func $wide (param $x f64) (result f64) ${names.join(' ')} ${sums.join(' ')}
      (call $wide (f64.add (local.get $x) (f64.const 1))) ${kept.join(' ')})`;
    const caller = callerOf(phaseText(answering('(i32.trunc_f64_s (call $wide (f64.const 1)))'), wide));
    for (let time = 0; time < 20; time++) {
      expect(failureOf(() => caller.call(Buffer.alloc(0)))).toBe('trap WasmTrap: its calls nest too deeply');
    }
  }
});

test('traps, bad results and refusals are distinguished', () => {
  const failures = {
    '(unreachable)': 'trap WasmTrap: it trapped: unreachable',
    '(i32.div_u (i32.const 1) (i32.const 0))': 'trap WasmTrap: it trapped: integer divide by zero',
    '(i32.load (i32.const -4))': 'trap WasmTrap: it trapped: out of bounds memory access',
    '(i32.store (local.get $outp) (i32.const 70000)) (i32.const 0) (i32.store (local.get $outl) (i32.const 4))':
      'result WasmTrap: the output (4 bytes at 70000) lies outside its memory of 65536 bytes',
    '(i32.store (local.get $outp) (i32.const 8)) (i32.store (local.get $outl) (i32.const 2)) (i32.store16 (i32.const 8) (i32.const 0x6f6e)) (i32.const 7)':
      'refused WasmTrap: the module answered 7: no',
  };
  for (const [body, failure] of Object.entries(failures)) {
    const caller = callerOf(phaseText(body));
    expect(failureOf(() => caller.call(Buffer.alloc(0)))).toBe(failure);
    expect(failureOf(() => caller.call(Buffer.alloc(0)))).toBe(failure);
  }
  const wild = callerOf(
    phaseText('(i32.const 0)')
      .replace('(global.get $top)', '(i32.const -1)')
      .replace(/\(global\.set \$top[^\n]*/, ')'),
  );
  expect(failureOf(() => wild.call(Buffer.from('abc')))).toBe(
    'result WasmTrap: the input (3 bytes at 4294967295) lies outside its memory of 65536 bytes',
  );
});

test('memory grows to its limit; a module that fails beyond it is reported as a memory failure', () => {
  const grow = (pages: number): string => `(memory.grow (i32.const ${pages}))`;
  const limits = { memoryBytesMax: 4 * 65_536 };
  expect(valueOf(callerOf(phaseText(answering(grow(3))), limits))).toBe(1);
  // A module may also continue without the memory.
  expect(valueOf(callerOf(phaseText(answering(grow(4))), limits))).toBe(-1);
  const needs = callerOf(
    phaseText(`(if (i32.lt_s ${grow(4)} (i32.const 0)) (then unreachable)) (i32.const 0)`),
    limits,
  );
  expect(failureOf(() => needs.call(Buffer.alloc(0)))).toMatch(/^memory WasmMemoryLimit/);
});

test('no call observes an earlier one: memory, grown memory, globals, tables', () => {
  const counter = answering('(i32.load (i32.const 600)) ').replace(
    '(i32.store (i32.const 512)',
    '(i32.store (i32.const 600) (i32.add (i32.load (i32.const 600)) (i32.const 1))) (i32.store (i32.const 512)',
  );
  const leaks = {
    memory: callerOf(phaseText(counter)),
    data: callerOf(phaseText(counter, '(data (i32.const 600) "\\00")')),
    grown: callerOf(phaseText(`(drop (memory.grow (i32.const 1))) ${counter}`)),
    global: callerOf(
      phaseText(
        `(global.set $g (i32.add (global.get $g) (i32.const 1))) ${answering('(global.get $g)')}`,
        '(global $g (mut i32) (i32.const 0))',
      ),
    ),
    table: callerOf(
      phaseText(
        `(if (i32.eqz (ref.is_null (table.get $t (i32.const 0)))) (then unreachable))
         (table.set $t (i32.const 0) (ref.func $apply)) ${answering('(i32.const 1)')}`,
        '(table $t 1 funcref)',
      ),
    ),
  };
  for (const [what, caller] of Object.entries(leaks)) {
    for (let time = 0; time < 3; time++) expect([what, valueOf(caller)]).toEqual([what, 1]);
    const { fuelUsed } = caller;
    valueOf(caller);
    expect(caller.fuelUsed).toBe(fuelUsed);
  }
  // After a trap too.
  const trapping = callerOf(
    phaseText(
      `(i32.store (i32.const 600) (i32.const 9)) (if (local.get $len) (then unreachable)) ${counter}`,
    ),
  );
  expect(valueOf(trapping)).toBe(10);
  failureOf(() => trapping.call(Buffer.from('x')));
  expect(valueOf(trapping)).toBe(10);
});

test('which NaN an operation returns cannot be observed', () => {
  const bits = (expression: string): number =>
    valueOf(callerOf(phaseText(answering(`(i32.reinterpret_f32 ${expression})`))));
  const odd = '(f32.reinterpret_i32 (i32.const 0xffa00001))';
  const canonical = 0x7fc00000;
  expect(bits(`(f32.add ${odd} (f32.const 1))`)).toBe(canonical);
  expect(bits('(f32.div (f32.const 0) (f32.const 0))')).toBe(canonical);
  expect(bits('(f32.sqrt (f32.const -1))')).toBe(canonical);
  expect(bits(`(f32.mul (f32.sub ${odd} (f32.const 1)) (f32.const 2))`)).toBe(canonical);
  expect(bits(`(f32.demote_f64 (f64.promote_f32 ${odd}))`)).toBe(canonical);
  // Moves keep the bits; only operations on the sign change it.
  expect(bits(odd) >>> 0).toBe(0xffa00001);
  expect(bits(`(f32.neg ${odd})`)).toBe(0x7fa00001);
  expect(bits('(f32.add (f32.const 1) (f32.const 2))')).toBe(0x40400000);
});

test('copying long runs costs by their length', () => {
  const fill = (bytes: number): number => {
    const caller = callerOf(
      phaseText(
        `(memory.fill (i32.const 0) (i32.const 1) (i32.const ${bytes})) ${answering('(i32.const 1)')}`,
      ),
    );
    valueOf(caller);
    return caller.fuelUsed;
  };
  expect(fill(48_000) - fill(0)).toBe(6000);
  const endless = callerOf(
    phaseText('(loop $l (memory.fill (i32.const 0) (i32.const 1) (i32.const 65536)) (br $l)) (i32.const 0)'),
  );
  expect(failureOf(() => endless.call(Buffer.alloc(0)))).toContain('WasmOutOfFuel');
});
