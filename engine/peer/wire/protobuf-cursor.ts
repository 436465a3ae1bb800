/**
 * Reads the fields of a protobuf message one after the other, for the bodies that are decoded without reflection
 * (source: Protocol Buffers, "Encoding"). Every malformation throws `FrameError`; nothing is read past the body.
 */
import type { ByteString } from '../../base/ids.ts';
import { FrameError } from './frames.ts';

/** How a field's value is encoded: the low three bits of its tag. */
export const wireTypes = { varint: 0, fixed64: 1, run: 2, fixed32: 5 } as const;

/** A position in one message. Each method reads from there and moves on. */
export class ProtobufCursor {
  readonly #body: Buffer;
  #at = 0;

  constructor(body: Buffer) {
    this.#body = body;
  }

  /** The next field's tag (number * 8 + wire type); 0 at the end. */
  tag(): number {
    if (this.#at === this.#body.length) return 0;
    const tag = this.varint();
    if (tag < 8) throw new FrameError('type', 'a protobuf field without a number');
    return tag;
  }

  /** An unsigned varint of at most 32 bits. */
  varint(): number {
    let value = 0;
    for (let shift = 0; shift < 35; shift += 7) {
      const byte = this.#body[this.#at++];
      if (byte === undefined) throw truncated();
      // The fifth byte holds the upper four bits only.
      if (shift === 28 && byte > 0x0f) break;
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value >>> 0;
    }
    throw new FrameError('type', 'a protobuf varint exceeds 32 bits');
  }

  /** A little-endian unsigned 32-bit integer. */
  fixed32(): number {
    const at = this.#take(4);
    return this.#body.readUInt32LE(at);
  }

  /** A view of a length-delimited field. */
  run(): Buffer {
    const length = this.varint();
    const at = this.#take(length);
    return this.#body.subarray(at, at + length);
  }

  /** A length-delimited field as a byte string (copied). */
  string(): ByteString {
    const length = this.varint();
    const at = this.#take(length);
    return this.#body.toString('latin1', at, at + length) as ByteString;
  }

  /** Skips the value of a field that this version does not know. */
  skip(tag: number): void {
    const wireType = tag % 8;
    if (wireType === wireTypes.varint) this.#skipVarint();
    else if (wireType === wireTypes.fixed64) this.#take(8);
    else if (wireType === wireTypes.run) this.#take(this.varint());
    else if (wireType === wireTypes.fixed32) this.#take(4);
    else throw new FrameError('type', `protobuf wire type ${wireType} is not supported`);
  }

  #skipVarint(): void {
    for (let count = 0; count < 10; count++) {
      const byte = this.#body[this.#at++];
      if (byte === undefined) throw truncated();
      if (byte < 0x80) return;
    }
    throw new FrameError('type', 'a protobuf varint exceeds 64 bits');
  }

  #take(count: number): number {
    const at = this.#at;
    if (count > this.#body.length - at) throw truncated();
    this.#at = at + count;
    return at;
  }
}

/** How many bytes `writeVarint` writes for an unsigned 32-bit integer. */
export function varintBytes(value: number): number {
  if (value < 0x80) return 1;
  if (value < 0x4000) return 2;
  if (value < 0x200000) return 3;
  return value < 0x10000000 ? 4 : 5;
}

/** Writes an unsigned 32-bit integer at `at`, and returns where it ends. */
export function writeVarint(buffer: Buffer, at: number, value: number): number {
  let end = at;
  let rest = value;
  while (rest >= 0x80) {
    buffer[end++] = (rest & 0x7f) | 0x80;
    rest >>>= 7;
  }
  buffer[end++] = rest;
  return end;
}

function truncated(): FrameError {
  return new FrameError('type', 'a protobuf message ends inside a field');
}
