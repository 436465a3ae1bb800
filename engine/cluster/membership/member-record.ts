/**
 * What members say of themselves, and what two such words have to do with each other. Pure.
 *
 * A record is written by its node alone and ordered by (generation, version); a membership is told from an earlier one of
 * the same name by the life in which it began.
 */
import type { NodeId, Token } from '../../base/ids.ts';
import type { Address } from '../../io/network.ts';
import type { DigestEntry } from './gossip-progress.ts';
import type { DeclaredState, MoveStage } from './states.ts';

/** A node's word of itself. */
export interface MemberRecord {
  readonly node: NodeId;
  readonly generation: number;
  readonly version: number;
  /** The random epoch of this life, in hex: tells two processes that claim one name and generation apart. */
  readonly epoch: string;
  readonly state: DeclaredState;
  /** How far its joining or leaving is (engine/cluster/view/ownership.ts). */
  readonly move: MoveStage;
  /**
   * The life (generation) in which it began to join, which tells its membership from earlier ones of the same name;
   * undefined: it is one of the first members.
   */
  readonly joined: number | undefined;
  /** The dead node of its rack whose tokens it takes over; undefined for none. */
  readonly replaces: NodeId | undefined;
  /** `joined` of the membership that ends with that: of a later one of that name nothing is taken over. */
  readonly supersedes: number | undefined;
  /** It has left for good: remembered so that old gossip cannot bring it back. */
  readonly left: boolean;
  /** It has announced that it stops: it is DOWN until its next life. */
  readonly away: boolean;
  readonly address: Address;
  readonly datacenter: string;
  readonly rack: string;
  /** Ascending and distinct. */
  readonly tokens: readonly Token[];
}

/** Where a node stands and what it owns there, as it says. */
export type Place = Pick<MemberRecord, 'node' | 'datacenter' | 'rack' | 'tokens'> & {
  readonly left?: boolean;
  readonly joined?: number | undefined;
  readonly replaces?: NodeId | undefined;
  readonly state?: DeclaredState;
  /** Said in a greeting, which says nothing else of its state. */
  readonly joining?: boolean;
};

/** Who has which token, by place, without those that have left. */
export function takersOf(records: readonly MemberRecord[]): Map<string, Map<Token, NodeId[]>> {
  const places = new Map<string, Map<Token, NodeId[]>>();
  for (const { node, datacenter, rack, tokens, left } of records) {
    if (left) continue;
    const name = placeName(datacenter, rack);
    const takers = places.get(name) ?? new Map<Token, NodeId[]>();
    places.set(name, takers);
    for (const token of tokens) takers.set(token, [...(takers.get(token) ?? []), node]);
  }
  return places;
}

export function placeName(datacenter: string, rack: string): string {
  return JSON.stringify([datacenter, rack]);
}

export function isNewer(left: DigestEntry, right: DigestEntry): boolean {
  if (left.generation !== right.generation) return left.generation > right.generation;
  return left.version > right.version;
}

/** A membership that began in the one life of a name began after the one of the other. */
export function isLater(joined: number | undefined, other: number | undefined): boolean {
  return (joined ?? 0) > (other ?? 0);
}

/** The one has taken over what the other owned, or what that one was still to take over from the same dead node. */
export function hasOusted(heir: MemberRecord, other: MemberRecord): boolean {
  if (heir.replaces === undefined || heir.state === 'JOINING') return false;
  if (heir.replaces === other.node) return !isLater(other.joined, heir.supersedes);
  const tooLate = other.replaces === heir.replaces && other.state === 'JOINING' && other.move === 'copying';
  return tooLate && !isLater(other.supersedes, heir.supersedes);
}

/** Two processes that claim one life. */
export function isTwin(left: MemberRecord, right: MemberRecord): boolean {
  return left.generation === right.generation && left.epoch !== right.epoch;
}

export function samePlace(left: MemberRecord, right: MemberRecord): boolean {
  return (
    left.datacenter === right.datacenter &&
    left.rack === right.rack &&
    left.left === right.left &&
    left.state === right.state &&
    left.move === right.move &&
    left.joined === right.joined &&
    left.replaces === right.replaces &&
    left.supersedes === right.supersedes &&
    sameTokens(left.tokens, right.tokens)
  );
}

export function sameTokens(left: readonly Token[], right: readonly Token[]): boolean {
  if (left === right) return true;
  return left.length === right.length && left.every((token, index) => token === right[index]);
}
