/**
 * Renders `/cluster_describe`: the cluster as a tree of datacenters, racks and servers, in the format of Dynomite's
 * stats port. Each level is sorted by name, so two nodes with the same knowledge answer the same bytes.
 */

/** One node of the cluster as the description shows it. */
export interface ClusterServer {
  readonly name: string;
  readonly dc: string;
  readonly rack: string;
  /** Address of the peer listener. */
  readonly host: string;
  readonly port: number;
  /** Ascending. Dynomite has one token per server; the first stands for all. */
  readonly tokens: readonly number[];
}

/** `{"dcs":[{"name","racks":[{"name","servers":[{"name","host","port","token"}]}]}]}` on one line. */
export function describeCluster(servers: readonly ClusterServer[]): string {
  const dcs = groupBy(servers, ({ dc }) => dc).map(([name, inDc]) => ({
    name,
    racks: groupBy(inDc, ({ rack }) => rack).map(([rackName, inRack]) => ({
      name: rackName,
      servers: inRack.toSorted((left, right) => compare(left.name, right.name)).map(describeServer),
    })),
  }));
  return JSON.stringify({ dcs });
}

function describeServer({ name, host, port, tokens }: ClusterServer): object {
  return { name, host, port, token: tokens[0] ?? 0 };
}

function groupBy(
  servers: readonly ClusterServer[],
  nameOf: (server: ClusterServer) => string,
): readonly (readonly [string, readonly ClusterServer[]])[] {
  const groups = new Map<string, ClusterServer[]>();
  for (const server of servers) {
    const name = nameOf(server);
    const group = groups.get(name);
    if (group === undefined) groups.set(name, [server]);
    else group.push(server);
  }
  return [...groups].toSorted(([left], [right]) => compare(left, right));
}

function compare(left: string, right: string): number {
  if (left === right) return 0;
  return left < right ? -1 : 1;
}
