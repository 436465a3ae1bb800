/**
 * `node:buffer` for a browser: the npm package `buffer`, completed. Its decoders are replaced by those of the browser,
 * which treat malformed UTF-8 as Node.js does.
 */
import { Buffer as PackagedBuffer } from 'buffer/index.js';

type ToString = (encoding: string, from: number, to: number) => string;

const utf8 = new TextDecoder('utf-8', { ignoreBOM: true });
const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
/** Up to this length a text is made in place; the browser's decoder takes as long to be called. */
const shortBytesMax = 24;
/** `latin1` of the browser is windows-1252, which differs from ISO 8859-1 in these bytes only. */
const windowsFrom = 0x80;
const windowsTo = 0x9f;
const latin1 = new TextDecoder('latin1', { ignoreBOM: true });
/** A call takes at most this many arguments. */
const charsMax = 4096;
const utf8Encoder = new TextEncoder();
type IndexOf = (wanted: Uint8Array, from: number) => number;
const packagedIndexOf = untyped(PackagedBuffer.prototype, 'indexOf') as IndexOf;
const packagedToString: ToString = Reflect.get(PackagedBuffer.prototype, 'toString');

/** Methods that the package lacks, or that insist on a Buffer where Node.js takes any bytes. */
const methods = {
  toString(this: Buffer, encoding = 'utf8', from = 0, to = this.length): string {
    switch (encoding) {
      case 'utf8':
        return utf8.decode(this.subarray(from, to));
      case 'latin1':
      case 'binary':
        return latin1Of(this, from, Math.min(to, this.length));
      case 'base64url': {
        const text = Reflect.apply(packagedToString, this, ['base64', from, to]);
        return text.replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '');
      }
      default:
        return Reflect.apply(packagedToString, this, [encoding, from, to]);
    }
  },

  // By these two protobufjs recognises a class for buffers.
  utf8Write(this: Buffer, text: string, at: number): number {
    return this.write(text, at, this.length - at, 'utf8');
  },
  utf8Slice(this: Buffer, from: number, to: number): string {
    return utf8.decode(this.subarray(from, to));
  },

  copy(this: Buffer, target: Uint8Array, at = 0, from = 0, to = this.length): number {
    const bytes = this.subarray(from, Math.min(to, from + target.length - at));
    target.set(bytes, at);
    return bytes.length;
  },
  equals(this: Buffer, other: Uint8Array): boolean {
    return this.length === other.length && order(this, other, 0, other.length, 0, this.length) === 0;
  },
  compare(
    this: Buffer,
    other: Uint8Array,
    from = 0,
    to = other.length,
    ownFrom = 0,
    ownTo = this.length,
  ): -1 | 0 | 1 {
    return order(this, other, from, to, ownFrom, ownTo);
  },
  indexOf(this: Buffer, wanted: string | number | Uint8Array, from = 0, encoding?: BufferEncoding): number {
    if (typeof wanted === 'number') return find(this, wanted, from);
    const bytes = typeof wanted === 'string' ? PackagedBuffer.from(wanted, encoding) : wanted;
    const [first] = bytes;
    if (from < 0 || first === undefined) {
      const at: number = Reflect.apply(packagedIndexOf, this, [bytes, from]);
      return at;
    }
    for (let at = findIn(this, first, from); at >= 0; at = findIn(this, first, at + 1)) {
      let same = 1;
      while (same < bytes.length && this[at + same] === bytes[same]) same += 1;
      if (same === bytes.length) return at;
    }
    return -1;
  },
};

/**
 * The class of all buffers. The package makes arrays and replaces their prototype, which is slow, and so is every later
 * access to them.
 */
class FastBuffer extends Uint8Array {}
const { constructor: _, ...inherited } = Object.getOwnPropertyDescriptors(PackagedBuffer.prototype);
Object.defineProperties(FastBuffer.prototype, inherited);
Object.assign(FastBuffer.prototype, methods);
Object.defineProperty(FastBuffer.prototype, 'constructor', { value: PackagedBuffer });
Object.defineProperty(PackagedBuffer, Symbol.species, { value: FastBuffer });
Object.defineProperty(PackagedBuffer, 'prototype', { value: FastBuffer.prototype });

