/**
 * The values of Lua 5.1, and the meter of one script's run. Numbers are doubles, as in Lua 5.1. Strings hold bytes, one
 * a character (latin1).
 *
 * Source: the Lua 5.1 reference manual, sections 2.2 and 2.8.
 */

/** A value; `undefined` is nil. */
export type LuaValue = undefined | boolean | number | string | LuaTable | LuaFunction | LuaNull;

/** A function, of the script or of a library. */
export class LuaFunction {
  readonly call: (args: readonly LuaValue[]) => readonly LuaValue[];

  constructor(call: (args: readonly LuaValue[]) => readonly LuaValue[]) {
    this.call = call;
  }
}

/** The type of `cjson.null`, which is neither nil nor a table. */
export class LuaNull {}

/** The only value of its type. */
export const luaNull = new LuaNull();

/** An error that the script raised or can catch; `value` is what `pcall` returns. */
export class LuaError extends Error {
  override readonly name = 'LuaError';
  readonly value: LuaValue;

  constructor(value: LuaValue) {
    super(typeof value === 'string' ? value : 'an error that is not a text');
    this.value = value;
  }
}

/** An error of a library function. The call site adds its line and makes it a `LuaError`. */
export class LibraryError extends Error {
  override readonly name = 'LibraryError';
  /** The value that the script catches instead of the message. */
  readonly table: LuaTable | undefined;

  constructor(message: string, table?: LuaTable) {
    super(message);
    this.table = table;
  }
}

/** Ends the script whatever it catches: it ran for too long, or took too much memory. */
export class ScriptStopped extends Error {
  override readonly name = 'ScriptStopped';
}

/** Bounds of one run. */
export interface ScriptBounds {
  /** Steps: statements, calls, operators; and pieces of the work of library functions. */
  readonly stepsMax: number;
  /** Bytes of all strings and table entries that the run makes, whether it keeps them or not. */
  readonly bytesMax: number;
  /** Calls within calls. */
  readonly depthMax: number;
}

/** Counts the steps, bytes and depth of one run. The counts are the same on every machine. */
export class Meter {
  readonly #bounds: ScriptBounds;
  #steps = 0;
  #bytes = 0;
  #depth = 0;

  constructor(bounds: ScriptBounds) {
    this.#bounds = bounds;
  }

  /** Counts steps. Throws `ScriptStopped` beyond the bound. */
  step(count = 1): void {
    this.#steps += count;
    if (this.#steps > this.#bounds.stepsMax) {
      throw new ScriptStopped(`the script took more than ${this.#bounds.stepsMax} steps`);
    }
  }

  /** Counts bytes of memory, before they are taken, and steps to fill them. Throws `ScriptStopped` beyond the bound. */
  allocate(bytes: number): void {
    this.#bytes += bytes;
    if (this.#bytes > this.#bounds.bytesMax) {
      throw new ScriptStopped(`the script took more than ${this.#bounds.bytesMax} bytes of memory`);
    }
    this.step(bytes >>> 6);
  }

  /** A call begins. Throws `LibraryError` beyond the bound. */
  enter(): void {
    if (this.#depth >= this.#bounds.depthMax) throw new LibraryError('stack overflow');
    this.#depth += 1;
  }

  /** A call ends, whether it returned or failed. */
  leave(): void {
    this.#depth -= 1;
  }
}

/** About the bytes of one entry of a table. */
const entryBytes = 48;

interface Slot {
  readonly key: LuaValue;
  value: LuaValue;
}

/** A table: a list of the values at 1, 2, 3 and so on, and slots for all other keys in the order of their insertion. */
export class LuaTable {
  metatable: LuaTable | undefined;
  /** A library: the script may not change it. */
  isReadOnly = false;
  readonly #meter: Meter;
  readonly #list: LuaValue[] = [];
  #slots: Slot[] = [];
  /** Indexes into `#slots`. */
  #index = new Map<LuaValue, number>();
  #dead = 0;

  constructor(meter: Meter) {
    this.#meter = meter;
    meter.allocate(entryBytes);
  }

  /** A length as `#` gives it. */
  get length(): number {
    return this.#list.length;
  }

  get(key: LuaValue): LuaValue {
    if (typeof key === 'number' && key >= 1 && key <= this.#list.length && Number.isInteger(key)) {
      return this.#list[key - 1];
    }
    const at = this.#indexOf(key);
    return at === undefined ? undefined : this.#slots[at]?.value;
  }

