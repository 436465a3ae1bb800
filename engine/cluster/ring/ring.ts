/**
 * Where a key's replicas are: datacenters hold racks, racks hold nodes, and every rack holds one full copy of the token
 * ring (Dynomite's model). In its rack a node owns the arcs that end at its tokens, so a key has one replica per rack.
 *
 * Invariants: a ring is immutable; membership changes make a new one. The same members give the same placement on every
 * node, in whatever order they are listed. A rack's tokens are distinct.
 */
import { assert, failAssertion, present } from '../../base/assert.ts';
import { LockstepError } from '../../base/errors.ts';
import type { NodeId, Token } from '../../base/ids.ts';
import { distance } from './arc.ts';

/** A node in the ring. */
export interface Member {
  readonly node: NodeId;
  readonly datacenter: string;
  readonly rack: string;
  /** Ascending and distinct. */
  readonly tokens: readonly Token[];
}

/** The replicas of a key, one per rack, in order of preference. The first is the key's primary. */
export type Placement = readonly Member[];

/** One rack's ring: `owners[i]` owns the arc that ends at `tokens[i]`. */
interface RackRing {
  readonly datacenter: string;
  readonly rack: string;
  readonly tokens: readonly Token[];
  readonly owners: readonly Member[];
}

/** An immutable ring. */
export class Ring {
  readonly members: readonly Member[];
  /** Datacenter names, sorted. */
  readonly datacenters: readonly string[];
  readonly #racks: readonly RackRing[];
  /** All tokens of all racks, ascending: between two of them no placement changes but by rotation. */
  readonly #bounds: readonly Token[];
  /** Placements by (bound, rotation), computed on demand. */
  readonly #placements: (Placement | undefined)[] = [];
  readonly #rackCounts = new Map<string, number>();
  /** Computed on first use. */
  #spans: ReadonlyMap<NodeId, number> | undefined;

