/**
 * Bytes by a `DataView`: four at a time, wherever they lie, without a call out of JavaScript. For hot paths that keep
 * one view of a large buffer; making a view costs as much as copying a few hundred bytes.
 */

/** Beyond this, leaving JavaScript pays. */
const shortBytesMax = 256;

/** A view of the same bytes. */
export function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** Copies `length` bytes at `at` of one view to `place` of another; the two do not overlap. */
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

/** The `length` bytes at `at` of one view are those at `place` of the other. */
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
