/**
 * The ring as the table of members has it, and what is about to become of it. Who is in the cluster owns its tokens,
 * unless it is joining (it owns nothing yet) or has left. Whether an owner is there does not matter to who owns what.
 *
 * A member that joins or leaves moves in two steps that all members follow, so that a node which knows one step less
 * still meets every acknowledged write (source: Apache Cassandra, CEP-21 "Transactional Cluster Metadata"):
 *
 *                  joining (or replacing)      leaving
 *     copying      reads before, writes both   the same
 *     switching    reads after, writes both    the same
 *     done         NORMAL: reads, writes after left
 *
 * `ring` is who is read; `pending` who is written to besides: the owners on the other side of each move.
 *
 * Invariant: a member whose place has not changed is the same object in every ring, so that rounds under way can
 * compare members across a change; the same records make the same `view` on every node.
 */
import { crc32 } from '../../base/checksum.ts';
import type { NodeId, Token } from '../../base/ids.ts';
import type { Member } from '../ring/ring.ts';
import { Ring } from '../ring/ring.ts';
import { tokenOf } from '../ring/token.ts';
import type { MemberRecord } from '../membership/member-record.ts';
import type { MemberTable } from '../membership/table.ts';

const nobody: readonly Member[] = [];

export class Ownership {
  readonly #table: MemberTable;
  readonly #members = new Map<NodeId, Member>();
  #ring: Ring;
  /** Per move under way, the ring on its other side. */
  #others: readonly Ring[] = [];
  /** Those of them that were read before this one. */
  #former: readonly Ring[] = [];
  /** Their primaries of tokens that have another one now; undefined: not asked for since the rings changed. */
  #handingOver: readonly Member[] | undefined;
  #view = '';

  /** `self` is this node as a member. Throws `ConfigInvalid` when the table's members make no ring. */
  constructor(self: Member, table: MemberTable) {
    this.#table = table;
    this.#members.set(self.node, self);
    this.#ring = new Ring(this.#readers());
    this.refresh();
  }

  get ring(): Ring {
    return this.#ring;
  }

  /** A fingerprint of who is read and written: two nodes with the same one route alike. */
  get view(): string {
    return this.#view;
  }

