/**
 * The basic functions of Lua 5.1 that a sandbox may have, and the libraries `table`, `math`, `os.clock` and `bit`.
 * Functions that compile text, read files or change environments are left out.
 *
 * Source: the Lua 5.1 reference manual, sections 5.1, 5.5, 5.6; Lua BitOp.
 */
import type { LibraryFunction } from './arguments.ts';
import { functionOf, libraryOf } from './arguments.ts';
import type { Operators } from './operators.ts';
import { power } from './operators.ts';
import type { LuaValue, Meter } from './values.ts';
import { LibraryError, LuaError, LuaTable, isTrue, numberOf, tableOf, textOf, typeOf } from './values.ts';

/** The basic functions by name. */
export function baseFunctions(meter: Meter, operators: Operators): ReadonlyMap<string, LuaValue> {
  const next: LibraryFunction = (args) => {
    meter.step();
    return args.table(1).next(args.any(2)) ?? [undefined];
  };
  const nextFunction = functionOf('next', next);
  const nextItem = functionOf('ipairs', (args) => {
    meter.step();
    const index = args.integer(2) + 1;
    const value = args.table(1).get(index);
    return value === undefined ? [undefined] : [index, value];
  });
  const functions: Readonly<Record<string, LibraryFunction>> = {
    assert: (args) => {
      if (isTrue(args.must(1))) return args.from(1);
      throw new LibraryError(args.text(2, 'assertion failed!'));
    },
    error: (args) => {
      const value = args.any(1);
      // Level 1, the default, adds the place of the call; the call site does.
      const text = textOf(value);
      if (text !== undefined && args.integer(2, 1) === 1) throw new LibraryError(text);
      throw new LuaError(value);
    },
    getmetatable: (args) => {
      const value = args.must(1);
      const metatable = value instanceof LuaTable ? value.metatable : undefined;
      return [metatable?.get('__metatable') ?? metatable];
    },
    setmetatable: (args) => {
      const table = args.table(1);
      const metatable = args.must(2);
      if (metatable !== undefined && !(metatable instanceof LuaTable)) {
        throw args.bad(2, 'nil or table expected');
      }
      if (table.isReadOnly) throw new LibraryError('Attempt to modify a readonly table');
      if (table.metatable?.get('__metatable') !== undefined) {
        throw new LibraryError('cannot change a protected metatable');
      }
      table.metatable = metatable;
      return [table];
    },
    next,
    pairs: (args) => [nextFunction, args.table(1), undefined],
    ipairs: (args) => [nextItem, args.table(1), 0],
    pcall: (args) =>
      protect(
        () => operators.call(args.must(1), args.from(2)),
        (value) => [value],
      ),
    xpcall: (args) =>
      protect(
        () => operators.call(args.must(1), []),
        (value) => operators.call(args.any(2), [value]),
      ),
    rawequal: (args) => [operators.isSame(args.any(1), args.any(2))],
    rawget: (args) => [args.table(1).get(args.any(2))],
    rawset: (args) => {
      args.table(1).set(args.any(2), args.any(3));
      return [args.any(1)];
    },
    select: (args) => {
      if (args.any(1) === '#') return [args.count - 1];
      const index = args.integer(1);
      if (index < 0 && args.count + index > 0) return args.from(args.count + index + 1);
      if (index < 1) throw args.bad(1, 'index out of range');
      return args.from(index + 1);
    },
    tonumber: (args) => {
      const base = args.integer(2, 10);
      if (base === 10) return [numberOf(args.must(1))];
      meter.allocate(args.text(1).length);
      return [parseIn(base, args.text(1))];
    },
    tostring: (args) => [operators.toText(args.must(1))],
    type: (args) => [typeOf(args.must(1))],
    unpack: (args) => unpack(meter, args.table(1), args.integer(2, 1), args.integer(3, args.table(1).length)),
  };
  return new Map(Object.entries(functions).map(([name, run]) => [name, functionOf(name, run)]));
}

