/** The settings of membership, and the records that follow from them before any peer was heard. */
import type { NodeId } from '../../base/ids.ts';
import type { Address } from '../../io/network.ts';
import type { Member } from '../ring/ring.ts';
import type { DetectorOptions } from './detector.ts';
import type { GossipOptions } from './gossip.ts';
import type { MemberFile } from './member-file.ts';
import type { MoveStage } from './states.ts';
import type { MemberRecord } from './member-record.ts';

/** What the configuration says of this node and its seeds. */
export interface MembershipSettings {
  readonly self: Member;
  /** Where other nodes reach this one, as far as that is known before it listens. */
  readonly address: Address;
  /** The random id of this incarnation, in hexadecimal. */
  readonly epoch: string;
  /** The node joins: it owns nothing yet. */
  readonly joining: boolean;
  /** The dead node of its rack whose tokens it takes over; undefined for none. */
  readonly replaces: NodeId | undefined;
  /** The other nodes in the configuration. */
  readonly seeds: readonly (Member & { readonly address: Address })[];
  readonly gossip: GossipOptions;
  readonly detector: DetectorOptions;
}

/**
 * This node's record at the start. A node that has joined, was joining, or was leaving, in an earlier incarnation
 * continues from there, whatever its configuration says: one whose join is not over holds a part of its keys only, and
 * would be taken for an owner of all. A node that has left continues to report that.
 */
export function ownRecord(
  settings: MembershipSettings,
  generation: number,
  file: Pick<MemberFile, 'remembered'>,
): MemberRecord {
  const { self, address, epoch, joining, replaces } = settings;
  const before = file.remembered.find(({ node }) => node === self.node);
  const member = before !== undefined && before.state !== 'JOINING';
  const joins = joining || before?.state === 'JOINING';
  const state = member ? before.state : joins ? 'JOINING' : 'NORMAL';
  const fresh: MoveStage = state === 'JOINING' ? 'queued' : 'none';
  const move = member ? before.move : fresh;
  const left = before?.left ?? false;
  const life = { generation, version: 1, epoch, left, away: false, address };
  const joined = before?.joined ?? (state === 'JOINING' ? generation : undefined);
  return { ...self, ...life, state, move, joined, replaces, supersedes: before?.supersedes };
}

/** The record of a configured node that was not heard yet: generation 0. */
export function expectedRecord(seed: Member & { readonly address: Address }): MemberRecord {
  const { node, datacenter, rack, tokens, address } = seed;
  const place = { node, datacenter, rack, tokens, address };
  const unheard = { generation: 0, version: 0, epoch: '', left: false, away: false } as const;
  const member = { joined: undefined, replaces: undefined, supersedes: undefined };
  return { ...place, ...unheard, state: 'NORMAL', move: 'none', ...member };
}

/**
 * The record of the dead member whose place this node is to take; it owns its part until then. If the other nodes know
 * the dead one by their configurations alone, gossip does not report it. Its rack and tokens are those that this node
 * takes over. Undefined if this node replaces none, or has done so. No link goes to it, so it has this node's address.
 */
export function replacedRecord(
  { self, address }: MembershipSettings,
  { replaces, state }: MemberRecord,
): MemberRecord | undefined {
  if (replaces === undefined || state !== 'JOINING') return undefined;
  return expectedRecord({ ...self, node: replaces, address });
}

/** Numbers the configured members by name, so that nodes with the same configuration number them alike. */
export function numbered(members: readonly Member[]): Map<NodeId, number> {
  const names = members.map((member) => member.node).sort((left, right) => (left < right ? -1 : 1));
  return new Map(names.map((name, index) => [name, index]));
}
