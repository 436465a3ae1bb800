/** Records when nodes saved their hash trees while they ran; a node that stops saves its tree once more. */
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
    world.trace.on('aae.snapshot.saved', ({ host, atUs }) => {
      if (!cluster.names.includes(host) || stopping.has(incarnationOf(host))) return;
      const intervalUs = cluster.configOf(host).aaeSnapshotIntervalSeconds * 1_000_000;
      this.records.push({ incarnation: incarnationOf(host), atUs, intervalUs });
    });
  }
}
