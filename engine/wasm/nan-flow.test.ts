/** Programs of floats behave as if every NaN result were made canonical at once, whatever path it takes. */
import fc from 'fast-check';
import { expect, test } from 'vitest';

import { wasmLimitDefaults } from './module-limits.ts';
import { prepareModule } from './prepare.ts';
import { callerOf, phaseText, wasmOf } from './wat.fixture.ts';

/** Bits of the four locals and of the four places in memory. */
interface State {
  readonly locals: bigint[];
  readonly memory: bigint[];
}

interface Expression {
  readonly text: string;
  value(state: State): bigint;
}

interface Statement {
  readonly text: string;
  run(state: State): void;
}

const places = 4;
const canonical = 0x7ff8000000000000n;
const sign = 1n << 63n;
const view = new DataView(new ArrayBuffer(8));

function numberOf(bits: bigint): number {
  view.setBigUint64(0, bits);
  return view.getFloat64(0);
}

function bitsOf(number: number): bigint {
  if (Number.isNaN(number)) return canonical;
  view.setFloat64(0, number);
  return view.getBigUint64(0);
}

const constants: readonly (readonly [text: string, bits: bigint])[] = [
  ['0', 0n],
  ['-2.5', bitsOf(-2.5)],
  ['inf', bitsOf(Infinity)],
  ['nan:0x4000000000123', 0x7ff4000000000123n],
  ['-nan:0x8000000000007', 0xfff8000000000007n],
];

const place = fc.nat(places - 1);

const expression: fc.Memo<Expression> = fc.memo((depth) => {
  const leaf: fc.Arbitrary<Expression> = fc.oneof(
    fc.constantFrom(...constants).map(([text, bits]) => ({ text: `(f64.const ${text})`, value: () => bits })),
    place.map((at) => ({ text: `(local.get $v${at})`, value: ({ locals }: State) => locals[at] ?? 0n })),
    place.map((at) => ({
      text: `(f64.load (i32.const ${600 + at * 8}))`,
      value: ({ memory }: State) => memory[at] ?? 0n,
    })),
    place.map((at) => ({
      text: `(f64.convert_i32_s (i32.const ${at - 2}))`,
      value: () => bitsOf(at - 2),
    })),
  );
  if (depth < 2) return leaf;
  const inner = expression(depth - 1);
  const computed: Readonly<Record<string, (left: number, right: number) => number>> = {
    'f64.add': (left, right) => left + right,
    'f64.sub': (left, right) => left - right,
    'f64.mul': (left, right) => left * right,
    'f64.div': (left, right) => left / right,
  };
  const binary = fc
    .tuple(fc.constantFrom(...Object.keys(computed)), inner, inner)
    .map(([name, left, right]) => ({
      text: `(${name} ${left.text} ${right.text})`,
      value: (state: State) => {
        const first = numberOf(left.value(state));
        return bitsOf(computed[name]?.(first, numberOf(right.value(state))) ?? 0);
      },
    }));
  const moved: Readonly<Record<string, (bits: bigint) => bigint>> = {
    'f64.neg': (bits) => bits ^ sign,
    'f64.abs': (bits) => bits & ~sign,
    'f64.sqrt': (bits) => bitsOf(Math.sqrt(numberOf(bits))),
    // Through a parameter and a result, and through the bits.
    'call $same': (bits) => bits,
    'f64.reinterpret_i64 (i64.reinterpret_f64': (bits) => bits,
  };
  const unary = fc.tuple(fc.constantFrom(...Object.keys(moved)), inner).map(([name, operand]) => ({
    text: `(${name} ${operand.text})${name.includes('(') ? ')' : ''}`,
    value: (state: State) => moved[name]?.(operand.value(state)) ?? 0n,
  }));
  const copysign = fc.tuple(inner, inner).map(([left, right]) => ({
    text: `(f64.copysign ${left.text} ${right.text})`,
    value: (state: State) => {
      const magnitude = left.value(state) & ~sign;
      return magnitude | (right.value(state) & sign);
    },
  }));
  const chosen = fc
    .tuple(fc.constantFrom('select', 'if'), inner, inner, inner)
    .map(([form, yes, no, asked]) => {
      const condition = `(f64.lt ${asked.text} (f64.const 1))`;
      return {
        text:
          form === 'select'
            ? `(select ${yes.text} ${no.text} ${condition})`
            : `(if (result f64) ${condition} (then ${yes.text}) (else ${no.text}))`,
        value: (state: State) => {
          // Without local.tee, the order of these cannot be observed.
          return numberOf(asked.value(state)) < 1 ? yes.value(state) : no.value(state);
        },
      };
    });
  return fc.oneof(leaf, binary, unary, copysign, chosen);
});

