/** Rejects configuration keys that are valid one by one and contradict each other. */
import { LockstepError } from '../base/errors.ts';
import type { Member } from '../cluster/ring/ring.ts';
import { Ring } from '../cluster/ring/ring.ts';
import { isLoopback, isWildcard, splitAddress } from './addresses.ts';
import type { ConfigField, ConfigFields } from './keys.ts';
import { keyOf } from './config-key.ts';

/** Bytes of a frame beside the value: key, headers, metadata, links and the causal context. */
export const frameOverheadBytes = 256 * 1024;

interface Conflict {
  /** The key that the operator should change. */
  readonly field: ConfigField;
  readonly problem: string;
}

const listeners = ['listen', 'pbListen', 'redisListen', 'peerListen', 'statsListen'] as const;

/** All conflicts between keys; empty for a valid configuration. */
export function checkAcrossFields(config: ConfigFields): readonly Conflict[] {
  return [
    ...exposedListeners(config),
    ...sharedAddresses(config),
    ...limitsOutOfOrder(config),
    ...contradictorySelf(config),
    ...sharedSeeds(config),
    ...brokenRing(config),
    ...loneJoiner(config),
    ...misplacedReplacement(config),
    ...unreachableListener(config),
  ];
}

/** The members of the cluster that the configuration knows: this node and the seeds. */
export function membersOf(config: ConfigFields): readonly Member[] {
  const { name, datacenter, rack, tokens, seeds } = config;
  return [{ node: name, datacenter, rack, tokens }, ...seeds.filter((seed) => seed.node !== name)];
}

function exposedListeners(config: ConfigFields): readonly Conflict[] {
  if (config.insecure) return [];
  return listeners.flatMap((field) => {
    const address = config[field];
    const missing = field === 'peerListen' ? missingForPeers(config) : missingForClients(config);
    if (address === undefined || isLoopback(address) || missing.length === 0) return [];
    const problem = `${address} can be reached from other machines; set ${missing.join(' and ')}, or, where the network is trusted, set insecure: true`;
    return [{ field, problem }];
  });
}

function missingForClients({ tls, credentials }: ConfigFields): readonly string[] {
  return [
    ...(tls === undefined ? ['tls: {cert, key}'] : []),
    ...(credentials === undefined
      ? ['credentials: FILE (lockstep credentials add FILE NAME --role admin)']
      : []),
  ];
}

function missingForPeers({ peerTls }: ConfigFields): readonly string[] {
  return peerTls === undefined ? ['peer_tls: {cert, key, ca}'] : [];
}

function sharedAddresses(config: ConfigFields): readonly Conflict[] {
  const taken = new Map<string, ConfigField>();
  const conflicts: Conflict[] = [];
  for (const field of listeners) {
    const address = config[field];
    if (address === undefined || splitAddress(address)?.port === 0) continue;
    const other = taken.get(address);
    if (other === undefined) taken.set(address, field);
    else
      conflicts.push({
        field,
        problem: `${address} is the address of ${keyOf(other)} too; addresses must differ`,
      });
  }
  return conflicts;
}

function limitsOutOfOrder(config: ConfigFields): readonly Conflict[] {
  const conflicts: Conflict[] = [];
  const demand = (lesser: ConfigField, greater: ConfigField, least: number, actual: number) => {
    if (actual >= least) return;
    const problem = `${actual} given; allowed: at least ${least}, because of ${keyOf(lesser)}`;
    conflicts.push({ field: greater, problem });
  };
  demand('valueBytesMax', 'frameBytesMax', config.valueBytesMax + frameOverheadBytes, config.frameBytesMax);
  demand('peerBackoffMsMin', 'peerBackoffMsMax', config.peerBackoffMsMin, config.peerBackoffMsMax);
  return conflicts;
}

/**
 * The seeds may list this node itself, so that all nodes can share one list. Such an entry must agree with the keys.
 */
function contradictorySelf(config: ConfigFields): readonly Conflict[] {
  const self = config.seeds.find((seed) => seed.node === config.name);
  if (self === undefined) return [];
  const agrees =
    self.datacenter === config.datacenter &&
    self.rack === config.rack &&
    self.tokens.join() === config.tokens.join();
  if (agrees) return [];
  const problem = `the entry of ${config.name} itself has another datacenter, rack or tokens than the keys of this file`;
  return [{ field: 'seeds', problem }];
}

/**
 * Each address belongs to one node; a second node listed with it would never be reached. The entry of this node itself
 * is exempt: the node may have moved, and tells its peers its new address.
 */
function sharedSeeds(config: ConfigFields): readonly Conflict[] {
  const { name, peerListen, peerAdvertise, seeds } = config;
  const own = peerAdvertise ?? peerListen;
  const reached = splitAddress(own)?.port !== 0 && !isWildcard(own);
  const taken = new Map<string, string>(reached ? [[own, name]] : []);
  const problems = seeds.flatMap(({ node, address }) => {
    const other = taken.get(address);
    if (other === undefined) taken.set(address, node);
    return other === undefined || other === node
      ? []
      : [
          `${node} has the address ${address} of ${other === name ? `${name}, this node` : other}; addresses must differ`,
        ];
  });
  return problems.map((problem) => ({ field: 'seeds', problem }));
}

/** A joining node needs seeds: without them there is no cluster to join and no owner of the ring. */
function loneJoiner({ join, name, seeds }: ConfigFields): readonly Conflict[] {
  if (join !== 'joining' || seeds.some((seed) => seed.node !== name)) return [];
  const problem = 'joining given without seeds; allowed: member, or name nodes of the cluster in seeds';
  return [{ field: 'join', problem }];
}

/** Only a joining node can replace another one. */
function misplacedReplacement({ join, replace, name }: ConfigFields): readonly Conflict[] {
  if (replace === undefined || (join === 'joining' && replace !== name)) return [];
  const given = `${replace} given with join: ${join} to ${name}`;
  const problem = `${given}; allowed: another node's name, with join: joining, or none`;
  return [{ field: 'replace', problem }];
}

/** A node announces its address to its peers; a wildcard address would be useless to them. */
function unreachableListener({ peerListen, peerAdvertise, seeds }: ConfigFields): readonly Conflict[] {
  if (peerAdvertise !== undefined || seeds.length === 0 || !isWildcard(peerListen)) return [];
  const problem = `auto given while peer_listen is ${peerListen}; allowed: an address at which the other nodes reach this one`;
  return [{ field: 'peerAdvertise', problem }];
}

/** Applies the ring's own rules: tokens are distinct within a rack. */
function brokenRing(config: ConfigFields): readonly Conflict[] {
  try {
    new Ring(membersOf(config));
    return [];
  } catch (error) {
    if (!(error instanceof LockstepError)) throw error;
    return [{ field: 'tokens', problem: error.message }];
  }
}
