/** Records when nodes saved their hash trees, and of which state. */
import type { SnapshotSave } from '../check/anti-entropy/snapshot-rejection.ts';
import type { Cluster } from '../world/cluster/cluster.ts';
import type { World } from '../world/world.ts';

/** The saves of one run. */
export class SnapshotSaves {
  readonly records: SnapshotSave[] = [];

  constructor(world: World, cluster: Cluster) {
    const stopping = new Set<string>();
    const incarnationOf = (node: string): string => `${node}, life ${cluster.host(node).lives}`;
    world.trace.on('node.stopping', ({ host }) => {
      if (cluster.names.includes(host)) stopping.add(incarnationOf(host));
    });
    world.trace.on('aae.snapshot.saved', ({ host, atUs, fields }) => {
      if (!cluster.names.includes(host)) return;
      const incarnation = incarnationOf(host);
      this.records.push({
        incarnation,
        atUs,
        stopping: stopping.has(incarnation),
        position: Number(fields['position']),
        dirtyCount: Number(fields['dirty']),
        intervalUs: cluster.configOf(host).aaeSnapshotIntervalSeconds * 1_000_000,
      });
    });
  }
}
