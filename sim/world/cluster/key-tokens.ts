/**
 * Tokens of nodes that are exactly tokens of the load's keys, or next to them: such a key lies on the very edge of a
 * range, as the last one of its owner's arc or as the first. With tokens derived from names alone, no key of a run does.
 */
import type { NodeId, Token } from '../../../engine/base/ids.ts';
import { byteStringOf } from '../../../engine/base/ids.ts';
import { routeToken, tokensOfNode } from '../../../engine/cluster/ring/token.ts';

/** With this setting of a plan, every node has tokens of keys beside tokens of its own. */
export const tokensAtKeys = 'tokens_at_keys';

/** Buckets of the loads, the first letter of their keys, and how many of these have a node's token. */
const edgeKeys: readonly (readonly [bucket: string, stem: string, count: number])[] = [
  ['newest', 'k', 40],
  ['siblings', 'k', 4],
  ['bank', 'a', 5],
  ['lists', 'l', 5],
  ['loners', 'o', 4],
  ['redis', 'a', 5],
  ['redis', 'c', 3],
  ['redis', 'm', 3],
];

/** The ends of the token space, and those of an eighth of it, by which listings divide it. */
const extremes = [0, 2 ** 32 - 1, 2 ** 29, 2 ** 29 - 1];

/** Nodes `n1` to `n16` share the keys, so that no two nodes of a rack have one token. */
const nodesMax = 16;

const ownCountDefault = 4;

/** The tokens of the node. `ownCount`: how many tokens of its own it has. Other names than `n1` to `n16` have no more. */
export function tokensAtKeysOf(node: string, ownCount = ownCountDefault): readonly Token[] {
  const number = Number(/^n([0-9]+)$/.exec(node)?.[1] ?? 0);
  const own = tokensOfNode(node as NodeId, ownCount);
  if (number < 1 || number > nodesMax) return own;
  const shared = edgeTokens().filter((_, index) => index % nodesMax === number - 1);
  return [...new Set([...own, ...shared])].sort((left, right) => left - right);
}

function edgeTokens(): readonly Token[] {
  const tokens = edgeKeys.flatMap(([bucket, stem, count]) =>
    Array.from({ length: count }, (_, index) => {
      const token = routeToken('STD', byteStringOf(bucket), byteStringOf(`${stem}${index}`));
      return (index % 3 === 2 ? (token - 1) >>> 0 : token) as Token;
    }),
  );
  return [...new Set([...(extremes as Token[]), ...tokens])];
}