  /**
   * Throws `ConfigInvalid` without members, or if a name, or a token within a rack, appears twice. Every member needs a
   * token.
   */
  constructor(members: readonly Member[]) {
    this.members = members.toSorted((left, right) => compareText(left.node, right.node));
    checkMembers(this.members);
    this.#racks = rackRings(this.members);
    this.#bounds = [...new Set(this.#racks.flatMap((rack) => rack.tokens))].sort(
      (left, right) => left - right,
    );
    this.datacenters = [...new Set(this.#racks.map((rack) => rack.datacenter))];
    for (const rack of this.#racks) {
      this.#rackCounts.set(rack.datacenter, this.rackCount(rack.datacenter) + 1);
    }
  }

  /** How many racks a datacenter has, which is how many copies it holds. */
  rackCount(datacenter: string): number {
    return this.#rackCounts.get(datacenter) ?? 0;
  }

  /** The replicas of the keys at `token`: racks in name order, rotated by the token so that primaries spread. */
  placement(token: Token): Placement {
    const bound = firstAtLeast(this.#bounds, token);
    const rotation = token % this.#racks.length;
    const slot = bound * this.#racks.length + rotation;
    return (this.#placements[slot] ??= this.#place(present(this.#bounds[bound], 'a ring bound'), rotation));
  }

  /** How many of the 2^32 tokens the member owns in its rack; 0 for an unknown node. */
  spanOf(node: NodeId): number {
    this.#spans ??= spansOf(this.#racks);
    return this.#spans.get(node) ?? 0;
  }

  /** The first token after `token` at which a placement may change; `token` itself if the ring has only that one. */
  boundAfter(token: Token): Token {
    const next = ((token + 1) >>> 0) as Token;
    return present(this.#bounds[firstAtLeast(this.#bounds, next)], 'a ring bound');
  }

  /**
   * The last token of the arcs after `token` that have the same replicas as the first of them; `token` itself if all
   * tokens of the ring do.
   */
  sharedBoundAfter(token: Token): Token {
    const first = this.boundAfter(token);
    const replicas = new Set(this.placement(first));
    let last = first;
    for (;;) {
      const next = this.boundAfter(last);
      if (next === first) return token;
      if (!this.placement(next).every((member) => replicas.has(member))) return last;
      last = next;
    }
  }

  /** The member with that name; undefined for an unknown node. */
  member(node: NodeId): Member | undefined {
    return this.members.find((member) => member.node === node);
  }

  /** The ring as text, for people and golden tests: a line per rack with its members and their token counts. */
  describe(): string {
    return this.#racks
      .map(({ datacenter, rack, owners }) => {
        const names = [...new Set(owners)].map((member) => `${member.node}(${member.tokens.length})`);
        return `${datacenter}/${rack}: ${names.sort(compareText).join(' ')}`;
      })
      .join('\n');
  }

  #place(token: Token, rotation: number): Placement {
    const racks = [...this.#racks.slice(rotation), ...this.#racks.slice(0, rotation)];
    const placement = racks.map((rack) => present(rack.owners[firstAtLeast(rack.tokens, token)], 'an owner'));
    const nodes = new Set(placement.map(({ node }) => node));
    if (nodes.size !== this.#racks.length)
      failAssertion('a key has one replica in each rack', token, nodes.size, this.#racks.length);
    return placement;
  }
}

/** Number of tokens. */
const ringTokens = 2 ** 32;

/** Index of the first token at or after `token`, wrapping to 0: a node owns the arc that ends at its token. */
function firstAtLeast(tokens: readonly Token[], token: Token): number {
  let low = 0;
  let high = tokens.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (present(tokens[middle], 'a token') < token) low = middle + 1;
    else high = middle;
  }
  return low === tokens.length ? 0 : low;
}

function spansOf(racks: readonly RackRing[]): ReadonlyMap<NodeId, number> {
  const spans = new Map<NodeId, number>();
  for (const { rack, tokens, owners } of racks) {
    let before = tokens.at(-1) ?? (0 as Token);
    let total = 0;
    tokens.forEach((token, index) => {
      const { node } = present(owners[index], 'an owner');
      // A rack's only token owns the whole ring.
      const span = distance(before, token);
      if (span <= 0) failAssertion('every arc has tokens', rack, before, token);
      spans.set(node, (spans.get(node) ?? 0) + span);
      total += span;
      before = token;
    });
    if (total !== ringTokens) failAssertion('the arcs of a rack cover the ring once', rack, total);
  }
  return spans;
}

function rackRings(members: readonly Member[]): readonly RackRing[] {
  const racks = new Map<string, Member[]>();
  for (const member of members) {
    const name = JSON.stringify([member.datacenter, member.rack]);
    const inRack = racks.get(name);
    if (inRack === undefined) racks.set(name, [member]);
    else inRack.push(member);
  }
  return [...racks.values()].map(rackRing).sort(compareRacks);
}

function rackRing(members: readonly Member[]): RackRing {
  const arcs = members.flatMap((member) => member.tokens.map((token) => ({ token, member })));
  arcs.sort((left, right) => left.token - right.token);
  arcs.forEach(({ token, member }, index) => {
    const before = arcs[index - 1];
    if (before?.token !== token) return;
    const names = `${before.member.node} and ${member.node}`;
    throw new LockstepError(
      'ConfigInvalid',
      `the nodes ${names} of rack ${member.datacenter}/${member.rack} both have the token ${token}; tokens must be distinct in a rack`,
    );
  });
  const first = present(members[0], 'a rack member');
  for (const { node, datacenter, rack } of members)
    if (datacenter !== first.datacenter || rack !== first.rack)
      failAssertion('a rack has the members of one rack', node, datacenter, rack);
  return {
    datacenter: first.datacenter,
    rack: first.rack,
    tokens: arcs.map((arc) => arc.token),
    owners: arcs.map((arc) => arc.member),
  };
}

function checkMembers(members: readonly Member[]): void {
  if (members.length === 0) throw new LockstepError('ConfigInvalid', 'a ring needs at least one node');
  members.forEach((member, index) => {
    if (members[index - 1]?.node === member.node) {
      throw new LockstepError(
        'ConfigInvalid',
        `the node name ${member.node} is given twice; names must be unique`,
      );
    }
    assert(member.tokens.length > 0, `${member.node} has no tokens`);
  });
}

function compareRacks(left: RackRing, right: RackRing): number {
  return compareText(left.datacenter, right.datacenter) || compareText(left.rack, right.rack);
}

function compareText(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0;
}
