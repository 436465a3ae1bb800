/** From a client's operations to the branches' orders: one per primary node. Pure. */
import { createHash } from 'node:crypto';

import { present } from '../../base/assert.ts';
import { ByteWriter } from '../../base/bytes.ts';
import type { ByteString, NodeId } from '../../base/ids.ts';
import { byteStringFrom } from '../../base/ids.ts';
import type { BatchLevel } from '../../replication/batch-round.ts';
import { batchPlan } from '../../replication/batch-round.ts';
import type { RoundDependencies } from '../../replication/round-dependencies.ts';
import type { ConsistencyLevel } from '../../replication/requests.ts';
import type { Place } from '../../replica/key-slots.ts';
import type { Incarnations } from '../recovery/log-horizon.ts';
import { describeKey } from '../formats/prepare-request.ts';
import type { AbortReason, TransactionRequest } from '../formats/outcomes.ts';
import type { BranchName, BranchOperation, PrepareRequest } from '../formats/messages.ts';
import { writeOperation } from '../formats/messages.ts';

const noDigest = '' as ByteString;
const digestBytes = 16;

/** Per primary its order, in the sequence in which the operations name them. Throws what the router throws. */
export function ordersOf(
  { ring, router, self }: Pick<RoundDependencies, 'ring' | 'router' | 'self'>,
  lives: Incarnations,
  request: TransactionRequest,
  level: ConsistencyLevel,
): ReadonlyMap<NodeId, PrepareRequest> {
  const byNode = new Map<NodeId, BranchOperation[]>();
  for (const { key, content, context, ifMatch, ifAbsent, check = false } of request.operations) {
    const token = router.tokenOf(key);
    const primary = present(ring().placement(token)[0], 'a primary').node;
    const operation = { key: key.packed, token, content, context, ifMatch, ifAbsent, check };
    const known = byNode.get(primary);
    if (known === undefined) byNode.set(primary, [operation]);
    else known.push(operation);
  }
  const branches: BranchName[] = [];
  for (const [node, operations] of byNode) {
    const writes = operations.some(({ content, check }) => check || !content.tombstone);
    branches.push({ node, writes, life: node === self.node ? lives.own() : lives.of(node) });
  }
  const { clientId = '' } = request;
  const clientDigest = clientId === '' ? noDigest : digestOf([...byNode.values()].flat());
  const orders = new Map<NodeId, PrepareRequest>();
  for (const [node, told] of byNode) {
    // What several branches are told may outlive the message that the client's values are views of.
    const operations = byNode.size > 1 ? told.map(withOwnValue) : told;
    orders.set(node, { coordinator: self.node, level, clientId, clientDigest, branches, operations });
  }
  return orders;
}

/** Why a transaction cannot be carried out now, and what a person reads of it. */
export interface PartitionRejection {
  readonly reason: Extract<AbortReason, 'no_targets' | 'disk_full'>;
  readonly detail: string;
}

/** What keeps the orders from being sent; undefined: nothing. `undecided`: they are to come to nothing anyway. */
export function objectionTo(
  parts: Pick<RoundDependencies, 'ring' | 'view' | 'self' | 'diskFull'>,
  orders: ReadonlyMap<NodeId, PrepareRequest>,
  undecided: boolean,
): PartitionRejection | undefined {
  const { ring, view, self } = parts;
  for (const node of orders.keys()) {
    const own = node === self.node ? closedToWrites(parts) : undefined;
    if (own !== undefined) return own;
    const member = ring().member(node);
    if (member === undefined || !view.isRoutable(member))
      return { reason: 'no_targets', detail: `the primary ${node} cannot be reached` };
  }
  return orders.size > 1 && !undecided ? unfitToDecide(parts) : undefined;
}

/**
 * Why this node can decide nothing now; undefined: it can. Branches that have voted would wait for a decision that is on no
 * disk until it is started anew.
 */
export function unfitToDecide(
  parts: Pick<RoundDependencies, 'view' | 'self' | 'diskFull'>,
): PartitionRejection | undefined {
  const closed = closedToWrites(parts);
  if (closed === undefined) return undefined;
  return { ...closed, detail: `${closed.detail}; it cannot coordinate: ask another node` };
}

/** Its store has failed, or it is no member any more. */
function closedToWrites({
  view,
  self,
  diskFull,
}: Pick<RoundDependencies, 'view' | 'self' | 'diskFull'>): PartitionRejection | undefined {
  if (view.isRoutable(self)) return undefined;
  if (!diskFull()) return { reason: 'no_targets', detail: `${self.node} takes no writes now` };
  const detail = `the disk of ${self.node} is full, and it takes no writes until there is room`;
  return { reason: 'disk_full', detail };
}

function withOwnValue(operation: BranchOperation): BranchOperation {
  const { content } = operation;
  return { ...operation, content: { ...content, value: Buffer.from(content.value) } };
}

/**
 * Each key of the order has one replica, its primary: once that one has prepared, and the decision is durable, every copy
 * that any level can ask for is.
 */
export function hasOneCopyEach(
  { ring, pending }: Pick<RoundDependencies, 'ring' | 'pending'>,
  { operations }: PrepareRequest,
): boolean {
  return operations.every(({ token }) => ring().placement(token).length === 1 && pending(token).length === 0);
}

/** Prepared at the primaries and decided is all that the order's level asks for. */
export function isDurableOnceDecided(
  parts: Pick<RoundDependencies, 'ring' | 'pending'>,
  order: PrepareRequest,
): boolean {
  return order.level === 'DC_ONE' || hasOneCopyEach(parts, order);
}

/**
 * Why this node cannot lead a transaction's write of the key now, by the level and by its bucket's quorums; undefined when
 * it can. `again`: it has voted for it, and lost that with its disk.
 */
export function hindranceOf(
  parts: RoundDependencies,
  place: Place,
  level: BatchLevel,
  again: boolean,
): PartitionRejection | undefined {
  const lacking = again ? undefined : parts.refilling();
  if (lacking !== undefined) return { reason: 'no_targets', detail: lacking };
  const closed = closedToWrites(parts);
  if (closed !== undefined) return closed;
  // What it has voted for is carried out before it hands the key over.
  const foreign = again && parts.isFormer(place.token) ? undefined : foreignHindrance(parts, place);
  if (foreign !== undefined) return { reason: 'no_targets', detail: foreign };
  const plan = batchPlan(parts, place, level);
  return plan.kind === 'refused' ? { reason: 'no_targets', detail: plan.detail } : undefined;
}

/** The key is not, or not yet, this node's to lead. */
function foreignHindrance(
  { ring, self, handedOver }: Pick<RoundDependencies, 'ring' | 'self' | 'handedOver'>,
  { key, token }: Place,
): string | undefined {
  if (ring().placement(token)[0]?.node !== self.node)
    return `${self.node} is not the primary of ${describeKey(key)}`;
  return handedOver(token) ? undefined : `${describeKey(key)} is changing hands; try again later`;
}

/** Tells a repetition from another use of one name: the same operations, in any order of their keys' primaries. */
function digestOf(operations: readonly BranchOperation[]): ByteString {
  const writer = new ByteWriter(1024);
  const sorted = operations.toSorted((left, right) => (left.key < right.key ? -1 : 1));
  for (const operation of sorted) writeOperation(writer, operation);
  const digest = createHash('sha256').update(writer.finish()).digest();
  return byteStringFrom(digest.subarray(0, digestBytes));
}
