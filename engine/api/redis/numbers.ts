/** Parses numbers in arguments and values, as strictly as Redis does. */
import { Refusal, texts } from './refusals.ts';

const least = -(2n ** 63n);
const most = 2n ** 63n - 1n;
const integerForm = /^(?:0|-?[1-9][0-9]{0,18})$/;
const floatForm = /^([+-]?)([0-9]*)(?:\.([0-9]*))?(?:[eE]([+-]?[0-9]{1,4}))?$/;
/** The most digits after the point that Redis writes. */
const fractionDigits = 17;
const exponentMax = 308;

/** A signed 64-bit integer; undefined for anything else. */
export function readInteger(bytes: Uint8Array): bigint | undefined {
  if (bytes.length === 0 || bytes.length > 20) return undefined;
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
  if (!integerForm.test(text)) return undefined;
  const value = BigInt(text);
  return inRange(value) ? value : undefined;
}

/** A signed 64-bit integer. Throws `Refusal` for anything else. */
export function mustReadInteger(bytes: Uint8Array | undefined): bigint {
  const value = bytes === undefined ? undefined : readInteger(bytes);
  if (value === undefined) throw new Refusal(texts.notInteger);
  return value;
}

/** An integer as a number, for offsets and counts. A value beyond the exact range becomes the range's end. */
export function mustReadCount(bytes: Uint8Array | undefined): number {
  const value = mustReadInteger(bytes);
  if (value > BigInt(Number.MAX_SAFE_INTEGER)) return Number.MAX_SAFE_INTEGER;
  if (value < BigInt(Number.MIN_SAFE_INTEGER)) return Number.MIN_SAFE_INTEGER;
  return Number(value);
}

/** Whether the value fits in a signed 64-bit integer. */
export function inRange(value: bigint): boolean {
  return value >= least && value <= most;
}

/** A decimal number without loss: `units` times 10 to the power of minus `scale`. */
interface Decimal {
  readonly units: bigint;
  readonly scale: number;
}

/**
 * The sum of two decimal numbers as INCRBYFLOAT stores it: at most 17 digits after the point, without trailing zeros.
 * Throws `Refusal` if one of them is no number.
 */
export function addFloats(value: Uint8Array, increment: Uint8Array): string {
  const left = mustReadFloat(value);
  const right = mustReadFloat(increment);
  const scale = Math.max(left.scale, right.scale);
  const units = left.units * powerOfTen(scale - left.scale) + right.units * powerOfTen(scale - right.scale);
  return formatDecimal(roundTo({ units, scale }, fractionDigits));
}

function mustReadFloat(bytes: Uint8Array): Decimal {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
  if (/^[+-]?inf(?:inity)?$/i.test(text)) throw new Refusal(texts.notFinite);
  const [, sign = '', whole = '', fraction = '', exponent = '0'] =
    text.length > 350 ? [] : (floatForm.exec(text) ?? []);
  if (whole === '' && fraction === '') throw new Refusal(texts.notFloat);
  const power = Number(exponent);
  if (Math.abs(power) > exponentMax || whole.length > exponentMax) throw new Refusal(texts.notFloat);
  const units = BigInt(`${whole}${fraction}`) * (sign === '-' ? -1n : 1n);
  const scale = fraction.length - power;
  return scale >= 0 ? { units, scale } : { units: units * powerOfTen(-scale), scale: 0 };
}

function roundTo({ units, scale }: Decimal, digits: number): Decimal {
  if (scale <= digits) return { units, scale };
  const divisor = powerOfTen(scale - digits);
  const half = divisor / 2n;
  return { units: (units + (units < 0n ? -half : half)) / divisor, scale: digits };
}

function formatDecimal({ units, scale }: Decimal): string {
  const negative = units < 0n;
  const digits = String(negative ? -units : units).padStart(scale + 1, '0');
  const whole = digits.slice(0, digits.length - scale);
  const fraction = digits.slice(digits.length - scale).replace(/0+$/, '');
  const text = fraction === '' ? whole : `${whole}.${fraction}`;
  return negative && units !== 0n ? `-${text}` : text;
}

function powerOfTen(exponent: number): bigint {
  return BigInt(`1${'0'.repeat(exponent)}`);
}