  /** Who is written to beside the token's placement. */
  pending(token: Token): readonly Member[] {
    if (this.#others.length === 0) return nobody;
    const placement = this.#ring.placement(token);
    const pending: Member[] = [];
    for (const ring of this.#others) {
      for (const member of ring.placement(token)) {
        if (!placement.includes(member) && !pending.includes(member)) pending.push(member);
      }
    }
    return pending;
  }

  /** Who were the token's primaries until a moment ago, by a ring that some may still go by. */
  formerPrimaries(token: Token): readonly Member[] {
    if (this.#former.length === 0) return nobody;
    const [primary] = this.#ring.placement(token);
    const former = this.#former.flatMap((ring) => ring.placement(token).slice(0, 1));
    return former.filter((member) => member !== primary);
  }

  /** The members that were the primary of some token until a moment ago, by a ring that some may still go by. */
  get handingOver(): readonly Member[] {
    this.#handingOver ??= this.#former.flatMap((former) => primariesThatChange(former, this.#ring));
    return this.#handingOver;
  }

  /** The members of each ring that was read before this one and that some may still go by. */
  get former(): readonly (readonly Member[])[] {
    return this.#former.map(({ members }) => members);
  }

  /** A member, also one on its way in or out, or gone; undefined for a stranger. */
  member(node: NodeId): Member | undefined {
    return this.#members.get(node);
  }

  /** Makes the rings anew; whether anything changed. */
  refresh(): boolean {
    const readers = this.#readers();
    // A ring without owners would be no ring: the last owner cannot leave.
    if (readers.length === 0) return false;
    const moving = this.#records().filter(isMoving);
    const view = fingerprint([...readers.map(describeOwner), ...moving.map(describeMove)]);
    if (view === this.#view) return false;
    this.#view = view;
    if (!isRingOf(this.#ring, readers)) this.#ring = new Ring(readers);
    const switching = moving.filter(({ move }) => move === 'switching');
    this.#former = switching.flatMap((record) => this.#otherSide(readers, record));
    this.#handingOver = undefined;
    // A replacement takes over what the dead node was to hand over to a member that is switching.
    const replacing = moving.filter(({ state, replaces }) => state === 'JOINING' && replaces !== undefined);
    this.#others = [
      ...moving.flatMap((record) => this.#otherSide(readers, record)),
      ...replacing.flatMap((record) =>
        this.#former.flatMap(({ members }) => this.#otherSide(members, record)),
      ),
    ];
    return true;
  }

  #records(): readonly MemberRecord[] {
    return [this.#table.self, ...this.#table.peers()].filter(({ left }) => !left);
  }

  #readers(): readonly Member[] {
    const owners = this.#records().filter((record) => owns(record) && !this.#table.isSuperseded(record));
    return owners.map((record) => this.#memberOf(record));
  }

  /** The readers as they are before, or will be after, this member's move. */
  #otherSide(readers: readonly Member[], record: MemberRecord): readonly Ring[] {
    const member = this.#memberOf(record);
    // One that leaves has long taken over what it once came for.
    const replaces = record.state === 'LEAVING' ? undefined : record.replaces;
    const others = readers.filter((one) => one !== member && one.node !== replaces);
    if (!readers.includes(member)) return [new Ring([...others, member])];
    // Once a replacement is read, the dead node that it replaced is written to no more.
    const alone = others.length === 0 || replaces !== undefined;
    return alone ? [] : [new Ring(others)];
  }

  #memberOf(record: MemberRecord): Member {
    const { node, datacenter, rack, tokens } = record;
    const known = this.#members.get(node);
    if (known?.datacenter === datacenter && known.rack === rack && isSame(known.tokens, tokens)) return known;
    const member = { node, datacenter, rack, tokens };
    this.#members.set(node, member);
    return member;
  }
}

/** The primaries of tokens by the one ring that have another primary by the other. */
function primariesThatChange(before: Ring, now: Ring): readonly Member[] {
  const changed = new Set<Member>();
  const rings = [before, now];
  // A placement turns with the token itself: between two bounds lie tokens of every rotation.
  const bounds = new Set(rings.flatMap(({ members }) => members.flatMap(({ tokens }) => tokens)));
  for (const bound of bounds) {
    const owners = rings.map((ring) => ring.placement(bound));
    const [had = [], has = []] = owners;
    for (const member of had) if (!has.includes(member)) changed.add(member);
    // A rack that comes or goes turns every placement.
    if (had.length !== has.length) for (const member of had) changed.add(member);
  }
  return [...changed];
}

/** It has these very members: a ring never changes, and a member whose place has not changed is the same object. */
function isRingOf(ring: Ring, members: readonly Member[]): boolean {
  return ring.members.length === members.length && members.every((member) => ring.members.includes(member));
}

function isSame<T>(left: readonly T[], right: readonly T[]): boolean {
  if (left === right) return true;
  return left.length === right.length && left.every((item, index) => item === right[index]);
}

/** It is one of those between whom the ring is changing. */
export function isMoving({ left, move }: MemberRecord): boolean {
  return !left && (move === 'copying' || move === 'switching');
}

function owns({ state, move }: MemberRecord): boolean {
  return state !== 'JOINING' && !(state === 'LEAVING' && move === 'switching');
}

function describeOwner({ node, datacenter, rack, tokens }: Member): string {
  return [node, datacenter, rack, tokens.join()].join(' ');
}

function describeMove(record: MemberRecord): string {
  const { state, move, replaces = '' } = record;
  return [describeOwner(record), state, move, replaces].join(' ');
}

/** 64 bits in hex. */
function fingerprint(lines: readonly string[]): string {
  const bytes = Buffer.from(lines.toSorted().join('\n'));
  return [crc32(bytes), tokenOf(bytes)].map((half) => half.toString(16).padStart(8, '0')).join('');
}
