/** Reads the arguments of library functions, with the errors of Lua 5.1. */
import type { LuaValue, Meter } from './values.ts';
import { LibraryError, LuaFunction, LuaTable, numberOf, textOf, typeOf } from './values.ts';

/** The arguments of one call. Positions count from 1, as in Lua's errors. */
export class Arguments {
  readonly #function: string;
  readonly #values: readonly LuaValue[];

  constructor(name: string, values: readonly LuaValue[]) {
    this.#function = name;
    this.#values = values;
  }

  get count(): number {
    return this.#values.length;
  }

  /** All from a position on. */
  from(position: number): readonly LuaValue[] {
    return this.#values.slice(position - 1);
  }

  /** Any value; nil if it is missing. */
  any(position: number): LuaValue {
    return this.#values[position - 1];
  }

  /** A value that is there, even if it is nil. Throws `LibraryError`. */
  must(position: number): LuaValue {
    if (position > this.#values.length) throw this.bad(position, 'value expected');
    return this.any(position);
  }

  number(position: number, otherwise?: number): number {
    const value = this.any(position);
    if (value === undefined && otherwise !== undefined) return otherwise;
    return numberOf(value) ?? this.#wrong(position, 'number');
  }

  /** A number without its fraction. */
  integer(position: number, otherwise?: number): number {
    const number = this.number(position, otherwise);
    return Number.isNaN(number) ? 0 : Math.trunc(number);
  }

  text(position: number, otherwise?: string): string {
    const value = this.any(position);
    if (value === undefined && otherwise !== undefined) return otherwise;
    return textOf(value) ?? this.#wrong(position, 'string');
  }

  table(position: number): LuaTable {
    const value = this.any(position);
    return value instanceof LuaTable ? value : this.#wrong(position, 'table');
  }

  /** The error of an argument. */
  bad(position: number, message: string): LibraryError {
    return new LibraryError(`bad argument #${position} to '${this.#function}' (${message})`);
  }

  #wrong(position: number, wanted: string): never {
    const value = this.any(position);
    const got = position > this.#values.length ? 'no value' : typeOf(value);
    throw this.bad(position, `${wanted} expected, got ${got}`);
  }
}

/** A library function: gets its arguments, returns its values. */
export type LibraryFunction = (args: Arguments) => readonly LuaValue[];

/** A library as a table that scripts cannot change. */
export function libraryOf(
  meter: Meter,
  functions: Readonly<Record<string, LibraryFunction>>,
  constants: Readonly<Record<string, LuaValue>> = {},
): LuaTable {
  const table = new LuaTable(meter);
  for (const [name, run] of Object.entries(functions)) table.set(name, functionOf(name, run));
  for (const [name, value] of Object.entries(constants)) table.set(name, value);
  table.isReadOnly = true;
  return table;
}

/** A library function as a value. */
export function functionOf(name: string, run: LibraryFunction): LuaFunction {
  return new LuaFunction((values) => run(new Arguments(name, values)));
}
