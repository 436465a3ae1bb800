/**
 * Computes the checksum of frames and stored records: CRC-32 (ISO-HDLC, as in zlib and gzip), which can be continued
 * over several runs of bytes. It detects every burst of up to 32 bits. It is no defence against an adversary.
 */
import { crc32 as zlibCrc32 } from 'node:zlib';

/** CRC-32 of `bytes`, continuing from `seed` (the CRC of the preceding bytes). An unsigned 32-bit integer. */
export function crc32(bytes: Uint8Array, seed = 0): number {
  // zlib treats an empty input as a request to start anew.
  return bytes.length === 0 ? seed : zlibCrc32(bytes, seed);
}

/**
 * As `crc32`, of the bytes from `from` (inclusive) to `to` (exclusive). For short runs several times as fast as a
 * native call.
 */
export function crc32Between(bytes: Uint8Array, from: number, to: number, seed = 0): number {
  if (to - from <= shortBytesMax) return shortCrc32(bytes, from, to, seed);
  if (from === 0 && to === bytes.length) return zlibCrc32(bytes, seed);
  // `Buffer.subarray` makes another Buffer and costs several times as much as a plain array.
  return zlibCrc32(new Uint8Array(bytes.buffer, bytes.byteOffset + from, to - from), seed);
}

/**
 * As `crc32Between`, through a `DataView`, which reads four bytes at once. For callers that keep a view and check many
 * short runs.
 */
export function crc32OfView(view: DataView, from: number, to: number, seed = 0): number {
  if (to - from <= shortBytesMax) return shortCrc32OfView(view, from, to, seed);
  return zlibCrc32(new Uint8Array(view.buffer, view.byteOffset + from, to - from), seed);
}

/** Above this length the native call is faster. */
const shortBytesMax = 256;
const polynomial = 0xedb88320;

/** Sixteen tables of 256 entries: the effect of a byte on the checksum, 0 to 15 bytes before the end of a step. */
const steps = makeSteps();

function makeSteps(): Uint32Array {
  const table = new Uint32Array(16 * 256);
  for (let byte = 0; byte < 256; byte++) {
    let crc = byte;
    for (let bit = 0; bit < 8; bit++) crc = (crc & 1) === 0 ? crc >>> 1 : polynomial ^ (crc >>> 1);
    table[byte] = crc;
  }
  for (let at = 256; at < table.length; at++) {
    const before = table[at - 256] ?? 0;
    table[at] = (table[before & 0xff] ?? 0) ^ (before >>> 8);
  }
  return table;
}

/**
 * CRC-32 by slicing by sixteen and eight. Source: Kounavis and Berry, "Novel Table Lookup-Based Algorithms for CRC
 * Generation", 2008.
 */
function shortCrc32(bytes: Uint8Array, from: number, to: number, seed: number): number {
  let crc = ~seed;
  let at = from;
  for (; at + 16 <= to; at += 16) {
    crc =
      (steps[0xf00 | ((crc ^ (bytes[at] ?? 0)) & 0xff)] ?? 0) ^
      (steps[0xe00 | (((crc >>> 8) ^ (bytes[at + 1] ?? 0)) & 0xff)] ?? 0) ^
      (steps[0xd00 | (((crc >>> 16) ^ (bytes[at + 2] ?? 0)) & 0xff)] ?? 0) ^
      (steps[0xc00 | ((crc >>> 24) ^ (bytes[at + 3] ?? 0))] ?? 0) ^
      (steps[0xb00 | (bytes[at + 4] ?? 0)] ?? 0) ^
      (steps[0xa00 | (bytes[at + 5] ?? 0)] ?? 0) ^
      (steps[0x900 | (bytes[at + 6] ?? 0)] ?? 0) ^
      (steps[0x800 | (bytes[at + 7] ?? 0)] ?? 0) ^
      (steps[0x700 | (bytes[at + 8] ?? 0)] ?? 0) ^
      (steps[0x600 | (bytes[at + 9] ?? 0)] ?? 0) ^
      (steps[0x500 | (bytes[at + 10] ?? 0)] ?? 0) ^
      (steps[0x400 | (bytes[at + 11] ?? 0)] ?? 0) ^
      (steps[0x300 | (bytes[at + 12] ?? 0)] ?? 0) ^
      (steps[0x200 | (bytes[at + 13] ?? 0)] ?? 0) ^
      (steps[0x100 | (bytes[at + 14] ?? 0)] ?? 0) ^
      (steps[bytes[at + 15] ?? 0] ?? 0);
  }
  if (at + 8 <= to) {
    const word =
      crc ^
      ((bytes[at] ?? 0) |
        ((bytes[at + 1] ?? 0) << 8) |
        ((bytes[at + 2] ?? 0) << 16) |
        ((bytes[at + 3] ?? 0) << 24));
    crc =
      (steps[0x700 | (word & 0xff)] ?? 0) ^
      (steps[0x600 | ((word >>> 8) & 0xff)] ?? 0) ^
      (steps[0x500 | ((word >>> 16) & 0xff)] ?? 0) ^
      (steps[0x400 | (word >>> 24)] ?? 0) ^
      (steps[0x300 | (bytes[at + 4] ?? 0)] ?? 0) ^
      (steps[0x200 | (bytes[at + 5] ?? 0)] ?? 0) ^
      (steps[0x100 | (bytes[at + 6] ?? 0)] ?? 0) ^
      (steps[bytes[at + 7] ?? 0] ?? 0);
    at += 8;
  }
  for (; at < to; at++) crc = (steps[(crc ^ (bytes[at] ?? 0)) & 0xff] ?? 0) ^ (crc >>> 8);
  return ~crc >>> 0;
}

