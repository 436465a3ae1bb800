/**
 * The operators of Lua 5.1 on values, with their metamethods.
 *
 * Source: the Lua 5.1 reference manual, sections 2.5 and 2.8.
 */
import type { LuaValue, Meter } from './values.ts';
import { LibraryError, LuaFunction, LuaTable, isTrue, numberOf, textOf, typeOf } from './values.ts';

/** The arithmetic operators. */
export type Arithmetic = '+' | '-' | '*' | '/' | '%' | '^';

const arithmeticEvents: Readonly<Record<Arithmetic, string>> = {
  '+': '__add',
  '-': '__sub',
  '*': '__mul',
  '/': '__div',
  '%': '__mod',
  '^': '__pow',
};

/** Comparing 256 bytes of texts counts as a step. */
const comparedShift = 8;
/** The most tables that `__index` may lead through. */
const chainMax = 100;

/** The operators of one run. */
export class Operators {
  readonly #meter: Meter;
  /** What indexing a string finds: the string library. */
  strings: LuaTable | undefined;

  constructor(meter: Meter) {
    this.#meter = meter;
  }

  /** The metamethod of a value for an event; undefined if there is none. */
  metamethod(value: LuaValue, event: string): LuaValue {
    return value instanceof LuaTable ? value.metatable?.get(event) : undefined;
  }

  /** Calls a value, which may be a table with `__call`. `what` describes it in the error. */
  call(callee: LuaValue, args: readonly LuaValue[], what = ''): readonly LuaValue[] {
    this.#meter.step(1 + (args.length >>> 3));
    if (callee instanceof LuaFunction) return this.#within(callee, args);
    const handler = this.metamethod(callee, '__call');
    if (handler instanceof LuaFunction) return this.#within(handler, [callee, ...args]);
    throw new LibraryError(`attempt to call ${described(what, callee)}`);
  }

