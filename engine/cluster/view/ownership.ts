/**
 * Computes which member owns which tokens: the ring of the member table, and the rings before and after each ring change
 * under way. A member owns its tokens unless it is joining (then it owns nothing yet) or has left. Reachability does not
 * matter for ownership.
 *
 * A ring change has two steps that all members follow, so that a node which is one step behind still meets every
 * acknowledged write (source: Apache Cassandra, CEP-21 "Transactional Cluster Metadata"):
 *
 *                  joining (or replacing)      leaving
 *     copying      reads before, writes both   the same
 *     switching    reads after, writes both    the same
 *     done         NORMAL: reads, writes after left
 *
 * Reads go to `ring`. Writes also go to `pending`: the owners on the other side of each ring change.
 *
 * Invariants: a member whose place has not changed is the same object in every ring, so that rounds under way can
 * compare members across a change. The same records give the same `view` on every node.
 */
import { failAssertion } from '../../base/assert.ts';
import { crc32 } from '../../base/checksum.ts';
import type { NodeId, Token } from '../../base/ids.ts';
import type { Member } from '../ring/ring.ts';
import { Ring } from '../ring/ring.ts';
import { tokenOf } from '../ring/token.ts';
import type { MemberRecord } from '../membership/member-record.ts';
import type { MemberTable } from '../membership/table.ts';

const nobody: readonly Member[] = [];

/** The rings that follow from one node's member table. */
export class Ownership {
  readonly #table: MemberTable;
  readonly #members = new Map<NodeId, Member>();
  #ring: Ring;
  /** For each ring change under way, the ring on its other side. */
  #others: readonly Ring[] = [];
  /** The rings among them that were read before the current one. */
  #former: readonly Ring[] = [];
  /** Former primaries of tokens that have another primary now; undefined if not computed since the rings changed. */
  #handingOver: readonly Member[] | undefined;
  #view = '';

  /** `self`: this node as a member. Throws `ConfigInvalid` if the table's members form no ring. */
  constructor(self: Member, table: MemberTable) {
    this.#table = table;
    this.#members.set(self.node, self);
    this.#ring = new Ring(this.#readers());
    this.refresh();
  }

  /** The ring that reads go by. */
  get ring(): Ring {
    return this.#ring;
  }

  /** The fingerprint of who is read and written, 16 hexadecimal digits: nodes with the same view route alike. */
  get view(): string {
    return this.#view;
  }

  /** The members that writes go to, beside the token's placement. */
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

  /** Former primaries of the token, by a ring that some nodes may still use. */
  formerPrimaries(token: Token): readonly Member[] {
    if (this.#former.length === 0) return nobody;
    const [primary] = this.#ring.placement(token);
    const former = this.#former.flatMap((ring) => ring.placement(token).slice(0, 1));
    return former.filter((member) => member !== primary);
  }

  /** Members that were the primary of some token by a ring that some nodes may still use. */
  get handingOver(): readonly Member[] {
    this.#handingOver ??= this.#former.flatMap((former) => primariesThatChange(former, this.#ring));
    return this.#handingOver;
  }

  /** For each ring change under way, the ring on its other side. The same array for as long as no ring changes. */
  get otherRings(): readonly Ring[] {
    return this.#others;
  }

  /** The members of each ring that was read before this one and that some nodes may still use. */
  get former(): readonly (readonly Member[])[] {
    return this.#former.map(({ members }) => members);
  }

  /** The member, including one that joins, leaves or has left. Undefined for an unknown node. */
  member(node: NodeId): Member | undefined {
    return this.#members.get(node);
  }

  /** Recomputes the rings from the table. Returns true if they changed. */
  refresh(): boolean {
    const readers = this.#readers();
    // Without owners there is no ring: the last owner cannot leave.
    if (readers.length === 0) return false;
    const moving = this.#records().filter(isMoving);
    const view = fingerprint([...readers.map(describeOwner), ...moving.map(describeMove)]);
    if (view === this.#view) return false;
    this.#view = view;
    if (view.length !== 16) failAssertion('a ring view has 64 bits', view);
    if (!isRingOf(this.#ring, readers)) this.#ring = new Ring(readers);
    const switching = moving.filter(({ move }) => move === 'switching');
    this.#former = switching.flatMap((record) => this.#otherSide(readers, record));
    this.#handingOver = undefined;
    // A replacement takes over what the dead node was to hand to a member that is switching.
    const replacing = moving.filter(({ state, replaces }) => state === 'JOINING' && replaces !== undefined);
    this.#others = [
      ...moving.flatMap((record) => this.#otherSide(readers, record)),
      ...replacing.flatMap((record) =>
        this.#former.flatMap(({ members }) => this.#otherSide(members, record)),
      ),
    ];
    if (this.#ring.members.length !== readers.length)
      failAssertion('every reader is in the ring', readers.length, this.#ring.members.length);
    return true;
  }

  #records(): readonly MemberRecord[] {
    return [this.#table.self, ...this.#table.peers()].filter(({ left }) => !left);
  }

  #readers(): readonly Member[] {
    const owners = this.#records().filter((record) => owns(record) && !this.#table.isSuperseded(record));
    return owners.map((record) => this.#memberOf(record));
  }

  /** The readers before, or after, this member's ring change. */
  #otherSide(readers: readonly Member[], record: MemberRecord): readonly Ring[] {
    const member = this.#memberOf(record);
    // A leaving member has long taken over the dead node's tokens.
    const replaces = record.state === 'LEAVING' ? undefined : record.replaces;
    const others = readers.filter((one) => one !== member && one.node !== replaces);
    if (!readers.includes(member)) return [new Ring([...others, member])];
    // Once a replacement is read, no writes go to the node that it replaced.
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

/** Members that are the primary of some token by `before` and not by `now`. */
function primariesThatChange(before: Ring, now: Ring): readonly Member[] {
  const changed = new Set<Member>();
  const rings = [before, now];
  // A placement is rotated by the token itself, so between two bounds lie tokens of every rotation.
  const bounds = new Set(rings.flatMap(({ members }) => members.flatMap(({ tokens }) => tokens)));
  for (const bound of bounds) {
    const owners = rings.map((ring) => ring.placement(bound));
    const [had = [], has = []] = owners;
    for (const member of had) if (!has.includes(member)) changed.add(member);
    // A new or removed rack rotates every placement.
    if (had.length !== has.length) for (const member of had) changed.add(member);
  }
  return [...changed];
}

/**
 * True if the ring has exactly these members. Comparing objects suffices: a ring never changes, and an unchanged member
 * stays the same object.
 */
function isRingOf(ring: Ring, members: readonly Member[]): boolean {
  return ring.members.length === members.length && members.every((member) => ring.members.includes(member));
}

function isSame<T>(left: readonly T[], right: readonly T[]): boolean {
  if (left === right) return true;
  return left.length === right.length && left.every((item, index) => item === right[index]);
}

/** True if the member's ring change is under way. */
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

/** 64 bits in hexadecimal. */
function fingerprint(lines: readonly string[]): string {
  const bytes = Buffer.from(lines.toSorted().join('\n'));
  return [crc32(bytes), tokenOf(bytes)].map((half) => half.toString(16).padStart(8, '0')).join('');
}
