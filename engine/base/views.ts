/**
 * Copies and compares bytes through `DataView`s: four at a time, at any alignment, without a call out of JavaScript.
 * For hot paths that keep one view of a large buffer; creating a view costs as much as copying a few hundred bytes.
 */

/** Above this length the native copy is faster. */
const shortBytesMax = 256;

/** A view of the same memory. */
export function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** Copies `length` bytes from offset `at` of `from` to offset `place` of `into`. The ranges must not overlap. */
export function copyBytes(from: DataView, at: number, length: number, into: DataView, place: number): void {
  if (length > shortBytesMax) {
    const bytes = new Uint8Array(from.buffer, from.byteOffset + at, length);
    new Uint8Array(into.buffer, into.byteOffset + place, length).set(bytes);
    return;
  }
  const words = length & -4;
  let index = 0;
  for (; index < words; index += 4) into.setInt32(place + index, from.getInt32(at + index, true), true);
  for (; index < length; index++) into.setUint8(place + index, from.getUint8(at + index));
}

/**
 * Whether `length` bytes at offset `at` of `one` equal those at offset `place` of `other`. The caller guarantees the
 * bounds.
 */
export function sameBytes(
  one: DataView,
  at: number,
  other: DataView,
  place: number,
  length: number,
): boolean {
  const words = length & -4;
  let index = 0;
  for (; index < words; index += 4) {
    if (one.getInt32(at + index, true) !== other.getInt32(place + index, true)) return false;
  }
  for (; index < length; index++) {
    if (one.getUint8(at + index) !== other.getUint8(place + index)) return false;
  }
  return true;
}
