/**
 * What each instruction costs, in units of fuel.
 *
 * A unit is what a plain instruction (a load, an addition, a local) takes in the engine's first tier: 0.1 to 0.4 ns on a
 * machine of 3 GHz. Every other instruction costs so many units as it takes times as long, and an instruction whose work
 * follows an operand pays for every byte, element or page of it. The aim is that equal fuel lasts equally long in all
 * instructions, within a factor of four; `npm run bench -- wasm` measures it, and needs an idle machine to do so.
 *
 * A first call into a module runs in the first tier, whatever it loops, so that tier is what the prices are made for. The
 * optimizing tier is faster at most instructions; the prices do not depend on it, and some instructions may be slower there
 * for their fuel than others. Not in the price: caches that miss, and the page faults of memory that is
 * used for the first time (`memory.grow` pays ahead for those).
 */

/** Prices other than 1, by the names of `opcodes.ts`. Those of tables and memories that depend on a length are below. */
const prices: ReadonlyMap<string, number> = new Map([
  ...priced(0, 'nop block else end'),
  // The comparison of the fuel at every turn.
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
  // A call out of the code in the first tier.
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

/** The units of an instruction, without what its lengths, parameters and labels add. */
export function priceOf(name: string): number {
  return prices.get(name) ?? 1;
}

/** Beside the instruction's own unit: a fixed part, and so many for each element (or each 8 bytes, or each page). */
export interface LengthPrice {
  readonly base: number;
  readonly each: number;
}

/** Of a table of functions, whose every element the engine writes twice, and of one of references of the host. */
export interface TablePrice {
  readonly functions: LengthPrice;
  readonly others: LengthPrice;
}

/** Runs of bytes; `each` is for 8 of them. */
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

/** `memory.grow`: the fixed part is for a refused growth as well; a page is zeroed when it is first used. */
export const growthPrice = { base: 160, granted: 1500, each: 8000 } as const;

/** Price of an instruction on a run of bytes; undefined for other instructions. */
export function bytePriceOf(name: string): LengthPrice | undefined {
  return bytePrices.get(name);
}

/** Prices of an instruction that changes a table, by what the table holds; undefined for other instructions. */
export function tablePriceOf(name: string): TablePrice | undefined {
  return tablePrices.get(name);
}

/** What a `br_table` of so many labels costs more: its code is searched. */
export function labelsPrice(labels: number): number {
  return 3 * Math.floor(Math.sqrt(labels));
}

/** What the locals of a function cost at each of its calls: they are cleared. */
export function localsPrice(locals: number): number {
  return Math.floor((locals * 5) / 8);
}

/**
 * The first time that an instance looks at a function as a reference, the engine makes an object for it. A call pays for all
 * functions that it may look at.
 */
export const referencePrice = 3000;

/** An instruction that costs more is compared with what is left before it runs. */
export const uncomparedMax = 100;
