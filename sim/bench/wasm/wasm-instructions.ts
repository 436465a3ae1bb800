/**
 * For every allowed instruction, a module that executes almost only this instruction until its fuel is used up, so that
 * the time of equal fuel can be compared. Operands come from locals and results go to locals, far more than there are
 * registers, and at the end of a turn to memory, so that no engine eliminates the work. An instruction whose work
 * depends on an operand appears once for each of several lengths.
 */
export interface InstructionLoad {
  /** The instruction's name, with a length or form where it has several. */
  readonly name: string;
  readonly text: string;
}

interface Form {
  readonly name: string;
  /** The instruction once, with operands and result at place `index`. */
  readonly unit: (index: number) => string;
  /** Number of copies in a turn; fewer for a slow instruction. */
  readonly copies?: number;
}

type NumberType = 'i32' | 'i64' | 'f32' | 'f64';
const types: readonly NumberType[] = ['i32', 'i64', 'f32', 'f64'];
/** Number of locals of each type. */
const places = 24;
const rounds = 4;
const tableElements = 3000;
const memoryPages = 16;

const get = (type: NumberType, index: number): string => `(local.get $${type}x${index})`;
const other = (type: NumberType, index: number): string => `(local.get $${type}y${index})`;
const set = (type: NumberType, index: number, value: string): string =>
  `(local.set $${type}x${index} ${value})`;

/** The modules of all instructions. */
export function instructionLoads(): readonly InstructionLoad[] {
  const forms = [
    ...integers(),
    ...floats(),
    ...conversions(),
    ...memory(),
    ...moves(),
    ...control(),
    ...tables(),
  ];
  return forms.map((form) => ({ name: form.name, text: textOf(form) }));
}

/**
 * One operand where the instruction takes one, else two; a comparison's result of 0 or 1 is converted back to the type.
 */
function numeric(type: NumberType, names: string, operands: 1 | 2, result: (text: string) => string): Form[] {
  return names.split(' ').map((name) => ({
    name: `${type}.${name}`,
    unit: (index) =>
      set(
        type,
        index,
        result(`(${type}.${name} ${get(type, index)} ${operands === 2 ? other(type, index) : ''})`),
      ),
  }));
}

const asItIs = (text: string): string => text;

function integers(): Form[] {
  return (['i32', 'i64'] as const).flatMap((type) => {
    const flag = type === 'i32' ? asItIs : (text: string): string => `(i64.extend_i32_u ${text})`;
    const large = type === 'i32' ? '(i32.const 0x7abcdef1)' : '(i64.const 0x7abcdef123456789)';
    const divisions = 'div_s div_u rem_s rem_u'.split(' ').map((name): Form => {
      const dividend = (index: number): string => `(${type}.or ${get(type, index)} ${large})`;
      return {
        name: `${type}.${name}`,
        unit: (index) => set(type, index, `(${type}.${name} ${dividend(index)} ${other(type, index)})`),
      };
    });
    const widths = type === 'i32' ? 'extend8_s extend16_s' : 'extend8_s extend16_s extend32_s';
    return [
      ...numeric(type, 'add sub mul and or xor shl shr_s shr_u rotl rotr', 2, asItIs),
      ...divisions,
      ...numeric(type, `clz ctz popcnt ${widths}`, 1, asItIs),
      ...numeric(type, 'eqz', 1, flag),
      ...numeric(type, 'eq ne lt_s lt_u gt_s gt_u le_s le_u ge_s ge_u', 2, flag),
    ];
  });
}

function floats(): Form[] {
  return (['f32', 'f64'] as const).flatMap((type) => [
    ...numeric(type, 'add sub mul div min max copysign', 2, asItIs),
    ...numeric(type, 'abs neg ceil floor trunc nearest sqrt', 1, asItIs),
    ...numeric(type, 'eq ne lt gt le ge', 2, (text) => `(${type}.convert_i32_s ${text})`),
  ]);
}

/** Each conversion with its reverse. */
function conversions(): Form[] {
  const both = (type: NumberType, there: string, back: string): Form => ({
    name: `${there}, ${back}`,
    unit: (index) => set(type, index, `(${back} (${there} ${get(type, index)}))`),
  });
  const truncations = (['f32', 'f64'] as const).flatMap((from) =>
    (['i32', 'i64'] as const).flatMap((to) =>
      ['s', 'u'].flatMap((sign) =>
        ['trunc', 'trunc_sat'].map((name) =>
          both(from, `${to}.${name}_${from}_${sign}`, `${from}.convert_${to}_${sign}`),
        ),
      ),
    ),
  );
  return [
    ...truncations,
    both('i64', 'i32.wrap_i64', 'i64.extend_i32_s'),
    both('i64', 'i32.wrap_i64', 'i64.extend_i32_u'),
    both('f64', 'f32.demote_f64', 'f64.promote_f32'),
    both('f32', 'i32.reinterpret_f32', 'f32.reinterpret_i32'),
    both('f64', 'i64.reinterpret_f64', 'f64.reinterpret_i64'),
  ];
}

