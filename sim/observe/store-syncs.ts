/**
 * Since when what a node writes to its store may not be synced. Until then the node does not count it, though it lies on
 * the disk. A write may begin while the sync before it is under way, so the bound is the sync before the last one.
 */
import type { World } from '../world/world.ts';

/** Follows the syncs of all nodes' stores. */
export class StoreSyncs {
  readonly #times = new Map<string, readonly [before: number, last: number]>();

  constructor(world: World) {
    world.trace.on('disk.file.synced', ({ host, atUs, fields }) => {
      if (!String(fields['what']).startsWith('store/')) return;
      const [, last = 0] = this.#times.get(host) ?? [];
      this.#times.set(host, [last, atUs]);
    });
  }

  /** Virtual time in microseconds. */
  unsyncedSinceUs(host: string): number {
    return this.#times.get(host)?.[0] ?? 0;
  }
}
