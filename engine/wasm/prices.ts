/**
 * The price of each instruction, in units of fuel.
 *
 * A unit is the time of a plain instruction (a load, an addition, a local) in the engine's first tier: 0.1 to 0.4 ns on
 * a machine of 3 GHz. The price of any other instruction is its time in such units. An instruction whose work depends
 * on an operand pays for every byte, element or page of it. Equal fuel should last equally long in all instructions,
 * within a factor of four; `npm run bench -- wasm` measures this, on an idle machine.
 *
 * A first call into a module runs in the first tier, whatever it loops, so the prices are made for that tier. The
 * optimizing tier is faster at most instructions. The prices do not depend on it, and some instructions may be slower
 * for their fuel there than others. The prices do not include cache misses, nor the page faults of memory on its first
 * use (`memory.grow` pays for those in advance).
 */

/**
 * Prices other than 1, by the names in `opcodes.ts`. Prices of tables and memories that depend on a length are below.
 */
const prices: ReadonlyMap<string, number> = new Map([
  ...priced(0, 'nop block else end'),
  // Includes the comparison of the fuel at every turn.
  ...priced(8, 'loop'),
  ...priced(3, 'br'),
  ...priced(3, 'br_if if'),
  ...priced(6, 'br_table'),
  ...priced(24, 'call'),
  ...priced(28, 'call_indirect'),
  ...priced(2, 'global.get memory.size table.size data.drop'),
  ...priced(5, 'elem.drop'),
  ...priced(10, 'ref.func'),
  ...priced(12, 'table.get'),
  ...priced(3, 'i32.div_s i32.div_u i32.rem_s i32.rem_u'),
  ...priced(5, 'i64.div_s i64.div_u i64.rem_s i64.rem_u'),
  // In the first tier this is a call out of the code.
  ...priced(20, 'i32.rotl i32.rotr i64.rotl i64.rotr'),
  ...priced(4, 'f32.div f32.min f32.max f64.min f64.max'),
  ...priced(4, 'f64.div'),
  ...priced(2, 'f32.copysign f64.copysign'),
  ...priced(5, 'f32.sqrt'),
  ...priced(8, 'f64.sqrt'),
  ...['i32', 'i64'].flatMap((type) =>
    ['trunc_f32_s', 'trunc_f32_u', 'trunc_f64_s', 'trunc_f64_u'].flatMap((name) =>
      priced(5, `${type}.${name} ${type}.${name.replace('trunc', 'trunc_sat')}`),
    ),
  ),
]);

function priced(price: number, names: string): (readonly [string, number])[] {
  return names.split(' ').map((name) => [name, price]);
}

/** The price of an instruction, without that of its lengths, parameters and labels. */
export function priceOf(name: string): number {
  return prices.get(name) ?? 1;
}

/** A price in addition to `priceOf`: a fixed part, and a part for each element, each 8 bytes, or each page. */
export interface LengthPrice {
  readonly base: number;
  readonly each: number;
}

/** Prices for a table of functions, whose every element the engine writes twice, and for one of host references. */
export interface TablePrice {
  readonly functions: LengthPrice;
  readonly others: LengthPrice;
}

/** Instructions on runs of bytes; `each` is for 8 bytes. */
const bytePrices: ReadonlyMap<string, LengthPrice> = new Map([
  ['memory.fill', { base: 30, each: 1 }],
  ['memory.copy', { base: 30, each: 1 }],
  ['memory.init', { base: 35, each: 1 }],
]);

const tablePrices: ReadonlyMap<string, TablePrice> = new Map([
  ['table.set', { functions: { base: 180, each: 0 }, others: { base: 12, each: 0 } }],
  ['table.fill', { functions: { base: 85, each: 105 }, others: { base: 85, each: 16 } }],
  ['table.copy', { functions: { base: 95, each: 140 }, others: { base: 90, each: 55 } }],
  ['table.init', { functions: { base: 190, each: 155 }, others: { base: 190, each: 45 } }],
  ['table.grow', { functions: { base: 160, each: 120 }, others: { base: 160, each: 25 } }],
]);

/** `memory.grow`: `base` applies to a refused growth as well; a page is zeroed on its first use. */
export const growthPrice = { base: 160, granted: 1500, each: 8000 } as const;

/** Price of an instruction on a run of bytes; undefined for other instructions. */
export function bytePriceOf(name: string): LengthPrice | undefined {
  return bytePrices.get(name);
}

/** Prices of an instruction that changes a table; undefined for other instructions. */
export function tablePriceOf(name: string): TablePrice | undefined {
  return tablePrices.get(name);
}

/** The additional price of a `br_table` with this many labels, whose code is searched. */
export function labelsPrice(labels: number): number {
  return 3 * Math.floor(Math.sqrt(labels));
}

/** The price of a function's locals at each call: they are cleared. */
export function localsPrice(locals: number): number {
  return Math.floor((locals * 5) / 8);
}

/**
 * Price of a function that a call may observe as a reference: the engine creates an object for it on the first
 * observation in an instance. A call pays for all functions that it may observe.
 */
export const referencePrice = 3000;

/** Above this price the fuel is compared before the instruction runs. */
export const uncomparedMax = 100;