const statement: fc.Memo<Statement> = fc.memo((depth) => {
  const set = fc.tuple(place, expression(3)).map(([at, operand]) => ({
    text: `(local.set $v${at} ${operand.text})`,
    run: (state: State) => void (state.locals[at] = operand.value(state)),
  }));
  const teed = fc.tuple(place, place, expression(3)).map(([at, to, operand]) => ({
    text: `(f64.store (i32.const ${600 + to * 8}) (local.tee $v${at} ${operand.text}))`,
    run: (state: State) => {
      const bits = operand.value(state);
      state.locals[at] = bits;
      state.memory[to] = bits;
    },
  }));
  const store = fc.tuple(place, expression(3)).map(([to, operand]) => ({
    text: `(f64.store (i32.const ${600 + to * 8}) ${operand.text})`,
    run: (state: State) => void (state.memory[to] = operand.value(state)),
  }));
  if (depth < 2) return fc.oneof(set, teed, store);
  const inner = fc.array(statement(depth - 1), { minLength: 1, maxLength: 4 });
  const repeat = inner.map((body) => ({
    text: `(local.set $turn${depth} (i32.const 3)) (loop $again${depth} ${body.map(({ text }) => text).join(' ')}
      (br_if $again${depth} (local.tee $turn${depth} (i32.sub (local.get $turn${depth}) (i32.const 1)))))`,
    run: (state: State) => {
      for (let turn = 0; turn < 3; turn++) for (const one of body) one.run(state);
    },
  }));
  return fc.oneof(set, teed, store, repeat);
});

test('the bits of a NaN result are observed nowhere, and constants and loaded values keep theirs', () => {
  fc.assert(
    fc.property(fc.array(statement(3), { minLength: 1, maxLength: 6 }), fc.boolean(), (program, all) => {
      const state: State = { locals: [0n, 0n, 0n, 0n], memory: [0n, 0n, 0n, 0n] };
      for (const one of program) one.run(state);
      const names = [0, 1, 2, 3].map((at) => `(local $v${at} f64)`).join(' ');
      // The locals are observed at the end, or only what the program itself stored.
      const shown = [0, 1, 2, 3].map((at) => `(f64.store (i32.const ${632 + at * 8}) (local.get $v${at}))`);
      const body = `${names} (local $turn2 i32) (local $turn3 i32)
        ${program.map(({ text }) => text).join('\n')} ${all ? shown.join(' ') : ''}
        (i32.store (local.get $outp) (i32.const 600)) (i32.store (local.get $outl) (i32.const 64)) (i32.const 0)`;
      const caller = callerOf(
        phaseText(
          body,
          '(func $same (param f64) (result f64) (local f64) (local.set 1 (local.get 0)) (local.get 1))',
        ),
      );
      const output = Buffer.from(caller.call(Buffer.alloc(0)));
      const bits = Array.from({ length: 8 }, (_, at) => output.readBigUInt64LE(at * 8));
      expect(bits).toEqual([...state.memory, ...(all ? state.locals : [0n, 0n, 0n, 0n])]);
    }),
    { numRuns: 300 },
  );
});

/** How often a phase with this body makes a double canonical. */
function sequencesIn(body: string): number {
  const { bytes } = prepareModule(wasmOf(phaseText(body)), wasmLimitDefaults);
  // `f64.const` with the bits of the canonical NaN.
  return Buffer.from(bytes).toString('latin1').split('\x44\0\0\0\0\0\0\xf8\x7f').length - 1;
}

test('a sum in a loop is made canonical once, after the loop', () => {
  const loop = (after: string): number => {
    const caller = `(local $i i32) (local $s f64)
      (loop $next (local.set $s (f64.add (f64.mul (local.get $s) (f64.const 0.5)) (f64.const 1)))
        (br_if $next (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 9))))
      ${after} (i32.const 0)`;
    return sequencesIn(caller);
  };
  expect(loop('')).toBe(0);
  expect(loop('(drop (f64.lt (local.get $s) (f64.const 1)))')).toBe(0);
  expect(loop('(f64.store (i32.const 8) (local.get $s))')).toBe(1);
});
