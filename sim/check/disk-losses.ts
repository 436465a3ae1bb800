/**
 * Which disks lost what they had, and when: what the promises of durability cannot stand on. A node whose disk lies,
 * rots, is wiped, cut short or put back counts, for every write begun before, as if it had never held a copy.
 */

/** Something of what a node's disk held, or was said to hold, is gone. */
export interface Loss {
  readonly node: string;
  readonly atUs: number;
}

export interface DiskLosses {
  /** Anti-entropy had the time to bring back, from one kept copy, whatever was lost before the final reads. */
  readonly healed: boolean;
  /** How many nodes lost something between two instants, both included. */
  lostBetween(fromUs: number, toUs: number): number;
}

/** No disk loses anything. */
export const wholeDisks: DiskLosses = { healed: false, lostBetween: () => 0 };

export function atlasOf(losses: readonly Loss[], healed: boolean): DiskLosses {
  if (losses.length === 0) return wholeDisks;
  return {
    healed,
    lostBetween: (fromUs, toUs) => {
      const nodes = new Set<string>();
      for (const { node, atUs } of losses) if (atUs >= fromUs && atUs <= toUs) nodes.add(node);
      return nodes.size;
    },
  };
}
