/** From a client's operations to the branches' orders: one per primary node. Pure. */
import { present } from '../base/assert.ts';
import type { NodeId } from '../base/ids.ts';
import type { DispatchParts } from '../dispatch/parts.ts';
import type { ConsistencyLevel } from '../dispatch/requests.ts';
import type { TransactionRequest } from './outcomes.ts';
import type { BranchOperation, BranchOrder } from './words.ts';

/** Per primary its order, in the sequence in which the operations name them. Throws what the router throws. */
export function ordersOf(
  { ring, router, self }: Pick<DispatchParts, 'ring' | 'router' | 'self'>,
  request: TransactionRequest,
  level: ConsistencyLevel,
): ReadonlyMap<NodeId, BranchOrder> {
  const byNode = new Map<NodeId, BranchOperation[]>();
  for (const { key, content, context, ifMatch, ifAbsent } of request.operations) {
    const token = router.tokenOf(key);
    const primary = present(ring.placement(token)[0], 'a primary').node;
    const operation = { key: key.packed, token, content, context, ifMatch, ifAbsent };
    const known = byNode.get(primary);
    if (known === undefined) byNode.set(primary, [operation]);
    else known.push(operation);
  }
  const branches = [...byNode].map(([node, operations]) => ({
    node,
    writes: operations.some(({ content }) => !content.tombstone),
  }));
  const common = { coordinator: self.node, level, clientId: request.clientId ?? '', branches };
  return new Map([...byNode].map(([node, operations]) => [node, { ...common, operations }]));
}
