/**
 * The members' records, and how two of them compare. Pure.
 *
 * Only its own node writes a record. Records are ordered by (generation, version). A membership is told from an earlier
 * one of the same name by the incarnation in which it began (`joined`).
 */
import type { NodeId, Token } from '../../base/ids.ts';
import type { Address } from '../../io/network.ts';
import type { DigestEntry } from './gossip-progress.ts';
import type { DeclaredState, MoveStage } from './states.ts';

/** What a node states of itself. */
export interface MemberRecord {
  readonly node: NodeId;
  /** The incarnation number. */
  readonly generation: number;
  /** The heartbeat within the incarnation. */
  readonly version: number;
  /** The random id of this incarnation, in hexadecimal: tells two processes with one name and generation apart. */
  readonly epoch: string;
  readonly state: DeclaredState;
  /** How far the node's ring change is (cluster/view/ownership.ts). */
  readonly move: MoveStage;
  /**
   * The incarnation number in which the node began to join. It tells this membership from earlier ones of the same
   * name. Undefined for the first members.
   */
  readonly joined: number | undefined;
  /** The dead node of its rack whose tokens it takes over; undefined for none. */
  readonly replaces: NodeId | undefined;
  /**
   * The `joined` of the membership that the replacement ends: from a later membership of that name it takes over
   * nothing.
   */
  readonly supersedes: number | undefined;
  /** The node has left for good. Its record is kept so that old gossip cannot bring it back. */
  readonly left: boolean;
  /** The node has announced that it stops: it is DOWN until its next incarnation. */
  readonly away: boolean;
  readonly address: Address;
  readonly datacenter: string;
  readonly rack: string;
  /** Ascending and distinct. */
  readonly tokens: readonly Token[];
}

/** A node's claim to a location and to tokens, from its record or its greeting. */
export type Place = Pick<MemberRecord, 'node' | 'datacenter' | 'rack' | 'tokens'> & {
  readonly left?: boolean;
  readonly joined?: number | undefined;
  readonly replaces?: NodeId | undefined;
  readonly state?: DeclaredState;
  /** From a greeting, which states nothing else of its state. */
  readonly joining?: boolean;
};

/** The nodes that claim each token, by location, without those that have left. */
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

/** A datacenter and rack as one key. */
export function placeName(datacenter: string, rack: string): string {
  return JSON.stringify([datacenter, rack]);
}

/** True if `left` is newer than `right` by (generation, version). */
export function isNewer(left: DigestEntry, right: DigestEntry): boolean {
  if (left.generation !== right.generation) return left.generation > right.generation;
  return left.version > right.version;
}

/** True if a membership with `joined` began after the other one. */
export function isLater(joined: number | undefined, other: number | undefined): boolean {
  return (joined ?? 0) > (other ?? 0);
}

/**
 * True if `replacement` has taken over what `other` owned, or what `other` was still to take over from the same dead
 * node.
 */
export function hasOusted(replacement: MemberRecord, other: MemberRecord): boolean {
  if (replacement.replaces === undefined || replacement.state === 'JOINING') return false;
  if (replacement.replaces === other.node) return !isLater(other.joined, replacement.supersedes);
  const tooLate =
    other.replaces === replacement.replaces && other.state === 'JOINING' && other.move === 'copying';
  return tooLate && !isLater(other.supersedes, replacement.supersedes);
}

/** True if two processes claim one incarnation number. */
export function isTwin(left: MemberRecord, right: MemberRecord): boolean {
  return left.generation === right.generation && left.epoch !== right.epoch;
}

/** True if both records have the same location, tokens and ring-change step. */
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

/** True if both lists are equal. */
export function sameTokens(left: readonly Token[], right: readonly Token[]): boolean {
  if (left === right) return true;
  return left.length === right.length && left.every((token, index) => token === right[index]);
}
