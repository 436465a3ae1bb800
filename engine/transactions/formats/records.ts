/**
 * The records of transactions. They lie in the node's own store beside its objects, so that a branch's writes and the
 * record that says they were made are one atomic batch, and a transaction's syncs are shared with all other writes.
 *
 *     branch/<xid>    prepared: the order; applied, heuristic: what was done, until the coordinator lets it be forgotten
 *     decision/<xid>  the coordinator's commit, with the keys that were written here in one step with it, until every
 *                     branch has acknowledged; then `ended`, for who asks later
 *     client/<id>     which transaction carried out a client's own name (idempotency-records.ts)
 *     memory/since    the life of the node in which these records began: of what was before them it can tell nothing
 *     memory/lives    the names of the lives that have kept these records, by which their transactions are named
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
/** Its decisions do not say what was written with them: the coordinator's own branch has a record. */
const ownlessVersion = 3;
/** Nor do its orders name lives. */
const lifelessVersion = 2;

/** Of a record: what stands before and behind the order of a prepared branch. */
const headBytesMax = 16;

/** The token of all records: they belong to the node, not to the ring. */
const recordToken = 0 as Token;

export const branchBucket = byteStringOf('xa.branch');
export const decisionBucket = byteStringOf('xa.decision');
const memoryBucket = byteStringOf('xa.memory');

const branchStates = [
  'prepared',
  'applied',
  'heuristicCommitted',
  'heuristicRolledBack',
  'heuristicMixed',
] as const;
export type BranchState = (typeof branchStates)[number];

export interface BranchRecord {
  readonly state: BranchState;
  /** Wall clock at the prepare, for an operator. */
  readonly sinceMs: number;
  /** With no operations once they are done. */
  readonly order: PrepareRequest;
  /** The keys that were written; empty while prepared. */
  readonly places: readonly Place[];
}

/** The coordinator's own branch: its writes are durable if its decision is. */
export interface LocalBranch {
  readonly level: ConsistencyLevel;
  /** At least one. */
  readonly places: readonly Place[];
}

export interface DecisionRecord {
  readonly state: 'committing' | 'ended';
  readonly sinceMs: number;
  readonly operationCount: number;
  /** With their votes. */
  readonly branches: readonly { readonly node: NodeId; readonly readOnly: boolean }[];
  /** Undefined: it has none, or all is over. */
  readonly own: LocalBranch | undefined;
}

/** `orderBytes`: those of the record's order, where they are known. */
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

/** Throws `BytesError`. Contents are views of the bytes. */
export function readBranch(bytes: Uint8Array): BranchRecord {
  const { reader, found } = opened(bytes);
  const state = among(branchStates, reader.u8());
  const sinceMs = reader.u64();
  const order = readPrepareRequest(reader, found > lifelessVersion);
  const places = readPlaces(reader);
  reader.end();
  return { state, sinceMs, order, places };
}

export function writeDecision(xid: Xid, record: DecisionRecord): StoreWrite {
  const writer = new ByteWriter(128).u8(version).u8(record.state === 'ended' ? 1 : 0);
  writer.u64(record.sinceMs).varint(record.operationCount).varint(record.branches.length);
  for (const { node, readOnly } of record.branches) writer.string(byteStringOf(node)).u8(readOnly ? 1 : 0);
  writePlaces(writer, record.own?.places ?? []);
  if (record.own !== undefined) writer.u8(consistencyLevels.indexOf(record.own.level));
  return recordOf(systemKey(decisionBucket, xid), writer.finish());
}

/** Throws `BytesError`. */
export function readDecision(bytes: Uint8Array): DecisionRecord {
  const { reader, found } = opened(bytes);
  const state = reader.u8() === 1 ? 'ended' : 'committing';
  const sinceMs = reader.u64();
  const operationCount = reader.varint();
  const branches = readList(reader, () => ({ node: readNode(reader), readOnly: reader.u8() === 1 }));
  const places = found > ownlessVersion ? readPlaces(reader) : [];
  const own = places.length === 0 ? undefined : { places, level: among(consistencyLevels, reader.u8()) };
  reader.end();
  return { state, sinceMs, operationCount, branches, own };
}

export function dropBranch(xid: Xid): StoreWrite {
  return recordOf(systemKey(branchBucket, xid), undefined);
}

export function dropDecision(xid: Xid): StoreWrite {
  return recordOf(systemKey(decisionBucket, xid), undefined);
}

function recordOf(key: PackedKey, value: Buffer | undefined): StoreWrite {
  return { key, token: recordToken, value };
}

export const horizonKey = systemKey(memoryBucket, byteStringOf('since'));

export function writeHorizon(life: number): StoreWrite {
  return recordOf(horizonKey, new ByteWriter(16).u8(version).u64(life).finish());
}

/** Throws `BytesError`. */
export function readHorizon(bytes: Uint8Array): number {
  const { reader } = opened(bytes);
  const life = reader.u64();
  reader.end();
  return life;
}

export const incarnationsKey = systemKey(memoryBucket, byteStringOf('lives'));

export function writeIncarnations(lives: readonly string[]): StoreWrite {
  const writer = new ByteWriter(64).u8(version).varint(lives.length);
  for (const life of lives) writer.string(byteStringOf(life));
  return recordOf(incarnationsKey, writer.finish());
}

/** Throws `BytesError`. */
export function readIncarnations(bytes: Uint8Array): readonly string[] {
  const { reader } = opened(bytes);
  const lives = readList(reader, () => textOf(reader.string()));
  reader.end();
  return lives;
}

function opened(bytes: Uint8Array): { readonly reader: ByteReader; readonly found: number } {
  const reader = new ByteReader(bytes);
  const found = reader.u8();
  if (found < lifelessVersion || found > version)
    throw new BytesError(`a record of version ${found}; this node reads ${lifelessVersion} to ${version}`);
  return { reader, found };
}

function writePlaces(writer: ByteWriter, places: readonly Place[]): void {
  writer.varint(places.length);
  for (const { key, token } of places) writer.string(key).u32(token);
}

function readPlaces(reader: ByteReader): readonly Place[] {
  return readList(reader, () => ({ key: reader.string() as PackedKey, token: reader.u32() as Token }));
}
