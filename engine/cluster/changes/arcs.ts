/**
 * Which ranges a member takes over, and from which nodes: pure decisions over the ring before the change.
 *
 * A range comes from its present owner in the member's own rack. The member then holds what that owner held, so every
 * quorum still meets every acknowledged write. If that owner is unreachable, the member reads enough other replicas of
 * the datacenter that at least one of them holds each write that a majority acknowledged. If that owner was the
 * datacenter's only one, the member waits for it, unless it replaces it. A new rack adds a copy that
 * no acknowledged write has counted, so one replica is enough.
 */
import { present } from '../../base/assert.ts';
import type { NodeId, Token } from '../../base/ids.ts';
import type { TokenRange } from '../ring/arc.ts';
import { distance } from '../ring/arc.ts';
import type { Member, Ring } from '../ring/ring.ts';

/** The arcs that `member` owns in its rack, once it has joined `others`, or as one of them. */
export function arcsOf(others: readonly Member[], member: Member): readonly TokenRange[] {
  const mates = others.filter((one) => inOneRack(one, member) && one !== member);
  const tokens = [...new Set([...mates, member].flatMap((one) => one.tokens))].sort(
    (left, right) => left - right,
  );
  return tokens.flatMap((to, index) => {
    if (!member.tokens.includes(to)) return [];
    return [{ from: present(tokens.at(index - 1), 'a token before'), to }];
  });
}

/** Splits the ranges at every token of the ring, so that each part has one placement. */
export function splitByPlacement(ranges: readonly TokenRange[], ring: Ring): readonly TokenRange[] {
  const bounds = [...new Set(ring.members.flatMap((one) => one.tokens))].sort((left, right) => left - right);
  return ranges.flatMap(({ from, to }) => {
    const inside = bounds.filter((bound) => bound !== to && isInside(from, bound, to));
    const ends = [...inside.sort((left, right) => distance(from, left) - distance(from, right)), to];
    return ends.map((end, index) => ({
      from: index === 0 ? from : present(ends[index - 1], 'an end'),
      to: end,
    }));
  });
}

/**
 * The nodes from which `taker` must read the range, each of them. Undefined if too few of them are reachable now
 * (`isThere`). `replaces`: the dead node that `taker` replaces, which never returns.
 */
export function sourcesOf(
  ring: Ring,
  range: TokenRange,
  taker: Member,
  isThere: (member: Member) => boolean,
  replaces?: NodeId,
): readonly Member[] | undefined {
  const placement = ring.placement(range.to).filter((member) => member.node !== taker.node);
  const mate = placement.find((member) => inOneRack(member, taker));
  if (mate !== undefined && isThere(mate)) return [mate];
  const near = placement.filter((member) => member.datacenter === taker.datacenter && member !== mate);
  const there = near.filter(isThere);
  const copies = ring.rackCount(taker.datacenter);
  const enough = mate === undefined ? 1 : copies - Math.floor(copies / 2);
  if (near.length > 0)
    return there.length >= Math.min(enough, near.length) ? there.slice(0, enough) : undefined;
  // The former owner alone was a quorum of this datacenter: no other replica surely has what it acknowledged.
  if (mate !== undefined && mate.node !== replaces) return undefined;
  const far = placement.filter((member) => member.datacenter !== taker.datacenter);
  const first = far.find(isThere);
  if (first !== undefined) return [first];
  // No other node has ever held the range.
  return far.length === 0 ? [] : undefined;
}

/**
 * What a member that has lost its disk must read, and from which members. For each part of its ranges it reads so many
 * other replicas that one of them holds whatever a quorum has acknowledged: a quorum of its own datacenter that may
 * have counted the lost disk, or one of another datacenter.
 *
 * `others`: the rings on the other side of each ring change. The ranges that it is about to own count, too: what a
 * leaving member had pushed to the lost disk, it does not push again.
 *
 * Returns pairs of a member and a range, in ring order; neighbouring parts are merged. Replicas with a whole disk are
 * preferred. Replicas that hold nothing count toward the number, and are not read.
 */
