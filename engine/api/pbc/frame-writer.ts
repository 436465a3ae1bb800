/**
 * Writes a message's frame field by field into a buffer of exactly its size. Absent fields are left out and take no
 * bytes.
 *
 * Source: Protocol Buffers, "Encoding".
 */
import { varintBytes, writeVarint } from '../../peer/wire/protobuf-cursor.ts';

/** Bytes of the frame's length and code. */
const headBytes = 5;
/** Fields with numbers from here on have a tag of two bytes. */
const longTagFrom = 16;

/** Bytes of a field that holds `length` bytes, with its tag and length. */
export function runSize(field: number, length: number): number {
  return tagSize(field) + varintBytes(length) + length;
}

/** Bytes of a bytes field; 0 if it is absent. */
export function bytesSize(field: number, bytes: Uint8Array | undefined): number {
  return bytes === undefined ? 0 : runSize(field, bytes.length);
}

/** Bytes of a field that holds a byte string. */
export function textSize(field: number, text: string): number {
  return runSize(field, text.length);
}

/** Bytes of a number field, as an unsigned 32-bit varint; 0 if it is absent. */
export function numberSize(field: number, value: number | undefined): number {
  return value === undefined ? 0 : tagSize(field) + varintBytes(value >>> 0);
}

/** Bytes of a flag field; 0 if it is absent. */
export function flagSize(field: number, flag: boolean | undefined): number {
  return flag === undefined ? 0 : tagSize(field) + 1;
}

function tagSize(field: number): number {
  return field < longTagFrom ? 1 : 2;
}

/** Writes one frame. The caller sums the sizes of all fields first, then writes exactly these fields. */
export class FrameWriter {
  /** Complete once every field has been written. */
  readonly frame: Buffer;
  #at = headBytes;

  /** `bodyBytes`: the sum of the sizes of the fields. */
  constructor(code: number, bodyBytes: number) {
    const frame = Buffer.allocUnsafe(headBytes + bodyBytes);
    const length = bodyBytes + 1;
    frame[0] = length >>> 24;
    frame[1] = length >>> 16;
    frame[2] = length >>> 8;
    frame[3] = length;
    frame[4] = code;
    this.frame = frame;
  }

  /** Writes a bytes field; nothing if it is absent. */
  bytes(field: number, bytes: Uint8Array | undefined): void {
    if (bytes === undefined) return;
    this.begin(field, bytes.length);
    if (bytes.length > shortBytesMax) this.frame.set(bytes, this.#at);
    else for (let index = 0; index < bytes.length; index++) this.frame[this.#at + index] = bytes[index] ?? 0;
    this.#at += bytes.length;
  }

  /** Writes a byte string: names and constants, which are short. */
  text(field: number, text: string): void {
    this.begin(field, text.length);
    for (let index = 0; index < text.length; index++) this.frame[this.#at++] = text.charCodeAt(index);
  }

  /** Writes a number as an unsigned 32-bit varint; nothing if it is absent. */
  number(field: number, value: number | undefined): void {
    if (value === undefined) return;
    this.#tag(field * 8);
    this.#at = writeVarint(this.frame, this.#at, value >>> 0);
  }

  /** Writes a flag; nothing if it is absent. */
  flag(field: number, flag: boolean | undefined): void {
    if (flag === undefined) return;
    this.#tag(field * 8);
    this.frame[this.#at++] = flag ? 1 : 0;
  }

  /** Writes tag and length of a field of `length` bytes; the caller writes the bytes next. */
  begin(field: number, length: number): void {
    this.#tag(field * 8 + 2);
    this.#at = writeVarint(this.frame, this.#at, length);
  }

  #tag(tag: number): void {
    this.#at = writeVarint(this.frame, this.#at, tag);
  }
}

/** Up to this length, copying byte by byte is faster than a call. */
const shortBytesMax = 32;