function memory(): Form[] {
  const loads = 'load load8_s load8_u load16_s load16_u';
  const stores = 'store store8 store16';
  const rows: readonly (readonly [NumberType, string, string])[] = [
    ['i32', loads, stores],
    ['i64', `${loads} load32_s load32_u`, `${stores} store32`],
    ['f32', 'load', 'store'],
    ['f64', 'load', 'store'],
  ];
  const single = rows.flatMap(([type, reading, writing]) => [
    ...reading.split(' ').map((name): Form => ({
      name: `${type}.${name}`,
      unit: (index) => set(type, index, `(${type}.${name} (local.get $p${index}))`),
    })),
    ...writing.split(' ').map((name): Form => ({
      name: `${type}.${name}`,
      unit: (index) => `(${type}.${name} (local.get $p${index}) ${get(type, index)})`,
    })),
  ]);
  const runs = [0, 8, 64, 1024, 60_000].flatMap((length): Form[] => [
    {
      name: `memory.fill, ${length} bytes`,
      unit: () => `(memory.fill (i32.const 0) (i32.const 0) (i32.const ${length}))`,
      copies: 1,
    },
    {
      name: `memory.copy, ${length} bytes`,
      unit: () => `(memory.copy (i32.const 8) (i32.const 0) (i32.const ${length}))`,
      copies: 1,
    },
    {
      name: `memory.init, ${length} bytes`,
      unit: () => `(memory.init $some (i32.const 0) (i32.const 0) (i32.const ${length}))`,
      copies: 1,
    },
  ]);
  const grow = (pages: number, what: string): Form => ({
    name: `memory.grow, ${what}`,
    unit: (index) => set('i32', index, `(memory.grow (i32.const ${pages}))`),
    copies: 1,
  });
  return [
    ...single,
    ...runs,
    grow(0, 'no page'),
    grow(1, 'one page until refused'),
    grow(60_000, 'refused'),
    { name: 'memory.size', unit: (index) => set('i32', index, '(memory.size)') },
    { name: 'data.drop', unit: () => '(data.drop $none)' },
  ];
}

function moves(): Form[] {
  return [
    { name: 'local.get, local.set', unit: (index) => set('i32', index, get('i32', (index + 7) % places)) },
    {
      name: 'local.tee',
      unit: (index) =>
        set('i32', index, `(local.tee $i32x${(index + 5) % places} ${get('i32', (index + 7) % places)})`),
    },
    { name: 'drop', unit: (index) => `(drop (i32.load (local.get $p${index})))` },
    ...types.flatMap((type): Form[] => [
      { name: `${type}.const`, unit: (index) => `(global.set $${type}g (${type}.const ${index + 3}))` },
      {
        name: `global.get, global.set of ${type}`,
        unit: () => `(global.set $${type}g (global.get $${type}h))`,
      },
      {
        name: `select of ${type}`,
        unit: (index) =>
          set(type, index, `(select ${get(type, index)} ${other(type, index)} ${other('i32', index)})`),
      },
    ]),
  ];
}

function control(): Form[] {
  const table = (labels: number): Form => {
    const next = '(local.tee $i32x0 (i32.rem_u (i32.add (local.get $i32x0) (i32.const 337))';
    const body = `(br_table ${'0 1 '.repeat(labels / 2)} ${next} (i32.const ${labels}))))`;
    return { name: `br_table, ${labels} labels`, unit: () => `(block (block ${body}))`, copies: 1 };
  };
  const many = Array.from({ length: 20 }, (_, index) => get('i64', index)).join(' ');
  return [
    { name: 'loop', unit: () => '(loop)' },
    { name: 'br to a loop', unit: () => '', copies: 1 },
    { name: 'br', unit: () => '(block (br 0))' },
    { name: 'br_if, taken', unit: (index) => `(block (br_if 0 ${other('i32', index)}))` },
    { name: 'br_if, not taken', unit: (index) => `(block (br_if 0 (local.get $p${index})))` },
    { name: 'if, else', unit: (index) => `(if ${other('i32', index)} (then) (else))` },
    ...[2, 10, 100, 1000, 20_000].map(table),
    { name: 'call', unit: () => '(call $nothing)' },
    { name: 'call, return', unit: () => '(call $returns)' },
    { name: 'call, 1 parameter', unit: (index) => set('i32', index, `(call $same ${get('i32', index)})`) },
    { name: 'call, 20 parameters', unit: () => `(call $many ${many})`, copies: 4 },
    { name: 'call, 100 results', unit: () => `(call $results) ${'(drop)'.repeat(100)}`, copies: 2 },
    { name: 'call, 1000 locals', unit: () => '(call $locals1000)', copies: 4 },
    { name: 'call, 5000 locals', unit: () => '(call $locals5000)', copies: 4 },
    {
      name: 'call_indirect',
      unit: (index) =>
        set('i32', index, `(call_indirect $functions (type $unary) ${get('i32', index)} (i32.const 2))`),
    },
  ];
}

