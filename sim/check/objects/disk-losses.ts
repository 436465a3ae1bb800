/**
 * Which disks lost data, and when: losses that excuse missing copies. A node whose disk lies, rots, is wiped, truncated
 * or rolled back counts, for every write begun before the loss, as if it had never held a copy.
 *
 * A node must notice a bit that rots among the records of its log, unless the next start takes the place for a torn
 * tail. It then answers no key as absent that it may have lost, until every other owner has been asked for it. So a
 * noticed loss excuses an older value, and what no disk holds any more, but no absence while another disk holds the
 * value.
 *
 * With `sync: N` a power loss takes what its node acknowledged within the last N milliseconds, and nothing older
 * (evidence/sync-lag.ts).
 */
import type { SyncLag } from '../../evidence/sync-lag.ts';
import { noLag } from '../../evidence/sync-lag.ts';

/** The loss of data that a node's disk held, or had acknowledged. */
export interface Loss {
  readonly node: string;
  readonly atUs: number;
  /** The node must notice it. */
  readonly noticed?: boolean;
}

/** The losses of one run. */
export interface DiskLosses {
  /** Anti-entropy had the time before the final reads to restore every loss from one remaining copy. */
  readonly healed: boolean;
  /** Number of nodes that lost data between two instants of virtual time, both included. */
  lostBetween(fromUs: number, toUs: number): number;
  /** The number of those nodes that cannot know of a loss. */
  silentlyLostBetween(fromUs: number, toUs: number): number;
  /** Number of nodes that may have lost a write of these times, not yet synced, until `toUs`. */
  unsyncedBetween(fromUs: number, ackedUs: number, toUs: number): number;
  /** Number of the key's owners whose disks hold a value of it at the end that can be read; 0 where that is not known. */
  intactOf(key: string): number;
}

/** No disk loses anything. */
export const wholeDisks: DiskLosses = {
  healed: false,
  lostBetween: () => 0,
  silentlyLostBetween: () => 0,
  unsyncedBetween: () => 0,
  intactOf: () => 0,
};

/** Indexes the losses of a run; `intactOf`: see `DiskLosses`; `lag`: how late nodes sync. */
export function diskLossesOf(
  losses: readonly Loss[],
  healed: boolean,
  intactOf: (key: string) => number = () => 0,
  lag: SyncLag = noLag,
): DiskLosses {
  const unsyncedBetween = (fromUs: number, ackedUs: number, toUs: number): number =>
    lag.lostBetween(fromUs, ackedUs + lag.us, toUs);
  if (losses.length === 0) return { ...wholeDisks, unsyncedBetween };
  const silent = losses.filter(({ noticed }) => noticed !== true);
  return {
    healed,
    intactOf,
    unsyncedBetween,
    lostBetween: (fromUs, toUs) => nodesBetween(losses, fromUs, toUs),
    silentlyLostBetween: (fromUs, toUs) => nodesBetween(silent, fromUs, toUs),
  };
}

function nodesBetween(losses: readonly Loss[], fromUs: number, toUs: number): number {
  const nodes = new Set<string>();
  for (const { node, atUs } of losses) if (atUs >= fromUs && atUs <= toUs) nodes.add(node);
  return nodes.size;
}
