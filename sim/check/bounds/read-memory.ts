/**
 * `resource-bounds` (INV23) of reads of large objects. A node admits a read if all admitted reads fit into its budget
 * (`client_read_bytes_max`), or if no other read is in progress; memory that a read needs later may exceed the budget.
 * When nothing is in progress, and when a node has stopped, all memory has been released. A replica does not send,
 * unasked, an object larger than its peer wants at once. Each admission, each rest of an incarnation that read a large
 * object, and each answer about a large object is one comparison.
 */
import type { CheckReport } from '../report.ts';
import { Tally } from '../report.ts';

/** The admission of a read. */
export interface ReadMemoryEntry {
  readonly node: string;
  readonly atUs: number;
  readonly bytes: number;
  /** Bytes that other reads held. */
  readonly heldBytes: number;
  readonly bytesMax: number;
}

/** The memory held when no read is in progress at the node. */
export interface ReadMemoryRest {
  readonly node: string;
  readonly atUs: number;
  readonly heldBytes: number;
}

/** A peer's answer to a read that wants large objects described; only those answers are recorded. */
export interface LargeAnswer {
  readonly node: string;
  readonly peer: string;
  readonly atUs: number;
  readonly objectBytes: number;
  readonly bytesMax: number;
}

/** Checks admissions, rests and answers about large objects. */
export function checkReadMemory(
  entries: readonly ReadMemoryEntry[],
  rests: readonly ReadMemoryRest[],
  answers: readonly LargeAnswer[],
): CheckReport {
  const tally = new Tally('resource-bounds');
  for (const { node, atUs, bytes, heldBytes, bytesMax } of entries) {
    tally.compare(heldBytes === 0 || heldBytes + bytes <= bytesMax, atUs, () => {
      return `${node} lets a read of ${bytes} bytes in while others hold ${heldBytes}; ${bytesMax} are allowed`;
    });
  }
  for (const { node, atUs, heldBytes } of rests) {
    tally.compare(heldBytes === 0, atUs, () => {
      return `${node} holds ${heldBytes} bytes for reads of large objects when none is under way`;
    });
  }
  for (const { node, peer, atUs, objectBytes, bytesMax } of answers) {
    tally.compare(objectBytes <= bytesMax, atUs, () => {
      return `${peer} sends ${objectBytes} bytes of an object to ${node}, which wants more than ${bytesMax} described`;
    });
  }
  return tally.report();
}
