/**
 * The records of transactions in the node's own store. They are stored beside its objects, so one atomic batch holds a
 * branch's writes and the record that they were made. A transaction also shares its syncs with all other writes.
 *
 *     branch/<xid>    prepared: the prepare request; applied, heuristic: what was done, until `forget`
 *     decision/<xid>  the coordinator's commit, with the keys that were written here in the same batch, until every
 *                     branch has acknowledged; then `ended`, for clients that ask later
 *     client/<id>     the transaction that was applied under an idempotency key (idempotency-records.ts)
 *     memory/since    the log horizon: the incarnation number in which these records began
 *     memory/lives    the ids of the incarnations that kept these records, which their transactions' ids contain
 */
import { ByteReader, ByteWriter, BytesError } from '../../base/bytes.ts';
import type { NodeId, Token } from '../../base/ids.ts';
import { byteStringOf, textOf } from '../../base/ids.ts';
import type { PackedKey } from '../../base/object-key.ts';
import { systemKey } from '../../base/object-key.ts';
import type { ConsistencyLevel } from '../../replication/requests.ts';
import { consistencyLevels } from '../../replication/requests.ts';
import type { Place } from '../../replica/key-slots.ts';
import type { StoreWrite } from '../../storage/store.ts';
import { among, readList, readNode } from './reading.ts';
import type { PrepareRequest } from './messages.ts';
import { readPrepareRequest, writePrepareRequest } from './messages.ts';
import type { Xid } from './xid.ts';

const version = 4;

/** Bytes of a branch record before and after its prepare request, at most. */
const headBytesMax = 16;

/** The token of all records: they belong to the node, not to the ring. */
const recordToken = 0 as Token;

/** The system bucket of branch records. */
export const branchBucket = byteStringOf('xa.branch');
/** The system bucket of decision records. */
export const decisionBucket = byteStringOf('xa.decision');
const memoryBucket = byteStringOf('xa.memory');

const branchStates = [
  'prepared',
  'applied',
  'heuristicCommitted',
  'heuristicRolledBack',
  'heuristicMixed',
] as const;
/** The durable state of a branch. */
export type BranchState = (typeof branchStates)[number];

/** The record of one branch on this node. */
export interface BranchRecord {
  readonly state: BranchState;
  /** Milliseconds by the wall clock at the prepare, for operators. */
  readonly sinceMs: number;
  /** Its operations are empty once they are done. */
  readonly order: PrepareRequest;
  /** The keys that were written; empty while prepared. */
  readonly places: readonly Place[];
}

/** The coordinator's own branch, whose writes are in the same batch as the decision. */
export interface LocalBranch {
  readonly level: ConsistencyLevel;
  /** At least one. */
  readonly places: readonly Place[];
}

/** The coordinator's record of a committed transaction. */
export interface DecisionRecord {
  readonly state: 'committing' | 'ended';
  readonly sinceMs: number;
  readonly operationCount: number;
  /** Every branch with its vote. */
  readonly branches: readonly { readonly node: NodeId; readonly readOnly: boolean }[];
  /** Undefined if the coordinator has no branch of its own, or the transaction has ended. */
  readonly own: LocalBranch | undefined;
}

/**
 * The store write of a branch record. `orderBytes`: the encoded prepare request, if the caller has it; otherwise it is
 * encoded here.
 */
export function writeBranch(xid: Xid, record: BranchRecord, orderBytes?: Uint8Array): StoreWrite {
  const valueBytes =
    orderBytes === undefined
      ? record.order.operations.reduce((sum, one) => sum + one.content.value.length + 128, 256)
      : orderBytes.length + headBytesMax;
  const writer = new ByteWriter(valueBytes).u8(version).u8(branchStates.indexOf(record.state));
  writer.u64(record.sinceMs);
  if (orderBytes === undefined) writePrepareRequest(writer, record.order);
  else writer.raw(orderBytes);
  writePlaces(writer, record.places);
  return recordOf(systemKey(branchBucket, xid), writer.finish());
}