function tables(): Form[] {
  const kinds = [
    { name: 'functions', type: 'func', value: '(ref.func $same)', segment: '$references' },
    { name: 'others', type: 'extern', value: '(ref.null extern)', segment: '$nulls' },
  ];
  const perKind = kinds.flatMap(({ name, type, value, segment }): Form[] => [
    {
      name: `table.get of ${name}`,
      unit: (index) => set('i32', index, `(ref.is_null (table.get $${name} (i32.const ${index})))`),
    },
    {
      name: `table.set of ${name}`,
      unit: (index) => `(table.set $${name} (i32.const ${index}) ${value})`,
      copies: 4,
    },
    { name: `table.size of ${name}`, unit: (index) => set('i32', index, `(table.size $${name})`) },
    {
      name: `table.grow of ${name}, refused`,
      unit: () => `(drop (table.grow $${name} ${value} (i32.const 60000)))`,
      copies: 1,
    },
    {
      name: `table.grow of ${name}, by 0`,
      unit: () => `(drop (table.grow $${name} ${value} (i32.const 0)))`,
      copies: 1,
    },
    {
      name: `ref.null ${type}, ref.is_null`,
      unit: (index) => set('i32', index, `(ref.is_null (ref.null ${type}))`),
    },
    ...[0, 1, 10, 2500].flatMap((length): Form[] => [
      {
        name: `table.fill of ${name}, ${length} elements`,
        unit: () => `(table.fill $${name} (i32.const 0) ${value} (i32.const ${length}))`,
        copies: 1,
      },
      {
        name: `table.copy of ${name}, ${length} elements`,
        unit: () => `(table.copy $${name} $${name} (i32.const 1) (i32.const 0) (i32.const ${length}))`,
        copies: 1,
      },
      {
        name: `table.init of ${name}, ${length} elements`,
        unit: () => `(table.init $${name} ${segment} (i32.const 0) (i32.const 0) (i32.const ${length}))`,
        copies: 1,
      },
    ]),
  ]);
  return [
    ...perKind,
    { name: 'ref.func', unit: (index) => set('i32', index, '(ref.is_null (ref.func $same))') },
    { name: 'elem.drop', unit: () => '(elem.drop $unused)' },
  ];
}

/** Stores the turn's results to memory, where locals hold any. */
function stored({ unit, copies }: Form): string {
  if (copies !== undefined) return '';
  const written = types.filter((type) => unit(0).includes(`local.set $${type}x`));
  return written
    .flatMap((type) =>
      Array.from(
        { length: places },
        (_, index) => `(${type}.store (i32.const ${4096 + 8 * index}) ${get(type, index)})`,
      ),
    )
    .join(' ');
}

function textOf(form: Form): string {
  const everywhere = (item: (index: number) => string): string =>
    Array.from({ length: places }, (_, index) => item(index)).join(' ');
  const locals = types
    .map((type) =>
      everywhere((index) => `(local $${type}x${index} ${type}) (local $${type}y${index} ${type})`),
    )
    .join(' ');
  // Loaded from memory, so that no engine knows the values.
  const values = types
    .map((type) => {
      const value = type.startsWith('i') ? 3 : 1.0001;
      return everywhere(
        (index) => `(${type}.store (i32.const ${2048 + 8 * index}) (${type}.const ${value}))
          (local.set $${type}y${index} (${type}.load (i32.const ${2048 + 8 * index})))`,
      );
    })
    .join(' ');
  const copies = form.copies ?? places * rounds;
  const units = Array.from({ length: copies }, (_, index) => form.unit(index % places)).join(' ');
  return `(module (memory (export "memory") ${memoryPages})
    (type $unary (func (param i32) (result i32)))
    (table $functions ${tableElements} ${tableElements} funcref) (table $others ${tableElements} ${tableElements} externref)
    (elem (table $functions) (i32.const 0) func ${'$same $twin '.repeat(tableElements / 2)})
    (elem $references func ${'$same $nothing '.repeat(tableElements / 2)})
    (elem $nulls externref ${'(ref.null extern) '.repeat(tableElements)}) (elem $unused func $same)
    (data $none "x") (data $some "${'x'.repeat(60_000)}")
    ${types.map((type) => `(global $${type}g (mut ${type}) (${type}.const 0)) (global $${type}h (mut ${type}) (${type}.const 1))`).join(' ')}
    (func $nothing) (func $returns (return))
    (func $same (type $unary) (local.get 0)) (func $twin (type $unary) (local.get 0))
    (func $many (param ${'i64 '.repeat(20)})) (func $results (result ${'i64 '.repeat(100)}) ${'(i64.const 1) '.repeat(100)})
    (func $locals1000 (local ${'i64 '.repeat(1000)})) (func $locals5000 (local ${'i64 '.repeat(5000)}))
    (func (export "phase_alloc") (param i32) (result i32) (i32.const 1024))
    (func (export "phase_apply") (param i32 i32 i32 i32) (result i32) ${locals} ${everywhere((index) => `(local $p${index} i32)`)}
      ${values} (loop $turn ${units} ${stored(form)} (br $turn)) (i32.const 0)))`;
}
