/** What GETs of Redis clients may rely on, by the levels and the racks of a cluster (`quorum-intersection`). */
import type { ReadTerms } from '../check/protocols/redis-reads.ts';
import type { Cluster } from '../world/cluster/cluster.ts';

/**
 * `hindered`: nodes that a fault may keep from answering reads. Undefined if the level asks more than a majority of the
 * replicas.
 */
export function readTermsOf(cluster: Cluster, hindered: ReadonlySet<string>): ReadTerms | undefined {
  const racks = new Map<string, Map<string, boolean>>();
  let level = 'DC_QUORUM';
  for (const name of cluster.members) {
    const config = cluster.configOf(name);
    const { datacenter, rack, readConsistency } = config;
    level = readConsistency;
    const ables = racks.get(datacenter) ?? new Map<string, boolean>();
    racks.set(datacenter, ables);
    // Every key has one replica in the rack: any node of it.
    ables.set(rack, (ables.get(rack) ?? true) && !hindered.has(name));
  }
  if (level !== 'DC_QUORUM' && level !== 'DC_ONE') return undefined;
  const termsOf = (ables: ReadonlyMap<string, boolean>): { able: number; need: number } => ({
    able: [...ables.values()].filter(Boolean).length,
    need: level === 'DC_ONE' ? 1 : Math.floor(ables.size / 2) + 1,
  });
  return { hindered, datacenters: new Map([...racks].map(([name, ables]) => [name, termsOf(ables)])) };
}