export function rebuildSources(
  ring: Ring,
  self: Member,
  stateOf: (member: Member) => { readonly holds: boolean; readonly whole: boolean },
  others: readonly Ring[] = [],
): readonly (readonly [Member, TokenRange])[] {
  const byMember = new Map<Member, TokenRange[]>();
  const owned = splitByPlacement(arcsOf(ring.members, self), ring);
  const coming = comingRanges(ring, self, others);
  // Who gives a range may change within a part of one placement.
  const ranges =
    ring.rackCount(self.datacenter) > 1
      ? [...owned, ...coming]
      : others.reduce(splitByPlacement, [...owned, ...coming]);
  for (const range of ranges) {
    const sources = quorumSources(ring, range, self, (member) => stateOf(member).whole);
    for (const source of [...sources, ...giversOf(ring, range, self, others)]) {
      if (!stateOf(source).holds) continue;
      const read = byMember.get(source) ?? [];
      byMember.set(source, read);
      const last = read.at(-1);
      if (last?.to === range.from) read[read.length - 1] = { from: last.from, to: range.to };
      else read.push(range);
    }
  }
  return [...byMember].flatMap(([member, read]) => read.map((range) => [member, range] as const));
}

/** The ranges that the member owns by one of the other rings and not by this one, each once. */
function comingRanges(ring: Ring, self: Member, others: readonly Ring[]): readonly TokenRange[] {
  const coming = new Map<string, TokenRange>();
  for (const { members } of others) {
    if (!members.includes(self)) continue;
    for (const range of splitByPlacement(arcsOf(members, self), ring)) {
      if (!ring.placement(range.to).includes(self)) coming.set(`${range.from}-${range.to}`, range);
    }
  }
  return [...coming.values()];
}

/**
 * Where a datacenter has one copy: the members of the same rack that own the range on either side of a ring change. Such
 * a member gives its copy to this one, or has given it to the lost disk.
 */
function giversOf(ring: Ring, { to }: TokenRange, self: Member, others: readonly Ring[]): readonly Member[] {
  if (ring.rackCount(self.datacenter) > 1) return [];
  const owners = [ring, ...others].flatMap((one) => one.placement(to));
  return [...new Set(owners.filter((member) => member !== self && inOneRack(member, self)))];
}

/**
 * What an owner that has lost records of the range reads before it hands the range over, and from which members: so many
 * other replicas of its datacenter that one of them holds each write that a majority acknowledged. In ring order.
 */
export function healingSources(
  ring: Ring,
  range: TokenRange,
  self: Member,
): readonly (readonly [Member, TokenRange])[] {
  return splitByPlacement([range], ring).flatMap((part) =>
    keySources(ring, part.to, self).map((source) => [source, part] as const),
  );
}

/** The members from which a replica that has lost its copy of a key reads it. As `healingSources`. */
export function keySources(ring: Ring, token: Token, self: Member): readonly Member[] {
  const sources = quorumSources(ring, { from: token, to: token }, self, () => true);
  return sources.filter(({ datacenter }) => datacenter === self.datacenter);
}

/** So many other replicas of each datacenter that every majority includes at least one of them. */
function quorumSources(
  ring: Ring,
  { to }: TokenRange,
  self: Member,
  isWhole: (member: Member) => boolean,
): readonly Member[] {
  const others = ring.placement(to).filter((member) => member !== self);
  return ring.datacenters.flatMap((datacenter) => {
    const near = others.filter((member) => member.datacenter === datacenter);
    const copies = ring.rackCount(datacenter);
    const majority = Math.floor(copies / 2) + 1;
    // If the majority is one, it was the lost disk alone, or a member that gives its copy to this one (`giversOf`).
    const enough = majority === 1 && datacenter === self.datacenter ? 0 : copies - majority + 1;
    // The same racks for every range, so that neighbouring parts merge.
    const inOrder = near.toSorted((left, right) => (left.rack < right.rack ? -1 : 1));
    const halves = [inOrder.filter(isWhole), inOrder.filter((member) => !isWhole(member))];
    return halves.flat().slice(0, enough);
  });
}

/** True if both members are in one rack of one datacenter. */
export function inOneRack(left: Member, right: Member): boolean {
  return left.datacenter === right.datacenter && left.rack === right.rack;
}

function isInside(from: Token, at: Token, to: Token): boolean {
  return distance(from, at) < distance(from, to);
}
