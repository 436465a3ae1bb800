/** The keys of a plan, as clients name them and as the cluster places them. */
import type { Token } from '../../engine/base/ids.ts';
import { byteStringOf } from '../../engine/base/ids.ts';
import type { Ring } from '../../engine/cluster/ring/ring.ts';
import { routeToken, tokenOf } from '../../engine/cluster/ring/token.ts';
import type { Plan } from '../plan/plan.ts';
import { keyOf } from '../plan/plan.ts';
import { routeBytesOf } from './work-modules.ts';
import { bucketNeeds, demandingType } from '../plan/bucket-needs.ts';
import { hasModules, routedType, siblingsType } from '../world/cluster/node-config.ts';
import type { ClientKey } from './client.ts';

/** The key of a number, for clients of a datacenter. `later`: nodes that may hold copies besides the key's replicas. */
function clientKey(
  plan: Plan,
  ring: Ring,
  number: number,
  datacenter: string,
  later: ReadonlyMap<string, readonly string[]>,
): ClientKey {
  const { bucket, key, siblings } = keyOf(plan, number);
  const routed = !siblings && hasModules(plan.settings);
  const token = routed
    ? tokenOf(routeBytesOf(Buffer.from(key)))
    : routeToken('STD', byteStringOf(bucket), byteStringOf(key));
  const plainType = plan.settings[bucketNeeds] === undefined ? 'default' : demandingType;
  const replicas = replicasIn(ring, token, datacenter);
  const holdersIn = (place: string): readonly string[] => [
    ...new Set([...replicasIn(ring, token, place), ...(later.get(place) ?? [])]),
  ];
  return {
    name: `${bucket}/${key}`,
    siblings,
    place: {
      type: Buffer.from(siblings ? siblingsType : routed ? routedType : plainType),
      bucket: Buffer.from(bucket),
      key: Buffer.from(key),
    },
    replicas,
    holders: holdersIn(datacenter),
    far: ring.datacenters
      .filter((other) => other !== datacenter)
      .map((place) => ({
        datacenter: place,
        copies: replicasIn(ring, token, place).length,
        holders: holdersIn(place),
      })),
  };
}

/**
 * A loop rather than closures: code that V8 optimised for a closure is lost with it at the end of a run, and compiled
 * again in the next.
 */
function replicasIn(ring: Ring, token: Token, datacenter: string): readonly string[] {
  const replicas: string[] = [];
  for (const member of ring.placement(token)) {
    if (member.datacenter === datacenter) replicas.push(member.node);
  }
  return replicas;
}

/** The keys of a plan as clients of each datacenter see them; all clients of a datacenter share one list. */
export class ClientKeys {
  readonly #plan: Plan;
  readonly #ring: Ring;
  readonly #lists = new Map<string, readonly ClientKey[]>();

  constructor(plan: Plan, ring: Ring) {
    this.#plan = plan;
    this.#ring = ring;
  }

  of(datacenter: string): readonly ClientKey[] {
    const known = this.#lists.get(datacenter);
    if (known !== undefined) return known;
    const later = laterByDatacenter(this.#plan);
    const keys = Array.from({ length: this.#plan.keys }, (_, key) =>
      clientKey(this.#plan, this.#ring, key, datacenter, later),
    );
    this.#lists.set(datacenter, keys);
    return keys;
  }
}

function laterByDatacenter(plan: Plan): ReadonlyMap<string, readonly string[]> {
  const places = new Map(plan.nodes.map(({ name, datacenter }) => [name, datacenter]));
  const later = new Map<string, string[]>();
  for (const name of laterHoldersIn(plan)) {
    const datacenter = places.get(name) ?? '';
    later.set(datacenter, [...(later.get(datacenter) ?? []), name]);
  }
  return later;
}

/** Nodes that may hold copies besides a key's replicas, because they join, leave or die. */
export function laterHoldersIn({ nodes, faults }: Plan): readonly string[] {
  const spares = nodes.filter((node) => node.spare === true).map((node) => node.name);
  const replacements = faults.some(({ kind }) => kind === 'membership-change')
    ? nodes.map((node) => node.name)
    : [];
  return [...spares, ...replacements];
}
