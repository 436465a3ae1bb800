/**
 * Writes a message's frame by hand, field after field, into a buffer of exactly its size. A field that is absent is
 * left out, and takes no room (source: Protocol Buffers, "Encoding").
 */
import { varintBytes, writeVarint } from '../../peer/wire/protobuf-cursor.ts';

/** The frame's length and code. */
const headBytes = 5;
/** Fields of numbers from here on have a tag of two bytes. */
const longTagFrom = 16;

/** Bytes of a field that is a run of `length` bytes. */
export function runSize(field: number, length: number): number {
  return tagSize(field) + varintBytes(length) + length;
}

export function bytesSize(field: number, bytes: Uint8Array | undefined): number {
  return bytes === undefined ? 0 : runSize(field, bytes.length);
}

/** Of a byte string. */
export function textSize(field: number, text: string): number {
  return runSize(field, text.length);
}

export function numberSize(field: number, value: number | undefined): number {
  return value === undefined ? 0 : tagSize(field) + varintBytes(value >>> 0);
}

export function flagSize(field: number, flag: boolean | undefined): number {
  return flag === undefined ? 0 : tagSize(field) + 1;
}

function tagSize(field: number): number {
  return field < longTagFrom ? 1 : 2;
}

export class FrameWriter {
  /** Whole once every field has been written. */
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

  bytes(field: number, bytes: Uint8Array | undefined): void {
    if (bytes === undefined) return;
    this.begin(field, bytes.length);
    if (bytes.length > shortBytesMax) this.frame.set(bytes, this.#at);
    else for (let index = 0; index < bytes.length; index++) this.frame[this.#at + index] = bytes[index] ?? 0;
    this.#at += bytes.length;
  }

  /** A byte string: names and words, which are short. */
  text(field: number, text: string): void {
    this.begin(field, text.length);
    for (let index = 0; index < text.length; index++) this.frame[this.#at++] = text.charCodeAt(index);
  }

  number(field: number, value: number | undefined): void {
    if (value === undefined) return;
    this.#tag(field * 8);
    this.#at = writeVarint(this.frame, this.#at, value >>> 0);
  }

  flag(field: number, flag: boolean | undefined): void {
    if (flag === undefined) return;
    this.#tag(field * 8);
    this.frame[this.#at++] = flag ? 1 : 0;
  }

  /** The head of a run of so many bytes, which are written next. */
  begin(field: number, length: number): void {
    this.#tag(field * 8 + 2);
    this.#at = writeVarint(this.frame, this.#at, length);
  }

  #tag(tag: number): void {
    this.#at = writeVarint(this.frame, this.#at, tag);
  }
}

/** Up to here a copy byte by byte is faster than a call. */
const shortBytesMax = 32;
