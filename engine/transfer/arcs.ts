/**
 * Which ranges a member takes over and from whom: pure decisions over the ring before the change.
 *
 * A range comes from the node of its rack that owns it now: whoever takes that one's place holds what it held, and every
 * quorum still meets every acknowledged write. When that node is away or dead, enough other replicas of the datacenter
 * are read that at least one of them holds each write that a majority acknowledged. A new rack adds a copy, which no
 * acknowledged write waits for; one replica will do.
 */
import { present } from '../base/assert.ts';
import type { Token } from '../base/ids.ts';
import type { Member, Ring } from '../ring/ring.ts';
import type { TokenRange } from './range-words.ts';

/** The arcs that a member owns in its rack once it stands beside (or, if it stands there already, among) `others`. */
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

/** The ranges cut at every token of the ring: each part has one placement. */
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
 * The nodes that a taker reads a range from (all of them); undefined: too few are there now.
 */
export function sourcesOf(
  ring: Ring,
  range: TokenRange,
  taker: Member,
  isThere: (member: Member) => boolean,
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
  const far = placement.filter((member) => member.datacenter !== taker.datacenter);
  const first = far.find(isThere);
  if (first !== undefined) return [first];
  // Nobody else has ever held it.
  return far.length === 0 ? [] : undefined;
}

export function inOneRack(left: Member, right: Member): boolean {
  return left.datacenter === right.datacenter && left.rack === right.rack;
}

/** Clockwise from `from`; a whole turn for itself. */
function distance(from: Token, to: Token): number {
  return (to - from) >>> 0 || 2 ** 32;
}

function isInside(from: Token, at: Token, to: Token): boolean {
  return distance(from, at) < distance(from, to);
}
