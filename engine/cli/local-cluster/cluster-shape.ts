/**
 * Computes the shape of a local cluster: its nodes, their datacenters and racks, and their ports. Pure.
 *
 * Ports: the first node has the product's default ports (HTTP 8098, binary protocol 8087, peers 8101, statistics
 * 22222) and 8099 for Redis clients. Every further node has each of them 10 higher. The last digits of these ports
 * differ, so no two nodes get the same port. Another base port moves all ports by the same distance.
 */
import type { Address } from '../../io/network.ts';
import { UsageError } from '../exit-codes.ts';

/** The requested shape. */
export interface ClusterOptions {
  /** Undefined: one node for each rack. */
  readonly nodeCount: number | undefined;
  /** Racks per datacenter. Undefined: three, or fewer if there are fewer nodes. */
  readonly rackCount: number | undefined;
  readonly datacenterCount: number;
  /** HTTP port of the first node. */
  readonly basePort: number;
}

/** One node of the shape: its name, place and listeners. */
export interface ClusterNode {
  readonly name: string;
  readonly datacenter: string;
  readonly rack: string;
  readonly http: Address;
  readonly pb: Address;
  readonly redis: Address;
  readonly peer: Address;
  readonly stats: Address;
}

/** The default HTTP port of the first node. */
export const basePortDefault = 8098;
/** The most nodes of a local cluster. */
export const nodeCountMax = 100;
const rackCountDefault = 3;

const host = '127.0.0.1';
const portStep = 10;
/** Distances of a node's ports from its HTTP port. */
const offsets = { http: 0, pb: 8087 - 8098, redis: 1, peer: 8101 - 8098, stats: 22222 - 8098 };

/**
 * The nodes, assigned round-robin to the datacenters, and within each to its racks. Throws `UsageError`, also if there
 * are too few nodes for the requested racks or datacenters: one without a node would be missing without a notice.
 */
export function clusterShape(options: ClusterOptions): readonly ClusterNode[] {
  const { basePort, datacenterCount } = options;
  const rackCount = options.rackCount ?? rackCountDefault;
  const nodeCount = options.nodeCount ?? Math.min(rackCount * datacenterCount, nodeCountMax);
  checkRoom(nodeCount, options);
  checkPorts(basePort, nodeCount);
  return Array.from({ length: nodeCount }, (_, index) => {
    const at = (offset: number) => `${host}:${basePort + offset + portStep * index}`;
    return {
      name: `n${index + 1}`,
      datacenter: `dc${(index % datacenterCount) + 1}`,
      rack: `r${(Math.floor(index / datacenterCount) % rackCount) + 1}`,
      http: at(offsets.http),
      pb: at(offsets.pb),
      redis: at(offsets.redis),
      peer: at(offsets.peer),
      stats: at(offsets.stats),
    };
  });
}

/** The listeners of a node, with the names that notices use. */
export function listenersOf(
  node: ClusterNode,
): readonly { readonly what: string; readonly address: Address }[] {
  return [
    { what: 'HTTP', address: node.http },
    { what: 'binary protocol', address: node.pb },
    { what: 'Redis protocol', address: node.redis },
    { what: 'peers', address: node.peer },
    { what: 'statistics', address: node.stats },
  ];
}

/** Throws `UsageError` unless every requested rack of every datacenter gets a node. */
function checkRoom(nodeCount: number, { rackCount, datacenterCount }: ClusterOptions): void {
  const wanted = (rackCount ?? 1) * datacenterCount;
  if (wanted > nodeCountMax) {
    throw new UsageError(`${shapeOf(rackCount, datacenterCount)}: at most ${nodeCountMax} nodes are allowed`);
  }
  if (nodeCount >= wanted) return;
  throw new UsageError(
    `--nodes ${nodeCount}: ${shapeOf(rackCount, datacenterCount)}; give that many, or fewer racks or datacenters`,
  );
}

/** For example `2 datacenters of 3 racks take at least 6 nodes`. */
function shapeOf(rackCount: number | undefined, datacenterCount: number): string {
  const datacenters = `${datacenterCount} ${datacenterCount === 1 ? 'datacenter' : 'datacenters'}`;
  const racks = rackCount === undefined ? '' : ` of ${rackCount} ${rackCount === 1 ? 'rack' : 'racks'}`;
  const verb = datacenterCount === 1 ? 'takes' : 'take';
  return `${datacenters}${racks} ${verb} at least ${(rackCount ?? 1) * datacenterCount} nodes`;
}

function checkPorts(basePort: number, nodeCount: number): void {
  const least = 1024 - offsets.pb;
  const most = 65535 - offsets.stats - portStep * (nodeCount - 1);
  if (basePort >= least && basePort <= most) return;
  throw new UsageError(
    `--base-port ${basePort}: allowed for ${nodeCount} nodes: ${least} to ${most} (see cluster --help)`,
  );
}
