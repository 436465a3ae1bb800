/** Laws of tokens at keys: exact edges, and no token twice. */
import { expect, it } from 'vitest';

import { byteStringOf } from '../../../engine/base/ids.ts';
import { Ring } from '../../../engine/cluster/ring/ring.ts';
import { routeToken } from '../../../engine/cluster/ring/token.ts';
import { configOf } from './node-config.ts';
import { tokensAtKeysOf } from './key-tokens.ts';

const names = Array.from({ length: 17 }, (_, index) => `n${index + 1}`);
const nodes = names.slice(0, 4).map((name) => ({ name, datacenter: 'dc1', rack: 'r1' }));

it('no two nodes have one token, and each of the first sixteen has some of keys', () => {
  const tokens = names.flatMap((name) => tokensAtKeysOf(name));
  expect(new Set(tokens).size).toBe(tokens.length);
  expect(names.map((name) => tokensAtKeysOf(name).length > 4)).toEqual(names.map((name) => name !== 'n17'));
  const key = routeToken('STD', byteStringOf('newest'), byteStringOf('k0'));
  expect(tokens).toContain(key);
});

it('every node configures itself and its seeds with the same tokens', () => {
  for (const given of [{ tokens_at_keys: true }, { tokens_at_keys: true, num_tokens: 2 }]) {
    const configs = nodes.map((node) => configOf(node, nodes, given));
    const rings = configs.map(({ name: node, datacenter, rack, tokens, seeds }) =>
      new Ring([{ node, datacenter, rack, tokens }, ...seeds]).members.map((one) => one.tokens),
    );
    for (const ring of rings) expect(ring).toEqual(rings[0]);
  }
});

it('a replacement and a node with other tokens keep theirs', () => {
  const spare = { name: 'n5', datacenter: 'dc1', rack: 'r1' };
  const given = { tokens_at_keys: true, join: 'joining' };
  expect(configOf(spare, nodes, { ...given, tokens: [7] }).tokens).toEqual([7]);
  expect(configOf(spare, nodes, { ...given, replace: 'n2' }).tokens).toEqual(tokensAtKeysOf('n2'));
});
