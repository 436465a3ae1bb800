/** Decides whether enough members know of a flush. Pure. */
import type { NodeId } from '../base/ids.ts';
import type { Member } from '../cluster/ring/ring.ts';

/**
 * A datacenter in which the racks whose members are all `holders` are no majority; undefined if there is none. Then every
 * quorum of a datacenter, whichever key it is about, meets a replica that knows of the flush: each rack holds one copy.
 */
export function datacenterLacking(
  members: readonly Pick<Member, 'node' | 'datacenter' | 'rack'>[],
  holders: ReadonlySet<NodeId>,
): string | undefined {
  for (const datacenter of new Set(members.map((member) => member.datacenter))) {
    const there = members.filter((member) => member.datacenter === datacenter);
    const racks = [...new Set(there.map(({ rack }) => rack))];
    const whole = racks.filter((rack) => there.every((one) => one.rack !== rack || holders.has(one.node)));
    if (whole.length * 2 <= racks.length) return datacenter;
  }
  return undefined;
}
