/**
 * `wrong-identity`: processes that are not members and claim to be, each on a host of its own. Nothing is promised
 * about them; no member may accept one.
 */
import { present } from '../../../engine/base/assert.ts';
import { LockstepError } from '../../../engine/base/errors.ts';
import type { NodeConfig } from '../../../engine/config/config.ts';
import { Node } from '../../../engine/node/node.ts';
import type { PlanNode } from '../../plan/plan-node.ts';
import { configOf } from './node-config.ts';
import { worldCredentials } from './world-credentials.ts';
import type { World } from '../world.ts';

/** What an impostor claims: a member's name, another cluster, a token that has an owner, or a token out of range. */
export type Claim = 'sameName' | 'otherCluster' | 'duplicateToken' | 'hugeToken';

/** One impostor. */
export interface Imposition {
  readonly name: string;
  readonly victim: string;
  readonly claim: Claim;
  /** Code of the error that its start ended with; empty if it started. */
  refused: string;
}

/** The member that an impostor claims to be, or to be beside. */
export interface Victim {
  readonly node: PlanNode;
  readonly config: NodeConfig;
}

/** The impostors of one run. */
export class Impostors {
  readonly #world: World;
  readonly #impositions: Imposition[] = [];

  constructor(world: World) {
    this.#world = world;
  }

  /** Every impostor, and how its start ended. */
  get impositions(): readonly Readonly<Imposition>[] {
    return this.#impositions;
  }

  /** Starts an impostor that lives until `dismiss`, in a cluster of these nodes with these settings. */
  impose(
    id: string,
    victim: Victim,
    claim: Claim,
    nodes: readonly PlanNode[],
    settings: Readonly<Record<string, unknown>>,
  ): void {
    const { node, config } = victim;
    const name = `x-${id}`;
    const imposition: Imposition = { name, victim: node.name, claim, refused: '' };
    this.#impositions.push(imposition);
    const host = this.#world.addHost(name);
    let posed: NodeConfig;
    try {
      posed = configOf({ ...node, name }, nodes, { ...settings, ...claimed(claim, config) });
    } catch (error) {
      imposition.refused = codeOf(error);
      return;
    }
    const io = host.boot();
    io.spawn('impostor', async () => {
      try {
        await Node.start(io, posed, { credentials: worldCredentials });
      } catch (error) {
        imposition.refused = codeOf(error);
      }
    });
  }

  /** Crashes all impostors. */
  dismiss(): void {
    for (const { name } of this.#impositions) {
      const host = this.#world.mustGetHost(name);
      if (host.alive) host.crash('keepAll', 'reset');
    }
  }
}

function claimed(claim: Claim, victim: NodeConfig): Readonly<Record<string, unknown>> {
  switch (claim) {
    case 'sameName':
      return { name: victim.name };
    case 'otherCluster':
      return { cluster_id: 'another' };
    case 'duplicateToken':
      return { join: 'joining', tokens: victim.tokens.slice(0, 1), seeds: seedsOf(victim) };
    case 'hugeToken':
      return { join: 'joining', tokens: [2 ** 32 + present(victim.tokens[0], 'a token')] };
  }
}

/** All seeds but the impostor itself: the configuration check rejects two owners of one token. */
function seedsOf(victim: NodeConfig): readonly object[] {
  return victim.seeds.map(({ node, datacenter, rack, address }) => ({
    name: node,
    datacenter,
    rack,
    address,
  }));
}

/** The code of an error, or its text if it is not a `LockstepError`. */
export function codeOf(error: unknown): string {
  return error instanceof LockstepError ? error.code : String(error);
}