function protect(
  run: () => readonly LuaValue[],
  handle: (value: LuaValue) => readonly LuaValue[],
): readonly LuaValue[] {
  try {
    return [true, ...run()];
  } catch (error) {
    if (error instanceof LuaError) return [false, ...handle(caught(error.value))];
    if (error instanceof LibraryError) return [false, ...handle(caught(error.table ?? error.message))];
    throw error;
  }
}

/** What `pcall` returns of an error: of a command's error, its text. */
function caught(value: LuaValue): LuaValue {
  const text = value instanceof LuaTable ? value.get('err') : undefined;
  return typeof text === 'string' ? text : value;
}

function parseIn(base: number, text: string): number | undefined {
  if (base < 2 || base > 36) throw new LibraryError("bad argument #2 to 'tonumber' (base out of range)");
  const digits = text.trim().toLowerCase();
  const allowed = '0123456789abcdefghijklmnopqrstuvwxyz'.slice(0, base);
  if (digits === '' || [...digits].some((digit) => !allowed.includes(digit))) return undefined;
  return Number.parseInt(digits, base);
}

/** The most values that one function returns, as Lua's stack has. */
export const valuesMax = 8000;

function unpack(meter: Meter, table: LuaTable, first: number, last: number): readonly LuaValue[] {
  if (last - first >= valuesMax) throw new LibraryError('too many results to unpack');
  const values: LuaValue[] = [];
  for (let at = first; at <= last; at++) {
    meter.step();
    values.push(table.get(at));
  }
  return values;
}

/** The library `table`. */
export function tableLibrary(meter: Meter, operators: Operators): LuaTable {
  return libraryOf(meter, {
    concat: (args) => {
      const [table, separator] = [args.table(1), args.text(2, '')];
      const last = args.integer(4, table.length);
      const parts: string[] = [];
      for (let at = args.integer(3, 1); at <= last; at++) {
        const part = textOf(table.get(at));
        if (part === undefined) {
          throw new LibraryError(
            `invalid value (${typeOf(table.get(at))}) at index ${at} in table for 'concat'`,
          );
        }
        meter.allocate(part.length + separator.length);
        meter.step();
        parts.push(part);
      }
      return [parts.join(separator)];
    },
    insert: (args) => {
      const table = args.table(1);
      if (args.count === 2) table.push(args.any(2));
      else if (args.count === 3) {
        const position = args.integer(2);
        const { length } = table;
        // Nothing is behind the list; and counting down from a number beyond 2^53 would not end.
        meter.step(Math.max(1, length - position + 1));
        if (position <= length) for (let at = length; at >= position; at--) table.set(at + 1, table.get(at));
        table.set(position, args.any(3));
      } else throw new LibraryError("wrong number of arguments to 'insert'");
      return [];
    },
    remove: (args) => {
      const table = args.table(1);
      const { length } = table;
      const position = args.integer(2, length);
      if (position < 1 || position > length) return [];
      meter.step(length - position + 1);
      const removed = table.get(position);
      for (let at = position; at < length; at++) table.set(at, table.get(at + 1));
      table.set(length, undefined);
      return [removed];
    },
    sort: (args) => {
      const table = args.table(1);
      const comparator = args.any(2);
      const isLess =
        comparator === undefined
          ? (left: LuaValue, right: LuaValue) => operators.isLess(left, right)
          : (left: LuaValue, right: LuaValue) => isTrue(operators.call(comparator, [left, right])[0]);
      if (table.isReadOnly) throw new LibraryError('Attempt to modify a readonly table');
      const sorted = table.list().toSorted((left, right) => {
        meter.step();
        if (isLess(left, right)) return -1;
        return isLess(right, left) ? 1 : 0;
      });
      table.reorder(sorted);
      return [];
    },
    getn: (args) => [args.table(1).length],
    maxn: (args) => {
      let most = 0;
      for (let entry = args.table(1).next(undefined); entry !== undefined;) {
        meter.step();
        if (typeof entry[0] === 'number' && entry[0] > most) most = entry[0];
        entry = args.table(1).next(entry[0]);
      }
      return [most];
    },
    pack: (args) => [tableOf(meter, args.from(1))],
    unpack: (args) => unpack(meter, args.table(1), args.integer(2, 1), args.integer(3, args.table(1).length)),
  });
}

