/**
 * Whether a member may go into STANDBY. It keeps its tokens and takes every write, so no range moves and no quorum
 * changes, but other members must answer the reads. For each of its keys the other members that serve reads must hold a
 * majority of the copies in its datacenter. Otherwise the operator is refused: reads at a quorum would ask this member
 * all the same.
 */
import type { Member, Ring } from '../ring/ring.ts';

/**
 * Why `self` may not go into STANDBY; undefined if it may. `serves`: true if the other member is reachable and not in
 * STANDBY.
 */
export function standbyRejection(
  ring: Ring,
  self: Member,
  serves: (member: Member) => boolean,
): string | undefined {
  const { node, datacenter } = self;
  const copies = ring.rackCount(datacenter);
  const needed = Math.floor(copies / 2) + 1;
  for (const bound of ring.members.flatMap(({ tokens }) => tokens)) {
    const owners = ring.placement(bound);
    if (!owners.includes(self)) continue;
    const others = owners.filter((member) => member !== self && member.datacenter === datacenter);
    const left = others.filter(serves);
    if (left.length >= needed) continue;
    const away = others.filter((member) => !left.includes(member)).map((member) => member.node);
    const why = away.length === 0 ? '' : ` (${away.sort().join(', ')}: away or in STANDBY)`;
    return `reads at a quorum need ${needed} of the ${copies} copies in ${datacenter}, and without ${node} members that serve reads hold ${left.length} of some keys${why}`;
  }
  return undefined;
}
