/**
 * Partitions a client's operations into prepare requests, one per primary node, and says why a node cannot lead them
 * now. Pure.
 */
import { createHash } from 'node:crypto';

import { present } from '../../base/assert.ts';
import { ByteWriter } from '../../base/bytes.ts';
import type { ByteString, NodeId } from '../../base/ids.ts';
import { byteStringFrom } from '../../base/ids.ts';
import { withoutEpoch } from '../../base/object-key.ts';
import type { KeyPlacement } from '../../cluster/ring/key-placement.ts';
import type { Placement } from '../../cluster/ring/ring.ts';
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

/**
 * The prepare request of each primary, in the sequence in which the operations name the primaries. `places`: where each
 * operation's key lives.
 */
export function ordersOf(
  { ring, self }: Pick<RoundDependencies, 'ring' | 'self'>,
  lives: Incarnations,
  request: TransactionRequest,
  places: readonly KeyPlacement[],
  level: ConsistencyLevel,
): ReadonlyMap<NodeId, PrepareRequest> {
  const byNode = new Map<NodeId, BranchOperation[]>();
  for (const [index, operation] of request.operations.entries()) {
    const { key, content, context, ifMatch, ifAbsent, check = false } = operation;
    const place = present(places[index], 'the place of an operation');
    const primary = present(place.in(ring())[0], 'a primary').node;
    const placed = { key: key.packed, token: place.token, content, context, ifMatch, ifAbsent, check };
    const known = byNode.get(primary);
    if (known === undefined) byNode.set(primary, [placed]);
    else known.push(placed);
  }
  const branches: BranchName[] = [];
  for (const [node, operations] of byNode) {
    // A check writes nothing, and a deletion of an absent key becomes one.
    const writes = operations.some(({ content, check }) => !check && !content.tombstone);
    branches.push({ node, writes, life: node === self.node ? lives.own() : lives.of(node) });
  }
  const { clientId = '' } = request;
  const clientDigest = clientId === '' ? noDigest : digestOf([...byNode.values()].flat());
  const orders = new Map<NodeId, PrepareRequest>();
  for (const [node, told] of byNode) {
    // With several branches, the coordinator may keep a request for longer than the client's message, of which its
    // values are views.
    const operations = byNode.size > 1 ? told.map(withOwnValue) : told;
    orders.set(node, { coordinator: self.node, level, clientId, clientDigest, branches, operations });
  }
  return orders;
}

/** Why a transaction cannot run now. `detail`: text for people. */
export interface PartitionRejection {
  readonly reason: Extract<AbortReason, 'no_targets' | 'disk_full'>;
  readonly detail: string;
}

/**
 * Why the requests cannot be sent; undefined if they can. `undecided`: the client wants an abort anyway, so the
 * coordinator need not be able to decide.
 */
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
 * Why this node cannot coordinate a transaction now; undefined if it can. Without a writable store it could not force
 * its decision, and branches that have voted would wait until it is restarted.
 */
export function unfitToDecide(
  parts: Pick<RoundDependencies, 'view' | 'self' | 'diskFull'>,
): PartitionRejection | undefined {
  const closed = closedToWrites(parts);
  if (closed === undefined) return undefined;
  return { ...closed, detail: `${closed.detail}; it cannot coordinate: ask another node` };
}

/** Why this node's store takes no writes: it has failed, or the node is no longer a member. */
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
 * True if each key of the request has one replica, its primary. Once the primary has prepared and the decision is
 * durable, every copy that any level can require is durable.
 */
export function hasOneCopyEach(
  { ring, pending }: Pick<RoundDependencies, 'ring' | 'pending'>,
  { operations }: PrepareRequest,
): boolean {
  return operations.every(({ token }) => ring().placement(token).length === 1 && pending(token).length === 0);
}

/** True if a prepared branch and a durable decision are all that the request's level requires. */
export function isDurableOnceDecided(
  parts: Pick<RoundDependencies, 'ring' | 'pending'>,
  order: PrepareRequest,
): boolean {
  return order.level === 'DC_ONE' || hasOneCopyEach(parts, order);
}

/**
 * Why this node cannot lead a transaction's write of the key now, by the level and by its bucket's quorums. Undefined
 * if it can. `again`: the node has voted for the write and has lost that vote with its disk.
 */
export function notReadyReasonOf(
  parts: RoundDependencies,
  place: Place,
  level: BatchLevel,
  again: boolean,
): PartitionRejection | undefined {
  const lacking = again ? undefined : parts.notReadyReason();
  if (lacking !== undefined) return { reason: 'no_targets', detail: lacking };
  const closed = closedToWrites(parts);
  if (closed !== undefined) return closed;
  const placement = parts.ring().placement(place.token);
  // A node applies what it has voted for before it hands the key over.
  const foreign =
    again && parts.isFormer(place.token) ? undefined : foreignKeyReason(parts, place, placement);
  if (foreign !== undefined) return { reason: 'no_targets', detail: foreign };
  const plan = batchPlan(parts, place, placement, level);
  return plan.kind === 'refused' ? { reason: 'no_targets', detail: plan.detail } : undefined;
}

/** Why this node does not lead the key, or not yet. */
function foreignKeyReason(
  { self, handedOver }: Pick<RoundDependencies, 'self' | 'handedOver'>,
  { key, token }: Place,
  [primary]: Placement,
): string | undefined {
  if (primary?.node !== self.node) return `${self.node} is not the primary of ${describeKey(key)}`;
  return handedOver(token) ? undefined : `${describeKey(key)} is changing hands; try again later`;
}

/**
 * The digest that tells a retry from another use of the idempotency key: the same operations have the same digest,
 * whatever the sequence of their primaries, and whatever was flushed between.
 */
function digestOf(operations: readonly BranchOperation[]): ByteString {
  const writer = new ByteWriter(1024);
  const named = operations.map((operation) => ({ ...operation, key: withoutEpoch(operation.key) }));
  const sorted = named.toSorted((left, right) => (left.key < right.key ? -1 : 1));
  for (const operation of sorted) writeOperation(writer, operation);
  const digest = createHash('sha256').update(writer.finish()).digest();
  return byteStringFrom(digest.subarray(0, digestBytes));
}