  #within(callee: LuaFunction, args: readonly LuaValue[]): readonly LuaValue[] {
    this.#meter.enter();
    try {
      return callee.call(args);
    } finally {
      this.#meter.leave();
    }
  }

  /** `object[key]`. */
  index(object: LuaValue, key: LuaValue, what = ''): LuaValue {
    let at = object;
    for (let count = 0; count < chainMax; count++) {
      this.#meter.step();
      let handler: LuaValue;
      if (at instanceof LuaTable) {
        const value = at.get(key);
        if (value !== undefined) return value;
        handler = this.metamethod(at, '__index');
        if (handler === undefined) return undefined;
      } else if (typeof at === 'string') return this.strings?.get(key);
      else throw new LibraryError(`attempt to index ${described(what, at)}`);
      if (handler instanceof LuaFunction) return this.#within(handler, [at, key])[0];
      at = handler;
    }
    throw new LibraryError('loop in gettable');
  }

  /** `object[key] = value`. */
  assign(object: LuaValue, key: LuaValue, value: LuaValue, what = ''): void {
    let at = object;
    for (let count = 0; count < chainMax; count++) {
      this.#meter.step();
      if (!(at instanceof LuaTable)) throw new LibraryError(`attempt to index ${described(what, at)}`);
      const handler = at.metatable === undefined ? undefined : this.metamethod(at, '__newindex');
      if (handler === undefined || at.get(key) !== undefined) {
        at.set(key, value);
        return;
      }
      if (handler instanceof LuaFunction) {
        this.#within(handler, [at, key, value]);
        return;
      }
      at = handler;
    }
    throw new LibraryError('loop in settable');
  }

  /** An arithmetic operator. */
  arithmetic(
    operator: Arithmetic,
    left: LuaValue,
    right: LuaValue,
    what: readonly [string, string],
  ): LuaValue {
    const [one, other] = [numberOf(left), numberOf(right)];
    if (one !== undefined && other !== undefined) return calculate(operator, one, other);
    const result = this.#binary(arithmeticEvents[operator], left, right);
    if (result !== undefined) return result[0];
    const [name, culprit] = one === undefined ? [what[0], left] : [what[1], right];
    throw new LibraryError(`attempt to perform arithmetic on ${described(name, culprit)}`);
  }

  /** `-value`. */
  minus(value: LuaValue, what: string): LuaValue {
    const number = numberOf(value);
    if (number !== undefined) return -number;
    const result = this.#binary('__unm', value, value);
    if (result !== undefined) return result[0];
    throw new LibraryError(`attempt to perform arithmetic on ${described(what, value)}`);
  }

  /** `left .. right`. */
  concat(left: LuaValue, right: LuaValue, what: readonly [string, string]): LuaValue {
    const [one, other] = [textOf(left), textOf(right)];
    if (one !== undefined && other !== undefined) {
      this.#meter.allocate(one.length + other.length);
      return one + other;
    }
    const result = this.#binary('__concat', left, right);
    if (result !== undefined) return result[0];
    const [name, culprit] = one === undefined ? [what[0], left] : [what[1], right];
    throw new LibraryError(`attempt to concatenate ${described(name, culprit)}`);
  }

  /** `#value`. */
  length(value: LuaValue, what: string): LuaValue {
    if (typeof value === 'string' || value instanceof LuaTable) return value.length;
    throw new LibraryError(`attempt to get length of ${described(what, value)}`);
  }

  /** Whether both are the same, without metamethods. */
  isSame(left: LuaValue, right: LuaValue): boolean {
    if (typeof left === 'string' && typeof right === 'string') this.#compares(left, right);
    return left === right;
  }

  /** Counts the comparison of two texts, which may look at every byte. */
  #compares(left: string, right: string): void {
    this.#meter.step(Math.min(left.length, right.length) >>> comparedShift);
  }

  /** `left == right`. */
  equals(left: LuaValue, right: LuaValue): boolean {
    if (this.isSame(left, right)) return true;
    if (!(left instanceof LuaTable && right instanceof LuaTable)) return false;
    const handler = this.metamethod(left, '__eq');
    if (handler === undefined || handler !== this.metamethod(right, '__eq')) return false;
    return isTrue(this.call(handler, [left, right])[0]);
  }

  /** `left < right`. */
  isLess(left: LuaValue, right: LuaValue): boolean {
    if (typeof left === 'number' && typeof right === 'number') return left < right;
    if (typeof left === 'string' && typeof right === 'string') {
      this.#compares(left, right);
      return left < right;
    }
    return isTrue(this.#compared('__lt', left, right)[0]);
  }

  /** `left <= right`. */
  isAtMost(left: LuaValue, right: LuaValue): boolean {
    if (typeof left === 'number' && typeof right === 'number') return left <= right;
    if (typeof left === 'string' && typeof right === 'string') {
      this.#compares(left, right);
      return left <= right;
    }
    if (this.metamethod(left, '__le') !== undefined || this.metamethod(left, '__lt') === undefined) {
      return isTrue(this.#compared('__le', left, right)[0]);
    }
    return !isTrue(this.#compared('__lt', right, left)[0]);
  }

  /** The text of any value, with `__tostring`. */
  toText(value: LuaValue): string {
    const handler = this.metamethod(value, '__tostring');
    if (handler !== undefined) return textOf(this.call(handler, [value])[0]) ?? '';
    if (value === undefined) return 'nil';
    if (typeof value === 'boolean') return String(value);
    // Addresses would differ from node to node.
    return textOf(value) ?? `${typeOf(value)}: 0x0`;
  }

  #compared(event: string, left: LuaValue, right: LuaValue): readonly LuaValue[] {
    const result = this.#binary(event, left, right);
    if (result !== undefined) return result;
    const [one, other] = [typeOf(left), typeOf(right)];
    throw new LibraryError(
      one === other ? `attempt to compare two ${one} values` : `attempt to compare ${one} with ${other}`,
    );
  }

  #binary(event: string, left: LuaValue, right: LuaValue): readonly LuaValue[] | undefined {
    const handler = this.metamethod(left, event) ?? this.metamethod(right, event);
    return handler === undefined ? undefined : this.call(handler, [left, right]);
  }
}

function calculate(operator: Arithmetic, left: number, right: number): number {
  switch (operator) {
    case '+':
      return left + right;
    case '-':
      return left - right;
    case '*':
      return left * right;
    case '/':
      return left / right;
    case '%':
      return left - Math.floor(left / right) * right;
    case '^':
      return power(left, right);
  }
}

/**
 * A power with a whole exponent, or one half. Others are refused: their last digits differ between versions of the
 * engine that runs this program, and a script must do the same everywhere. Throws `LibraryError`.
 */
export function power(base: number, exponent: number): number {
  if (exponent === 0.5) return Math.sqrt(base);
  if (!Number.isInteger(exponent) || Math.abs(exponent) > 1e6) {
    throw new LibraryError('a power needs a whole exponent, or 0.5');
  }
  let result = 1;
  let square = base;
  for (let rest = Math.abs(exponent); rest > 0; rest = Math.floor(rest / 2)) {
    if (rest % 2 === 1) result *= square;
    square *= square;
  }
  return exponent < 0 ? 1 / result : result;
}

function described(what: string, value: LuaValue): string {
  return what === '' ? `a ${typeOf(value)} value` : `${what} (a ${typeOf(value)} value)`;
}
