/**
 * Commands on the bits of a value, as pure functions over a working set. Bit 0 is the highest bit of the first byte.
 *
 * Source: the Redis command reference.
 */
import { mustReadCount, readInteger } from './numbers.ts';
import { Refusal, texts } from './refusals.ts';
import { integerReply } from './replies.ts';
import type { Apply } from './value-commands.ts';
import { argument, renewed } from './value-commands.ts';

const noBytes = new Uint8Array(0);

function mustReadOffset(given: Buffer, valueBytesMax: number): number {
  const offset = readInteger(given);
  if (offset === undefined || offset < 0n || offset >= BigInt(valueBytesMax) * 8n) {
    throw new Refusal('ERR bit offset is not an integer or out of range');
  }
  return Number(offset);
}

function bitAt(value: Uint8Array, offset: number): number {
  return ((value[offset >>> 3] ?? 0) >>> (7 - (offset & 7))) & 1;
}

/** SETBIT: sets one bit, padding with zeros, and returns the old one. */
export const setbit: Apply = (keys, request, { valueBytesMax }) => {
  const offset = mustReadOffset(argument(request, 2), valueBytesMax);
  const bit = argument(request, 3).toString('latin1');
  if (bit !== '0' && bit !== '1') throw new Refusal('ERR bit is not an integer or out of range');
  const key = argument(request, 1);
  const old = keys.get(key);
  const before = old?.value ?? noBytes;
  const value = Buffer.alloc(Math.max(before.length, (offset >>> 3) + 1));
  value.set(before);
  const mask = 1 << (7 - (offset & 7));
  const byte = value[offset >>> 3] ?? 0;
  value[offset >>> 3] = bit === '1' ? byte | mask : byte & ~mask;
  keys.set(key, renewed(old, value));
  return integerReply(bitAt(before, offset));
};

/** GETBIT: one bit; 0 beyond the value. */
export const getbit: Apply = (keys, request) => {
  const offset = mustReadOffset(argument(request, 2), 2 ** 29);
  return integerReply(bitAt(keys.get(argument(request, 1))?.value ?? noBytes, offset));
};

/** A range of bits, the last one included; empty if `last` is less than `first`. */
interface BitRange {
  readonly first: number;
  readonly last: number;
}

/** The range from `start` to `end` of a value of `length` bytes, in bytes or bits; negative places count from its end. */
function rangeOf(start: number, end: number, length: number, isBits: boolean): BitRange {
  const unit = isBits ? 1 : 8;
  const units = isBits ? length * 8 : length;
  const from = Math.max(0, start < 0 ? units + start : start);
  const to = Math.min(Math.max(0, end < 0 ? units + end : end), units - 1);
  return from > to ? { first: 0, last: -1 } : { first: from * unit, last: to * unit + unit - 1 };
}

/** Whether the argument says BIT; BYTE is what an absent one means. Throws `Refusal`. */
function mustReadUnit(given: Buffer | undefined): boolean {
  const word = given?.toString('latin1').toUpperCase() ?? 'BYTE';
  if (word !== 'BYTE' && word !== 'BIT') throw new Refusal(texts.syntax);
  return word === 'BIT';
}

const onesOf: readonly number[] = Array.from({ length: 256 }, (_, byte) => {
  let ones = 0;
  for (let rest = byte; rest > 0; rest >>>= 1) ones += rest & 1;
  return ones;
});

/** BITCOUNT: the number of ones in a range. Of an absent key, redis-server does not look at the other arguments. */
export const bitcount: Apply = (keys, request) => {
  const value = keys.get(argument(request, 1))?.value;
  if (value === undefined) return integerReply(0);
  if (request.length === 3 || request.length > 5) throw new Refusal(texts.syntax);
  const start = request.length === 2 ? 0 : mustReadCount(request[2]);
  const end = request.length === 2 ? -1 : mustReadCount(request[3]);
  if (start < 0 && end < 0 && start > end) return integerReply(0);
  const { first, last } = rangeOf(start, end, value.length, mustReadUnit(request[4]));
  let count = 0;
  for (let at = first; at <= last;) {
    if ((at & 7) === 0 && at + 7 <= last) {
      count += onesOf[value[at >>> 3] ?? 0] ?? 0;
      at += 8;
    } else {
      count += bitAt(value, at);
      at += 1;
    }
  }
  return integerReply(count);
};

/** BITPOS: the position of the first 0 or 1 in a range; -1 if there is none. */
export const bitpos: Apply = (keys, request) => {
  const wanted = argument(request, 2).toString('latin1');
  if (readInteger(argument(request, 2)) === undefined) throw new Refusal(texts.notInteger);
  if (wanted !== '0' && wanted !== '1') throw new Refusal('ERR The bit argument must be 1 or 0.');
  const value = keys.get(argument(request, 1))?.value;
  if (value === undefined) return integerReply(wanted === '1' ? -1 : 0);
  if (request.length > 6) throw new Refusal(texts.syntax);
  const start = request.length > 3 ? mustReadCount(request[3]) : 0;
  const isBits = mustReadUnit(request[5]);
  const end = request.length > 4 ? mustReadCount(request[4]) : -1;
  const { first, last } = rangeOf(start, end, value.length, isBits);
  const bit = Number(wanted);
  const whole = bit === 1 ? 0 : 0xff;
  for (let at = first; at <= last;) {
    if ((at & 7) === 0 && at + 7 <= last && value[at >>> 3] === whole) at += 8;
    else if (bitAt(value, at) === bit) return integerReply(at);
    else at += 1;
  }
  // Without an end, the value counts as followed by zeros.
  return integerReply(bit === 0 && request.length < 5 && first <= last ? value.length * 8 : -1);
};
