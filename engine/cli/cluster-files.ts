/**
 * The files of a local cluster: `<data>/<node>/lockstep.yaml` and beside it the node's data. What a file's owner changed
 * in it stays: only addresses are written again, and only where they are not those that are asked for. One of another
 * shape is refused, since keys would be looked for on nodes that do not have them.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseDocument, stringify } from 'yaml';

import type { NodeConfig } from '../config/config.ts';
import { membersOf } from '../config/cross-field-checks.ts';
import { DiskError } from '../io/disk.ts';
import { createRealDisk } from '../real/disk.ts';
import { lockName, storeDirectory } from '../storage/log/file-names.ts';
import type { ClusterNode } from './cluster-shape.ts';
import { dataDirectoryOf, readConfigFile } from './config-file.ts';
import { UsageError } from './exit-codes.ts';

export const configFileName = 'lockstep.yaml';

/** The root key of every node's file. */
const poolName = 'lockstep';

export function configFileOf(dataDirectory: string, node: ClusterNode): string {
  return join(dataDirectory, node.name, configFileName);
}

/**
 * Writes what is missing, and the addresses that are others than in a file that is there; returns the files of which
 * that is so. Throws `UsageError` when the directory holds a cluster of another shape.
 */
export function prepareFiles(dataDirectory: string, nodes: readonly ClusterNode[]): readonly string[] {
  const foreign = existingNodes(dataDirectory).filter((name) => !nodes.some((node) => node.name === name));
  if (foreign.length > 0) throw otherShape(dataDirectory, `it has files of ${foreign.join(', ')}`);
  const moved: string[] = [];
  for (const node of nodes) {
    const file = configFileOf(dataDirectory, node);
    if (!existsSync(file)) {
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, configText(node, nodes));
    } else if (!staysAsItIs(file, node, nodes, dataDirectory)) {
      writeFileSync(file, withAddresses(file, node, nodes));
      moved.push(file);
    }
  }
  return moved;
}

/** Nodes of the directory that run already, by the lock of their store: nothing of theirs may be changed. */
export async function runningNodes(
  dataDirectory: string,
  nodes: readonly ClusterNode[],
): Promise<readonly string[]> {
  const running: string[] = [];
  for (const node of nodes) {
    const file = configFileOf(dataDirectory, node);
    if (!existsSync(file)) continue;
    const directory = dataDirectoryOf(file, readConfigFile(file, process.env));
    if (existsSync(join(directory, storeDirectory)) && (await isHeld(directory))) running.push(node.name);
  }
  return running;
}

async function isHeld(directory: string): Promise<boolean> {
  try {
    const lock = await createRealDisk(directory).lock(`${storeDirectory}/${lockName}`);
    await lock.release();
    return false;
  } catch (error) {
    if (error instanceof DiskError && error.failure === 'locked') return true;
    throw error;
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
    ...listenersIn(node),
    log_level: 'warn',
    seeds: seeds.map(({ name, peer, datacenter, rack }) => ({ name, address: peer, datacenter, rack })),
  };
  const heading = '# Written by `lockstep cluster`; all keys: `lockstep check-config --keys`.\n';
  return heading + stringify({ [poolName]: keys });
}

/** The keys of a node's file that say where it listens. */
function listenersIn(node: ClusterNode): Readonly<Record<string, string>> {
  return {
    listen: node.http,
    pb_listen: node.pb,
    redis_listen: node.redis,
    peer_listen: node.peer,
    stats_listen: node.stats,
  };
}

/** The file with the addresses of this shape, and everything else, remarks too, as it was. */
function withAddresses(file: string, node: ClusterNode, nodes: readonly ClusterNode[]): string {
  const { pool } = readConfigFile(file, {});
  const document = parseDocument(readFileSync(file, 'utf8'));
  for (const [key, address] of Object.entries(listenersIn(node))) document.setIn([pool, key], address);
  for (let index = 0; document.hasIn([pool, 'seeds', index]); index += 1) {
    const name = document.getIn([pool, 'seeds', index, 'name']);
    const seed = nodes.find((other) => other.name === name);
    if (seed !== undefined) document.setIn([pool, 'seeds', index, 'address'], seed.peer);
  }
  return document.toString();
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
