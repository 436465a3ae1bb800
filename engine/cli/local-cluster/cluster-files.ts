/**
 * Writes and checks the files of a local cluster: `<data>/<node>/lockstep.yaml`, with the node's data beside it. A file
 * keeps what its owner changed in it: only addresses that differ from the requested ones are written again. A directory
 * with a cluster of another shape is refused, because its nodes would look for keys on nodes that do not have them.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseDocument, stringify } from 'yaml';

import type { NodeConfig } from '../../config/config.ts';
import { membersOf } from '../../config/cross-field-checks.ts';
import { DiskError } from '../../io/disk.ts';
import { createRealDisk } from '../../real/disk.ts';
import { lockName, storeDirectory } from '../../storage/log/file-names.ts';
import type { ClusterNode } from './cluster-shape.ts';
import { dataDirectoryOf, readConfigFile } from '../files/config-file.ts';
import { UsageError } from '../exit-codes.ts';

/** The name of a node's configuration file within the node's directory. */
export const configFileName = 'lockstep.yaml';

/** The root key of every node's file. */
const poolName = 'lockstep';

/** The path of a node's configuration file. */
export function configFileOf(dataDirectory: string, node: ClusterNode): string {
  return join(dataDirectory, node.name, configFileName);
}

/**
 * Writes the missing configuration files, and rewrites the addresses in existing files that have other ones. Returns
 * the rewritten files. Throws `UsageError` if the directory holds a cluster of another shape.
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

/** The nodes of the directory that run, which is when their store is locked. Their files must not be changed. */
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

/** The text of a node's configuration file. */
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

/** The addresses of a node's listeners, by configuration key. */
function listenersIn(node: ClusterNode): Readonly<Record<string, string>> {
  return {
    listen: node.http,
    pb_listen: node.pb,
    redis_listen: node.redis,
    peer_listen: node.peer,
    stats_listen: node.stats,
  };
}

/** The file's text with the addresses of this shape. Everything else stays as it is, comments too. */
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

/** Whether the node's file has these ports. Throws `UsageError` if it is of another shape. */
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
