/** What membership is told at the start, and what it says of this node and the configured ones before it hears of anybody. */
import type { NodeId } from '../../base/ids.ts';
import type { Address } from '../../io/network.ts';
import type { Member } from '../ring/ring.ts';
import type { DetectorOptions } from './detector.ts';
import type { GossipOptions } from './gossip.ts';
import type { MemberFile } from './member-file.ts';
import type { MoveStage } from './states.ts';
import type { MemberRecord } from './member-record.ts';

export interface MembershipSettings {
  readonly self: Member;
  /** Where other nodes reach this one, as far as that is known before it listens. */
  readonly address: Address;
  /** Random name of this life, in hex. */
  readonly epoch: string;
  /** It owns nothing yet. */
  readonly joining: boolean;
  /** The dead node of its rack whose tokens it takes over. */
  readonly replaces: NodeId | undefined;
  /** The other nodes that the configuration knows. */
  readonly seeds: readonly (Member & { readonly address: Address })[];
  readonly gossip: GossipOptions;
  readonly detector: DetectorOptions;
}

/**
 * A node that has joined, or was leaving, in an earlier life goes on from there, whatever its configuration says; one that
 * has left goes on telling that.
 */
export function ownRecord(
  settings: MembershipSettings,
  generation: number,
  file: Pick<MemberFile, 'remembered'>,
): MemberRecord {
  const { self, address, epoch, joining, replaces } = settings;
  const before = file.remembered.find(({ node }) => node === self.node);
  const member = before !== undefined && before.state !== 'JOINING';
  const state = member ? before.state : joining ? 'JOINING' : 'NORMAL';
  const fresh: MoveStage = state === 'JOINING' ? 'queued' : 'none';
  const move = member ? before.move : fresh;
  const left = before?.left ?? false;
  const life = { generation, version: 1, epoch, left, away: false, address };
  const joined = before?.joined ?? (state === 'JOINING' ? generation : undefined);
  return { ...self, ...life, state, move, joined, replaces, supersedes: before?.supersedes };
}

/** What the configuration says of a node that has said nothing yet. */
export function expectedRecord(seed: Member & { readonly address: Address }): MemberRecord {
  const { node, datacenter, rack, tokens, address } = seed;
  const place = { node, datacenter, rack, tokens, address };
  const unheard = { generation: 0, version: 0, epoch: '', left: false, away: false } as const;
  const member = { joined: undefined, replaces: undefined, supersedes: undefined };
  return { ...place, ...unheard, state: 'NORMAL', move: 'none', ...member };
}

/**
 * The dead member whose place this node is to take: it owns its part until then. Where the others know it by their
 * configurations alone they tell nothing of it; this node knows that it stands where itself will stand. `undefined`: there
 * is none, or none any more. Nobody asks it anything, so it has no address of its own.
 */
export function replacedRecord(
  { self, address }: MembershipSettings,
  { replaces, state }: MemberRecord,
): MemberRecord | undefined {
  if (replaces === undefined || state !== 'JOINING') return undefined;
  return expectedRecord({ ...self, node: replaces, address });
}

/** Numbers the configured members by their names in order, the same on every node that is configured alike. */
export function numbered(members: readonly Member[]): Map<NodeId, number> {
  const names = members.map((member) => member.node).sort((left, right) => (left < right ? -1 : 1));
  return new Map(names.map((name, index) => [name, index]));
}