/** Decodes a branch record. Values are views of the bytes. Throws `BytesError`. */
export function readBranch(bytes: Uint8Array): BranchRecord {
  const reader = opened(bytes);
  const state = among(branchStates, reader.u8());
  const sinceMs = reader.u64();
  const order = readPrepareRequest(reader);
  const places = readPlaces(reader);
  reader.end();
  return { state, sinceMs, order, places };
}

/** The store write of a decision record. */
export function writeDecision(xid: Xid, record: DecisionRecord): StoreWrite {
  const writer = new ByteWriter(128).u8(version).u8(record.state === 'ended' ? 1 : 0);
  writer.u64(record.sinceMs).varint(record.operationCount).varint(record.branches.length);
  for (const { node, readOnly } of record.branches) writer.string(byteStringOf(node)).u8(readOnly ? 1 : 0);
  writePlaces(writer, record.own?.places ?? []);
  if (record.own !== undefined) writer.u8(consistencyLevels.indexOf(record.own.level));
  return recordOf(systemKey(decisionBucket, xid), writer.finish());
}

/** Decodes a decision record. Throws `BytesError`. */
export function readDecision(bytes: Uint8Array): DecisionRecord {
  const reader = opened(bytes);
  const state = reader.u8() === 1 ? 'ended' : 'committing';
  const sinceMs = reader.u64();
  const operationCount = reader.varint();
  const branches = readList(reader, () => ({ node: readNode(reader), readOnly: reader.u8() === 1 }));
  const places = readPlaces(reader);
  const own = places.length === 0 ? undefined : { places, level: among(consistencyLevels, reader.u8()) };
  reader.end();
  return { state, sinceMs, operationCount, branches, own };
}

/** The store write that deletes a branch record. */
export function dropBranch(xid: Xid): StoreWrite {
  return recordOf(systemKey(branchBucket, xid), undefined);
}

/** The store write that deletes a decision record. */
export function dropDecision(xid: Xid): StoreWrite {
  return recordOf(systemKey(decisionBucket, xid), undefined);
}

function recordOf(key: PackedKey, value: Buffer | undefined): StoreWrite {
  return { key, token: recordToken, value };
}

/** The key of the log horizon. */
export const horizonKey = systemKey(memoryBucket, byteStringOf('since'));

/** The store write of the log horizon. `life`: an incarnation number. */
export function writeHorizon(life: number): StoreWrite {
  return recordOf(horizonKey, new ByteWriter(16).u8(version).u64(life).finish());
}

/** Decodes the log horizon, an incarnation number. Throws `BytesError`. */
export function readHorizon(bytes: Uint8Array): number {
  const reader = opened(bytes);
  const life = reader.u64();
  reader.end();
  return life;
}

/** The key of the list of incarnation ids. */
export const incarnationsKey = systemKey(memoryBucket, byteStringOf('lives'));

/** The store write of the list of incarnation ids, oldest first. */
export function writeIncarnations(lives: readonly string[]): StoreWrite {
  const writer = new ByteWriter(64).u8(version).varint(lives.length);
  for (const life of lives) writer.string(byteStringOf(life));
  return recordOf(incarnationsKey, writer.finish());
}

/** Decodes the list of incarnation ids. Throws `BytesError`. */
export function readIncarnations(bytes: Uint8Array): readonly string[] {
  const reader = opened(bytes);
  const lives = readList(reader, () => textOf(reader.string()));
  reader.end();
  return lives;
}

function opened(bytes: Uint8Array): ByteReader {
  const reader = new ByteReader(bytes);
  const found = reader.u8();
  if (found !== version) throw new BytesError(`a record of version ${found}; this node reads ${version}`);
  return reader;
}

function writePlaces(writer: ByteWriter, places: readonly Place[]): void {
  writer.varint(places.length);
  for (const { key, token } of places) writer.string(key).u32(token);
}

function readPlaces(reader: ByteReader): readonly Place[] {
  return readList(reader, () => ({ key: reader.string() as PackedKey, token: reader.u32() as Token }));
}
