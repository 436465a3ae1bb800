/** What a coordinator says of the branches of a transaction. */
import { expect, test } from 'vitest';

import { byteStringOf } from '../../base/ids.ts';
import type { NodeId, Token } from '../../base/ids.ts';
import { defaultType, objectKey } from '../../base/object-key.ts';
import { KeyPlacement } from '../../cluster/ring/key-placement.ts';
import { Ring } from '../../cluster/ring/ring.ts';
import { plainContent, tombstone } from '../../replica/object/content.ts';
import type { Operation } from '../formats/outcomes.ts';
import { isReadOnly, resolved, withOperations } from '../formats/prepare-request.ts';
import { ordersOf } from './partition.ts';

const nodes = ['n1', 'n2', 'n3', 'n4'];
const members = nodes.map((node, index) => ({
  node: node as NodeId,
  datacenter: 'dc1',
  rack: 'r1',
  tokens: [(index * 2 ** 30) as Token],
}));
const lives = {
  own: () => 1,
  of: () => 1,
  isOver: () => false,
  hasLeft: () => false,
  isCopying: () => false,
};

test('a branch of which the coordinator says that it writes never votes read-only', () => {
  const [self] = members;
  if (self === undefined) throw new Error('a coordinator');
  const ring = new Ring(members);
  const key = objectKey(defaultType, byteStringOf('b'), byteStringOf('k'));
  const value = plainContent(Buffer.from('v'), 'text/plain');
  const plain = { key, context: undefined, ifMatch: undefined, ifAbsent: false };
  const operations: readonly Operation[] = [
    { ...plain, content: value },
    { ...plain, content: tombstone },
    // What EXEC asks for a key that was only watched.
    { ...plain, content: tombstone, ifAbsent: true, check: true },
    { ...plain, content: value, check: true },
  ];
  const places = operations.map((_, index) => new KeyPlacement((index * 2 ** 30) as Token, ring));
  const request = {
    ...{ operations, forceAbort: false },
    ...{ level: undefined, timeoutMs: undefined, clientId: undefined },
  };
  const orders = ordersOf({ ring: () => ring, self }, lives, request, places, 'DC_QUORUM');
  const told = [...orders].map(([node, order]) => {
    // The keys are absent.
    const checked = withOperations(
      order,
      order.operations.map((operation) => resolved(operation, undefined)),
    );
    const writes = order.branches.find((branch) => branch.node === node)?.writes;
    return { writes, readOnly: isReadOnly(checked) };
  });
  expect(told).toEqual([
    { writes: true, readOnly: false },
    ...[2, 3, 4].map(() => ({ writes: false, readOnly: true })),
  ]);
});
