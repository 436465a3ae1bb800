/**
 * How much native stack a call takes, by an estimate that engine, tier and machine have no say in: a fixed part, and
 * eight bytes for each parameter, local and operand that may be alive at once, and as much again for what compilers spill.
 */
const fixedBytes = 64;
const slotBytes = 8;

/** Functions of smaller frames that call nothing are not counted: at most one of them is on the stack. */
export const leafBytesMax = 4096;

export function frameBytes(slots: number): number {
  return fixedBytes + slots * slotBytes;
}