/** As `shortCrc32`, reading four bytes at once: sixteen bytes a step, then eight, then four. */
function shortCrc32OfView(view: DataView, from: number, to: number, seed: number): number {
  let crc = ~seed;
  let at = from;
  for (; at + 16 <= to; at += 16) {
    const first = crc ^ view.getInt32(at, true);
    const second = view.getInt32(at + 4, true);
    const third = view.getInt32(at + 8, true);
    const fourth = view.getInt32(at + 12, true);
    crc =
      (steps[0xf00 | (first & 0xff)] ?? 0) ^
      (steps[0xe00 | ((first >>> 8) & 0xff)] ?? 0) ^
      (steps[0xd00 | ((first >>> 16) & 0xff)] ?? 0) ^
      (steps[0xc00 | (first >>> 24)] ?? 0) ^
      (steps[0xb00 | (second & 0xff)] ?? 0) ^
      (steps[0xa00 | ((second >>> 8) & 0xff)] ?? 0) ^
      (steps[0x900 | ((second >>> 16) & 0xff)] ?? 0) ^
      (steps[0x800 | (second >>> 24)] ?? 0) ^
      (steps[0x700 | (third & 0xff)] ?? 0) ^
      (steps[0x600 | ((third >>> 8) & 0xff)] ?? 0) ^
      (steps[0x500 | ((third >>> 16) & 0xff)] ?? 0) ^
      (steps[0x400 | (third >>> 24)] ?? 0) ^
      (steps[0x300 | (fourth & 0xff)] ?? 0) ^
      (steps[0x200 | ((fourth >>> 8) & 0xff)] ?? 0) ^
      (steps[0x100 | ((fourth >>> 16) & 0xff)] ?? 0) ^
      (steps[fourth >>> 24] ?? 0);
  }
  for (; at + 8 <= to; at += 8) {
    const word = crc ^ view.getInt32(at, true);
    const next = view.getInt32(at + 4, true);
    crc =
      (steps[0x700 | (word & 0xff)] ?? 0) ^
      (steps[0x600 | ((word >>> 8) & 0xff)] ?? 0) ^
      (steps[0x500 | ((word >>> 16) & 0xff)] ?? 0) ^
      (steps[0x400 | (word >>> 24)] ?? 0) ^
      (steps[0x300 | (next & 0xff)] ?? 0) ^
      (steps[0x200 | ((next >>> 8) & 0xff)] ?? 0) ^
      (steps[0x100 | ((next >>> 16) & 0xff)] ?? 0) ^
      (steps[next >>> 24] ?? 0);
  }
  if (at + 4 <= to) {
    const word = crc ^ view.getInt32(at, true);
    crc =
      (steps[0x300 | (word & 0xff)] ?? 0) ^
      (steps[0x200 | ((word >>> 8) & 0xff)] ?? 0) ^
      (steps[0x100 | ((word >>> 16) & 0xff)] ?? 0) ^
      (steps[word >>> 24] ?? 0);
    at += 4;
  }
  for (; at < to; at++) crc = (steps[(crc ^ view.getUint8(at)) & 0xff] ?? 0) ^ (crc >>> 8);
  return ~crc >>> 0;
}
