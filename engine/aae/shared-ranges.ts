/** Which tokens two nodes both hold replicas of: what an exchange between them may speak of. */
import type { NodeId, Token } from '../base/ids.ts';
import type { Ring } from '../ring/ring.ts';
import type { TokenRange } from './tree.ts';
import { wholeRing } from './tree.ts';

/** The ranges in order, as few as there can be. Empty for a node that owns nothing, and for two of one rack. */
export function sharedRanges(ring: Ring, left: NodeId, right: NodeId): readonly TokenRange[] {
  const bounds = [...new Set(ring.members.flatMap((member) => member.tokens))].sort((one, two) => one - two);
  const ranges: { first: number; last: number }[] = [];
  let first = wholeRing.first;
  // Between two tokens no placement changes; behind the last one the ring goes on to the first one's owners.
  for (const last of new Set([...bounds, wholeRing.last])) {
    if (holdBoth(ring, last as Token, left, right)) {
      const before = ranges.at(-1);
      if (before !== undefined && before.last + 1 === first) before.last = last;
      else ranges.push({ first, last });
    }
    first = last + 1;
  }
  return ranges;
}

function holdBoth(ring: Ring, token: Token, left: NodeId, right: NodeId): boolean {
  const nodes = ring.placement(token).map((member) => member.node);
  return nodes.includes(left) && nodes.includes(right);
}
