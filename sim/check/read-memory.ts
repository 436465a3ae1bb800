/**
 * `resource-bounds` (INV23) of large objects that are read: a read that asks for some is let in while all that are in
 * fit into what the node may hold (`client_read_bytes_max`), or when it is alone; what it finds out later that it
 * needs may go beyond. Once nothing is under way any more, and when a node has stopped, all has been given back. No
 * replica sends unasked what is larger than its peer wants at once. Each entry, each rest of a life that read
 * something large, and each answer about a large object is one comparison.
 */
import type { CheckReport } from './report.ts';
import { Tally } from './report.ts';

/** A read was let in. */
export interface ReadMemoryEntry {
  readonly node: string;
  readonly atUs: number;
  readonly bytes: number;
  /** By the others. */
  readonly heldBytes: number;
  readonly bytesMax: number;
}

/** Nothing is under way at the node. */
export interface ReadMemoryRest {
  readonly node: string;
  readonly atUs: number;
  readonly heldBytes: number;
}

/** What a peer answered to a read that wants large objects described; only those are kept. */
export interface LargeAnswer {
  readonly node: string;
  readonly peer: string;
  readonly atUs: number;
  readonly objectBytes: number;
  readonly bytesMax: number;
}

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
