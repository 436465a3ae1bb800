/** The configurations of the nodes of a simulated cluster, as an operator's files would give them. */
import { present } from '../../../engine/base/assert.ts';
import type { NodeConfig } from '../../../engine/config/config.ts';
import { parseConfig } from '../../../engine/config/config.ts';
import type { PlanNode } from '../../plan/plan-node.ts';
import {
  marksFile,
  marksId,
  routesFile,
  routesId,
  waywardFile,
  waywardId,
} from '../../workload/work-modules.ts';
import type { BucketNeeds } from '../../plan/bucket-needs.ts';
import { briefRequests } from '../../plan/brief-requests.ts';
import { bucketNeeds, bucketNeedsOf, demandingType } from '../../plan/bucket-needs.ts';
import { tokensAtKeys, tokensAtKeysOf } from './key-tokens.ts';

/** Type of the buckets that keep siblings; the other buckets have the type `default`. */
export const siblingsType = 'siblings';

/** With this setting no configuration names `siblingsType`: an operator creates it once the cluster has started. */
export const typesAtRunTime = 'types_at_run_time';

/**
 * The value of this setting gives buckets of `siblingsType` the limits of their causal contexts, in this order:
 * `small_vclock`, `big_vclock`, `young_vclock` and `old_vclock`, as in `2 3 1 5`. With the engine's own limits no
 * context of a run is ever pruned.
 */
export const siblingContexts = 'sibling_contexts';

/** Type of the buckets whose keys a module routes, in plans with the setting `features_wasm`. */
export const routedType = 'routed';

/** The port of each listener; the same on every node. */
export const clusterPorts = { http: 8098, pb: 8087, redis: 8099, peer: 8101, stats: 22222 } as const;

/** The name of a listener. */
export type ClusterPort = keyof typeof clusterPorts;

/** The address of a node's listener. */
export type AddressOf = (node: string, port: ClusterPort) => string;

const worldAddress: AddressOf = (node, port) => `${node}:${clusterPorts[port]}`;

/**
 * The configuration, parsed from the text of a file, so that the engine reads, checks and rejects settings as it does
 * an operator's. Throws `ConfigInvalid`.
 */
export function configOf(
  node: PlanNode,
  nodes: readonly PlanNode[],
  given: Readonly<Record<string, unknown>>,
): NodeConfig {
  return parseConfig(fileOf(node, nodes, given, worldAddress), {}, `${node.name}.json`);
}

/** The text of the node's configuration file. `addressOf`: where each node listens, as the file names it. */
export function fileOf(
  node: PlanNode,
  nodes: readonly PlanNode[],
  given: Readonly<Record<string, unknown>>,
  addressOf: AddressOf,
): string {
  const {
    [typesAtRunTime]: makesTypes,
    [siblingContexts]: limits,
    [bucketNeeds]: _needs,
    [briefRequests]: _times,
    ...settings
  } = withTokensAtKeys(node.name, given);
  const needs = bucketNeedsOf(given);
  const siblings =
    makesTypes === true ? {} : { [siblingsType]: { allow_mult: true, ...contextLimits(limits), ...needs } };
  const demanding =
    given[bucketNeeds] === undefined ? {} : { [demandingType]: { allow_mult: false, ...needs } };
  const file = {
    name: node.name,
    datacenter: node.datacenter,
    rack: node.rack,
    listen: addressOf(node.name, 'http'),
    pb_listen: addressOf(node.name, 'pb'),
    redis_listen: addressOf(node.name, 'redis'),
    peer_listen: addressOf(node.name, 'peer'),
    stats_listen: addressOf(node.name, 'stats'),
    insecure: true,
    bucket_types: { ...siblings, ...demanding, ...(hasModules(settings) ? routedTypes(needs) : {}) },
    ...(hasModules(settings) ? { store_wasm_modules: startModules } : {}),
    seeds: nodes.map(({ name, datacenter, rack }) => ({
      name,
      datacenter,
      rack,
      address: addressOf(name, 'peer'),
      // A file that gives its own node tokens must repeat them among the seeds.
      ...(name === node.name && settings['tokens'] !== undefined ? { tokens: settings['tokens'] } : {}),
      ...(given[tokensAtKeys] === true && name !== node.name
        ? { tokens: tokensAtKeysOf(name, ownCountOf(given)) }
        : {}),
      ...(settings['num_tokens'] === undefined ? {} : { num_tokens: settings['num_tokens'] }),
    })),
    ...settings,
  };
  return JSON.stringify({ lockstep: file });
}

/** The bucket properties that a value of `siblingContexts` states; none without a value. */
function contextLimits(given: unknown): Readonly<Record<string, number>> {
  if (typeof given !== 'string') return {};
  const [small_vclock, big_vclock, young_vclock, old_vclock] = given.split(' ').map(Number);
  return Object.fromEntries(
    Object.entries({ small_vclock, big_vclock, young_vclock, old_vclock }).map(([name, value]) => [
      name,
      present(value, `${name} in the setting ${siblingContexts}`),
    ]),
  );
}

/** The settings with the tokens that `tokensAtKeys` gives the node, unless a replacement gets those of another one. */
function withTokensAtKeys(
  name: string,
  { [tokensAtKeys]: isAtKeys, ...settings }: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  if (isAtKeys !== true) return settings;
  const { num_tokens: _, ...others } = settings;
  if (settings['tokens'] !== undefined || settings['replace'] !== undefined) return others;
  return { ...others, tokens: tokensAtKeysOf(name, ownCountOf(settings)) };
}

function ownCountOf({ num_tokens: count }: Readonly<Record<string, unknown>>): number | undefined {
  return typeof count === 'number' ? count : undefined;
}

/** The settings with which a spare joins, or replaces a member. */
export function spareSettings({ replaces }: PlanNode): Readonly<Record<string, unknown>> {
  return { join: 'joining', ...(replaces === undefined ? {} : { replace: replaces }) };
}

/** The settings of a node that was a member under this name before: other nodes may own its old tokens. */
export function newcomerSettings({ tokens }: NodeConfig): Readonly<Record<string, unknown>> {
  return { join: 'joining', tokens: tokens.map((token) => (token + 2 ** 31) % 2 ** 32) };
}

function routedTypes(needs: BucketNeeds): Readonly<Record<string, unknown>> {
  return { [routedType]: { allow_mult: false, chash_keyfun: 'CUSTOM', wasm_keyfun: routesId, ...needs } };
}

const startModules = [
  { id: routesId, path: routesFile },
  { id: marksId, path: marksFile },
  { id: waywardId, path: waywardFile },
];

/** Whether the nodes have Wasm modules and clients' keys are routed by one. */
export function hasModules(settings: Readonly<Record<string, unknown>>): boolean {
  return settings['features_wasm'] === true;
}
