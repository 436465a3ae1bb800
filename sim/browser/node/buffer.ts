/**
 * `node:buffer` for a browser: the npm package `buffer`, completed. Its decoders are replaced by those of the browser,
 * which treat malformed UTF-8 as Node.js does.
 */
import { Buffer as PackagedBuffer } from 'buffer/index.js';

type ToString = (encoding: string, from: number, to: number) => string;

const utf8 = new TextDecoder('utf-8', { ignoreBOM: true });
const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
/** A call takes at most this many arguments. */
const charsMax = 4096;
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
    return PackagedBuffer.compare(this, other) === 0;
  },
};
Object.assign(PackagedBuffer.prototype, methods);

function latin1Of(bytes: Uint8Array, from: number, to: number): string {
  let text = '';
  for (let at = from; at < to; at += charsMax) {
    text += String.fromCharCode(...bytes.subarray(at, Math.min(to, at + charsMax)));
  }
  return text;
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
