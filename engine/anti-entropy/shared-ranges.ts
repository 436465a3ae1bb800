/** Computes which tokens two nodes both own: the ranges that an exchange between them may compare. */
import type { NodeId, Token } from '../base/ids.ts';
import type { Ring } from '../cluster/ring/ring.ts';
import type { TokenRange, Tree } from './tree.ts';
import { wholeRing } from './tree.ts';

/** Whether the node owns tokens of the ring: one that joins does not yet. */
export function ownsTokens(ring: Ring, self: NodeId): boolean {
  return ring.members.some(({ node }) => node === self);
}

/**
 * Maps each node that shares tokens with `self` to the shared ranges, in order and as few as possible. Empty for a node
 * that owns nothing; never contains a node of the same rack. One walk over the ring's tokens, for any number of nodes.
 */
export function sharedRanges(ring: Ring, self: NodeId): ReadonlyMap<NodeId, readonly TokenRange[]> {
  const bounds = [...new Set(ring.members.flatMap((member) => member.tokens))].sort((one, two) => one - two);
  const shared = new Map<NodeId, { first: number; last: number }[]>();
  let first = wholeRing.first;
  // Between two tokens no placement changes. Tokens after the last one belong to the first one's owners.
  for (const last of new Set([...bounds, wholeRing.last])) {
    const placement = ring.placement(last as Token);
    if (placement.some(({ node }) => node === self)) {
      for (const { node } of placement) if (node !== self) extend(shared, node, first, last);
    }
    first = last + 1;
  }
  return shared;
}

/**
 * Widens ranges, which are in order, to the segments that they touch, each of which is in one of the results: two ranges
 * may touch the same segment.
 */
export function wholeSegments(
  tree: Pick<Tree, 'segmentOf' | 'rangeOf'>,
  ranges: readonly TokenRange[],
): readonly TokenRange[] {
  const whole: { first: number; last: number }[] = [];
  for (const range of ranges) {
    const { first } = tree.rangeOf(tree.segmentOf(range.first));
    const { last } = tree.rangeOf(tree.segmentOf(range.last));
    const before = whole.at(-1);
    if (before !== undefined && first <= before.last) before.last = last;
    else whole.push({ first, last });
  }
  return whole;
}

function extend(
  shared: Map<NodeId, { first: number; last: number }[]>,
  node: NodeId,
  first: number,
  last: number,
): void {
  const ranges = shared.get(node) ?? [];
  const before = ranges.at(-1);
  if (before !== undefined && before.last + 1 === first) before.last = last;
  else ranges.push({ first, last });
  shared.set(node, ranges);
}