/**
 * The library `math`, without functions whose last digits differ between machines (exp, log, sin and the like). Its random
 * numbers are the same in every run, as in Redis.
 */
export function mathLibrary(meter: Meter): LuaTable {
  const one =
    (run: (value: number) => number): LibraryFunction =>
    (args) => [run(args.number(1))];
  let seed = 0;
  const random = (): number => {
    // The linear congruential generator of POSIX's drand48.
    seed = Number((BigInt(seed) * 0x5deece66dn + 0xbn) % 0x1000000000000n);
    return seed / 0x1000000000000;
  };
  return libraryOf(
    meter,
    {
      ...{ abs: one(Math.abs), ceil: one(Math.ceil), floor: one(Math.floor), sqrt: one(Math.sqrt) },
      fmod: (args) => [args.number(1) % args.number(2)],
      modf: (args) => {
        const whole = Math.trunc(args.number(1));
        return [whole, Number.isFinite(whole) ? args.number(1) - whole : 0];
      },
      pow: (args) => [power(args.number(1), args.number(2))],
      max: (args) => [Math.max(...args.from(1).map((_, at) => args.number(at + 1)), args.number(1))],
      min: (args) => [Math.min(...args.from(1).map((_, at) => args.number(at + 1)), args.number(1))],
      random: (args) => {
        if (args.count === 0) return [random()];
        const [low, high] = args.count === 1 ? [1, args.integer(1)] : [args.integer(1), args.integer(2)];
        if (low > high) throw args.bad(args.count, 'interval is empty');
        return [low + Math.floor(random() * (high - low + 1))];
      },
      randomseed: (args) => {
        seed = Math.abs(args.integer(1)) % 0x100000000;
        return [];
      },
    },
    { huge: Infinity, pi: Math.PI },
  );
}

/** The library `bit`: operations on signed 32-bit integers. */
export function bitLibrary(meter: Meter): LuaTable {
  const bits = (value: number): number => {
    if (!Number.isFinite(value)) return 0;
    const whole = Math.abs(value % 1) === 0.5 ? 2 * Math.round(value / 2) : Math.round(value);
    return Number(BigInt.asIntN(32, BigInt(whole)));
  };
  const fold =
    (run: (left: number, right: number) => number): LibraryFunction =>
    (args) => {
      let result = bits(args.number(1));
      for (let at = 2; at <= args.count; at++) result = run(result, bits(args.number(at)));
      return [result];
    };
  const shift =
    (run: (value: number, count: number) => number): LibraryFunction =>
    (args) => [run(bits(args.number(1)), bits(args.number(2)) & 31) | 0];
  return libraryOf(meter, {
    tobit: (args) => [bits(args.number(1))],
    bnot: (args) => [~bits(args.number(1))],
    band: fold((left, right) => left & right),
    bor: fold((left, right) => left | right),
    bxor: fold((left, right) => left ^ right),
    lshift: shift((value, count) => value << count),
    rshift: shift((value, count) => value >>> count),
    arshift: shift((value, count) => value >> count),
    rol: shift((value, count) => (value << count) | (value >>> (32 - count))),
    ror: shift((value, count) => (value >>> count) | (value << (32 - count))),
    bswap: (args) => {
      const value = bits(args.number(1));
      return [(value >>> 24) | ((value >>> 8) & 0xff00) | ((value << 8) & 0xff0000) | (value << 24)];
    },
    tohex: (args) => {
      const digits = args.integer(2, 8);
      const text = (bits(args.number(1)) >>> 0)
        .toString(16)
        .padStart(8, '0')
        .slice(8 - Math.min(8, Math.abs(digits)));
      return [digits < 0 ? text.toUpperCase() : text];
    },
  });
}

/** The library `os`: `clock` alone, which counts nothing, so that a run is the same everywhere. */
export function osLibrary(meter: Meter): LuaTable {
  return libraryOf(meter, { clock: () => [0] });
}