type From = (...args: readonly unknown[]) => Buffer;
const packagedFrom = untyped(PackagedBuffer, 'from') as From;
type NewBuffer = new (
  source: number | ArrayBufferLike | Uint8Array,
  from?: number,
  length?: number,
) => Buffer;
const NewBuffer = untyped({ FastBuffer }, 'FastBuffer') as NewBuffer;
const statics = {
  alloc(length: number, fill?: string | number | Uint8Array, encoding?: BufferEncoding): Buffer {
    const bytes = new NewBuffer(length);
    return fill === undefined || fill === 0
      ? bytes
      : bytes.fill(typeof fill === 'string' ? PackagedBuffer.from(fill, encoding) : fill);
  },
  compare: (left: Uint8Array, right: Uint8Array): -1 | 0 | 1 =>
    order(left, right, 0, right.length, 0, left.length),
  allocUnsafe: (length: number): Buffer => new NewBuffer(length),
  allocUnsafeSlow: (length: number): Buffer => new NewBuffer(length),
  from(value: unknown, ...more: unknown[]): Buffer {
    if (value instanceof ArrayBuffer) {
      const [from, length] = more as [number | undefined, number | undefined];
      return new NewBuffer(value, from, length);
    }
    if (value instanceof Uint8Array) return new NewBuffer(value);
    if (typeof value !== 'string') return packagedFrom(value, ...more);
    const [encoding = 'utf8'] = more;
    if (encoding === 'utf8') return over(utf8Encoder.encode(value));
    if (encoding === 'latin1' || encoding === 'binary') {
      const bytes = new NewBuffer(value.length);
      for (let at = 0; at < value.length; at++) bytes[at] = value.charCodeAt(at);
      return bytes;
    }
    return over(packagedFrom(value, encoding));
  },
  concat(list: readonly Uint8Array[], length = list.reduce((sum, { length: own }) => sum + own, 0)): Buffer {
    const whole = new NewBuffer(length);
    let at = 0;
    for (const part of list) {
      if (at >= length) break;
      whole.set(part.length > length - at ? part.subarray(0, length - at) : part, at);
      at += part.length;
    }
    return whole;
  },
};
Object.assign(PackagedBuffer, statics);

/** A property whose declared type does not tell what it is here. */
function untyped(of: object, name: string): unknown {
  return Reflect.get(of, name);
}

/** A buffer over the same memory. */
function over({ buffer, byteOffset, length }: Uint8Array): Buffer {
  return new NewBuffer(buffer, byteOffset, length);
}

/** Whether a part of the bytes comes before, equals, or follows a part of the others. */
function order(
  bytes: Uint8Array,
  others: Uint8Array,
  from: number,
  to: number,
  ownFrom: number,
  ownTo: number,
): -1 | 0 | 1 {
  const length = Math.min(to - from, ownTo - ownFrom);
  for (let at = 0; at < length; at++) {
    const [own = 0, other = 0] = [bytes[ownFrom + at], others[from + at]];
    if (own !== other) return own < other ? -1 : 1;
  }
  if (to - from === ownTo - ownFrom) return 0;
  return ownTo - ownFrom < to - from ? -1 : 1;
}

function find(bytes: Uint8Array, byte: number, from: number): number {
  return Uint8Array.prototype.indexOf.call(bytes, byte, from);
}

/** As `find`. Passes over zeros by words: the log's files end in many, which are searched after each write. */
function findIn(bytes: Uint8Array, byte: number, from: number): number {
  if (byte === 0) return find(bytes, byte, from);
  const { buffer, byteOffset, length } = bytes;
  const begin = Math.min(length, from + ((4 - ((byteOffset + from) & 3)) & 3));
  for (let at = from; at < begin; at++) if (bytes[at] === byte) return at;
  if (begin >= length) return -1;
  const words = new Uint32Array(buffer, byteOffset + begin, (length - begin) >> 2);
  for (let index = 0; index < words.length; index++) {
    if (words[index] === 0) continue;
    const at = begin + index * 4;
    for (let next = at; next < at + 4; next++) if (bytes[next] === byte) return next;
  }
  for (let at = begin + words.length * 4; at < length; at++) if (bytes[at] === byte) return at;
  return -1;
}

function latin1Of(bytes: Uint8Array, from: number, to: number): string {
  let text = '';
  if (to - from <= shortBytesMax) {
    for (let at = from; at < to; at++) text += String.fromCharCode(bytes[at] ?? 0);
    return text;
  }
  if (!hasWindowsBytes(bytes, from, to)) return latin1.decode(bytes.subarray(from, to));
  for (let at = from; at < to; at += charsMax) {
    text += String.fromCharCode(...bytes.subarray(at, Math.min(to, at + charsMax)));
  }
  return text;
}

function hasWindowsBytes(bytes: Uint8Array, from: number, to: number): boolean {
  for (let at = from; at < to; at++) {
    const byte = bytes[at] ?? 0;
    if (byte >= windowsFrom && byte <= windowsTo) return true;
  }
  return false;
}

/** The package's class, completed. */
export const Buffer = PackagedBuffer;
/** A buffer of that class. */
export type Buffer = PackagedBuffer;

/** The limits of `node:buffer`; a run stays far below them. */
export const constants = { MAX_LENGTH: 0x7fffffff, MAX_STRING_LENGTH: 0x1fffffe8 };

/** Whether the bytes are valid UTF-8. */
export function isUtf8(bytes: Uint8Array): boolean {
  try {
    strict.decode(bytes);
    return true;
  } catch {
    return false;
  }
}

/** Whether all bytes are below 128. */
export function isAscii(bytes: Uint8Array): boolean {
  return bytes.every((byte) => byte < 128);
}
