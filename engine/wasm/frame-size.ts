/**
 * Estimates the native stack of a call, independently of engine, tier and machine: a fixed part, and eight bytes for each
 * parameter, local and operand that may be alive at once.
 */
const fixedBytes = 64;
const slotBytes = 8;

/** Largest frame of a function without calls that is not counted, in bytes: at most one such frame is on the stack. */
export const leafBytesMax = 4096;

/** The estimated frame of a function with this many parameters, locals and operands, in bytes. */
export function frameBytes(slots: number): number {
  return fixedBytes + slots * slotBytes;
}