  /** Throws `LibraryError` for nil, for NaN, and if the table is a library. */
  set(key: LuaValue, value: LuaValue): void {
    if (this.isReadOnly) throw new LibraryError('Attempt to modify a readonly table');
    if (key === undefined) throw new LibraryError('table index is nil');
    if (typeof key === 'number' && Number.isNaN(key)) throw new LibraryError('table index is NaN');
    if (typeof key === 'number' && this.#setInList(key, value)) return;
    const at = this.#indexOf(key);
    const slot = at === undefined ? undefined : this.#slots[at];
    if (slot !== undefined) {
      if (slot.value === undefined && value !== undefined) this.#dead -= 1;
      else if (slot.value !== undefined && value === undefined) this.#dead += 1;
      slot.value = value;
    } else if (value !== undefined) this.#add(key, value);
  }

  /** Appends a value to the list. */
  push(value: LuaValue): void {
    this.set(this.#list.length + 1, value);
  }

  /** The entry after `key` in the table's order; the first one after nil. Undefined at the end. */
  next(key: LuaValue): readonly [LuaValue, LuaValue] | undefined {
    let slotAt = 0;
    const known = key === undefined ? undefined : this.#indexOf(key);
    if (known !== undefined) slotAt = known + 1;
    else {
      if (key !== undefined && typeof key !== 'number') throw new LibraryError("invalid key to 'next'");
      for (let at = key ?? 0; at < this.#list.length; at++) {
        const value = this.#list[at];
        if (value !== undefined) return [at + 1, value];
        this.#meter.step();
      }
    }
    for (let at = slotAt; at < this.#slots.length; at++) {
      const slot = this.#slots[at];
      if (slot?.value === undefined) continue;
      this.#meter.step((at - slotAt) >>> 2);
      return [slot.key, slot.value];
    }
    this.#meter.step((this.#slots.length - slotAt) >>> 2);
    return undefined;
  }

  /** The values of the list. */
  list(): readonly LuaValue[] {
    return this.#list;
  }

  /** Replaces the list by a sorted one of the same values. */
  reorder(sorted: readonly LuaValue[]): void {
    sorted.forEach((value, at) => (this.#list[at] = value));
  }

  #indexOf(key: LuaValue): number | undefined {
    // A long key is compared with the one that the table has, byte by byte.
    if (typeof key === 'string') this.#meter.step(key.length >>> 8);
    return this.#index.get(key);
  }

  #setInList(key: number, value: LuaValue): boolean {
    const { length } = this.#list;
    if (!Number.isInteger(key) || key < 1 || key > length + 1) return false;
    if (key <= length) {
      this.#list[key - 1] = value;
      while (this.#list.length > 0 && this.#list.at(-1) === undefined) this.#list.pop();
      return true;
    }
    if (value === undefined) return this.#index.size === 0;
    this.#meter.allocate(entryBytes);
    this.#drop(key);
    this.#list.push(value);
    for (let next = key + 1; this.#index.has(next); next++) {
      const moved = this.get(next);
      if (moved === undefined) break;
      this.#drop(next);
      this.#list.push(moved);
    }
    return true;
  }

  #drop(key: LuaValue): void {
    const at = this.#index.get(key);
    const slot = at === undefined ? undefined : this.#slots[at];
    if (slot === undefined) return;
    if (slot.value !== undefined) this.#dead += 1;
    slot.value = undefined;
    // `next` looks for a key of the list in the list alone.
    this.#index.delete(key);
  }

  #add(key: LuaValue, value: LuaValue): void {
    this.#meter.allocate(entryBytes);
    if (this.#dead > 16 && this.#dead * 2 > this.#slots.length) this.#compact();
    this.#index.set(key, this.#slots.length);
    this.#slots.push({ key, value });
  }

  #compact(): void {
    this.#meter.step(this.#slots.length);
    this.#slots = this.#slots.filter(({ value }) => value !== undefined);
    this.#index = new Map(this.#slots.map(({ key }, at) => [key, at]));
    this.#dead = 0;
  }
}

/** A table of values at 1, 2, 3 and so on. */
export function tableOf(meter: Meter, values: readonly LuaValue[]): LuaTable {
  const table = new LuaTable(meter);
  values.forEach((value, at) => table.set(at + 1, value));
  return table;
}

/** The name of a value's type. */
export function typeOf(value: LuaValue): string {
  if (value === undefined) return 'nil';
  if (value instanceof LuaTable) return 'table';
  if (value instanceof LuaFunction) return 'function';
  return value instanceof LuaNull ? 'userdata' : typeof value;
}

/** Everything but nil and false is true. */
export function isTrue(value: LuaValue): boolean {
  return value !== undefined && value !== false;
}

const numberForm = /^[ \t-\r]*[-+]?(?:0x[0-9a-f]+|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[-+]?[0-9]+)?)[ \t-\r]*$/i;

/** A number, or the number that a string states; otherwise undefined. */
export function numberOf(value: LuaValue): number | undefined {
  if (typeof value === 'number') return value;
  if (typeof value !== 'string' || value.length > 400 || !numberForm.test(value)) return undefined;
  const text = value.trim();
  return text.startsWith('-') ? -Number(text.slice(1)) : Number(text.startsWith('+') ? text.slice(1) : text);
}

/** C's `%.{digits}g`. */
export function formatShortest(value: number, digits: number): string {
  if (Number.isNaN(value)) return 'nan';
  if (!Number.isFinite(value)) return value > 0 ? 'inf' : '-inf';
  if (value === 0) return Object.is(value, -0) ? '-0' : '0';
  const precision = Math.min(Math.max(digits, 1), 21);
  const [mantissa = '', power = '0'] = value.toExponential(precision - 1).split('e');
  const exponent = Number(power);
  if (exponent >= -4 && exponent < precision) return trimmed(value.toFixed(precision - 1 - exponent));
  const size = String(Math.abs(exponent)).padStart(2, '0');
  return `${trimmed(mantissa)}e${exponent < 0 ? '-' : '+'}${size}`;
}

function trimmed(text: string): string {
  return text.includes('.') ? text.replace(/\.?0+$/, '') : text;
}

/** The text of a number or a string; undefined for other types. */
export function textOf(value: LuaValue): string | undefined {
  if (typeof value === 'string') return value;
  return typeof value === 'number' ? formatShortest(value, 14) : undefined;
}
