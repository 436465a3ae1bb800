/**
 * The files of a local cluster: `<data>/<node>/lockstep.yaml` and beside it the node's data. A file that says the
 * same as is asked for stays as it is, with what its owner changed in it; one of another shape is refused, since keys
 * would be looked for on nodes that do not have them.
 */
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { stringify } from 'yaml';

import type { NodeConfig } from '../config/config.ts';
import { membersOf } from '../config/misfits.ts';
import type { ClusterNode } from './cluster-shape.ts';
import { readConfigFile } from './config-file.ts';
import { UsageError } from './exit-codes.ts';

export const configFileName = 'lockstep.yaml';

/** The root key of every node's file. */
const poolName = 'lockstep';

export function configFileOf(dataDirectory: string, node: ClusterNode): string {
  return join(dataDirectory, node.name, configFileName);
}

/** Writes what is missing. Throws `UsageError` when the directory holds a cluster of another shape. */
export function prepareFiles(dataDirectory: string, nodes: readonly ClusterNode[]): void {
  const foreign = existingNodes(dataDirectory).filter((name) => !nodes.some((node) => node.name === name));
  if (foreign.length > 0) throw otherShape(dataDirectory, `it has files of ${foreign.join(', ')}`);
  for (const node of nodes) {
    const file = configFileOf(dataDirectory, node);
    const wanted = configText(node, nodes);
    if (existsSync(file) && staysAsItIs(file, node, nodes, dataDirectory)) continue;
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, wanted);
  }
}

/** The configuration file of one node. */
export function configText(node: ClusterNode, nodes: readonly ClusterNode[]): string {
  const seeds = nodes.filter((other) => other !== node);
  const keys = {
    name: node.name,
    datacenter: node.datacenter,
    rack: node.rack,
    data_dir: 'data',
    listen: node.http,
    pb_listen: node.pb,
    redis_listen: node.redis,
    peer_listen: node.peer,
    stats_listen: node.stats,
    log_level: 'warn',
    seeds: seeds.map(({ name, peer, datacenter, rack }) => ({ name, address: peer, datacenter, rack })),
  };
  const heading = '# Written by `lockstep cluster`; all keys: `lockstep check-config --keys`.\n';
  return heading + stringify({ [poolName]: keys });
}

function existingNodes(dataDirectory: string): readonly string[] {
  if (!existsSync(dataDirectory)) return [];
  return readdirSync(dataDirectory)
    .filter((name) => existsSync(join(dataDirectory, name, configFileName)))
    .sort();
}

/** The node's file is of this shape and these ports; of another shape it is an error, of other ports it is not. */
function staysAsItIs(
  file: string,
  node: ClusterNode,
  nodes: readonly ClusterNode[],
  dataDirectory: string,
): boolean {
  const config = readConfigFile(file, {});
  if (placesOf(membersOf(config)) !== placesOf(nodes.map((other) => ({ ...other, node: other.name })))) {
    throw otherShape(dataDirectory, `${file} names other nodes, datacenters or racks`);
  }
  return sameAddresses(config, node, nodes);
}

function placesOf(members: readonly { node: string; datacenter: string; rack: string }[]): string {
  return members
    .map(({ node, datacenter, rack }) => `${node} ${datacenter}/${rack}`)
    .sort()
    .join(', ');
}

function sameAddresses(config: NodeConfig, node: ClusterNode, nodes: readonly ClusterNode[]): boolean {
  const own = config.listen === node.http && config.pbListen === node.pb && config.peerListen === node.peer;
  const seeds = new Map<string, string>(config.seeds.map((seed) => [seed.node, seed.address]));
  const others = nodes.every((other) => other === node || seeds.get(other.name) === other.peer);
  return own && others && config.statsListen === node.stats && config.redisListen === node.redis;
}

function otherShape(dataDirectory: string, why: string): UsageError {
  return new UsageError(
    `${dataDirectory} holds a cluster of another shape: ${why}; give its --nodes, --racks and --dcs, or another --data`,
  );
}
