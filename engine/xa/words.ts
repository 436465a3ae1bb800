/**
 * What coordinators and branches say to each other (the `words` of the peer messages `transact` and `transacted`), and
 * what a branch is told to do, which is also what its prepare record holds. Version 3; a reader refuses others, except
 * that records of version 2, which name no lives, are read.
 */
import { ByteReader, ByteWriter, BytesError } from '../base/bytes.ts';
import type { ByteString, NodeId, Token } from '../base/ids.ts';
import { byteStringOf, parseNodeId, textOf } from '../base/ids.ts';
import type { PackedKey } from '../base/object-key.ts';
import { unpackKey } from '../base/object-key.ts';
import type { ConsistencyLevel } from '../dispatch/requests.ts';
import { consistencyLevels } from '../dispatch/requests.ts';
import type { Content } from '../object/content.ts';
import { readContent, writeContent } from '../object/content.ts';
import type { Legacy } from '../membership/legacy.ts';
import type { VersionVector } from '../object/dots.ts';
import { readVector, writeVector } from '../object/dots.ts';
import type { AbortReason } from './outcomes.ts';
import type { Xid } from './xid.ts';
import { parseXid } from './xid.ts';

const version = 3;

/** One operation, at the primary of its key. */
export interface BranchOperation {
  readonly key: PackedKey;
  readonly token: Token;
  readonly content: Content;
  readonly context: VersionVector | undefined;
  readonly ifMatch: VersionVector | undefined;
  readonly ifAbsent: boolean;
  /** Nothing is written; the key stays locked until the outcome, so its conditions hold when the batch commits. */
  readonly check: boolean;
}

/** A branch of the transaction. `writes`: it surely writes something, so it never votes read-only. */
export interface BranchName {
  readonly node: NodeId;
  readonly writes: boolean;
  /** The node's life that the coordinator knew when it ordered (its generation); 0: it knew none. */
  readonly life: number;
}

/** What a branch is asked to prepare. */
export interface BranchOrder {
  readonly coordinator: NodeId;
  readonly level: ConsistencyLevel;
  /** The client's own name of the transaction; empty for none. */
  readonly clientId: string;
  /** What the client wants done under its name, in short (partition.ts); empty without a name. */
  readonly clientDigest: ByteString;
  readonly branches: readonly BranchName[];
  readonly operations: readonly BranchOperation[];
}

export type BranchRequest =
  | { readonly kind: 'prepare'; readonly xid: Xid; readonly order: BranchOrder }
  /** Prepare and commit in one step: it is the only branch. */
  | { readonly kind: 'commitAlone'; readonly xid: Xid; readonly order: BranchOrder }
  /** A single put, to be written as the asked node's own are: without a record (asked-puts.ts). */
  | { readonly kind: 'put'; readonly xid: Xid; readonly order: BranchOrder }
  /** What became of it? `life`: of the asked, as the order names it: no other one knows. Having none, it takes none. */
  | { readonly kind: 'inquirePut'; readonly xid: Xid; readonly life: number }
  | { readonly kind: 'commit'; readonly xid: Xid }
  /** Commit what you have prepared and lost: the order once more, and what came with the vote; empty for nothing. */
  | { readonly kind: 'redo'; readonly xid: Xid; readonly order: BranchOrder; readonly mark: string }
  | { readonly kind: 'rollback'; readonly xid: Xid }
  /** What do you know of it? `life`: of the asked, as the order names it; a disk that is younger cannot say `none`, but `forgotten`. */
  | { readonly kind: 'inquire'; readonly xid: Xid; readonly life: number }
  /** A client asks by name: the same, but an answer binds nobody. */
  | { readonly kind: 'status'; readonly xid: Xid }
  | { readonly kind: 'forget'; readonly xids: readonly Xid[] }
  /** `node` has lost what it knew before its life `life`: what is known of that here (legacy.ts)? */
  | { readonly kind: 'reborn'; readonly node: NodeId; readonly life: number }
  /** These were carried out at `node`, which is to be told to forget those that nobody with the asked needs any more. */
  | { readonly kind: 'needed'; readonly node: NodeId; readonly xids: readonly Xid[] };

/** `doubtful`: the store failed in the middle of a one-step commit. */
export type SaidVote = 'commit' | 'readOnly' | 'abort' | 'doubtful';
/**
 * `none`: it has no record, and will take none of this transaction any more. `forgotten`: it cannot tell, and never will:
 * what nobody else knows nobody can know.
 */
export type SaidState = 'committed' | 'aborted' | 'undecided' | 'none' | 'forgotten';

export type BranchReply =
  | {
      readonly kind: 'voted';
      readonly vote: SaidVote;
      readonly reason: AbortReason;
      /** Why it aborts. Of a commit: what whoever gives the branch again tells it of this moment (redo.ts). */
      readonly detail: string;
      /** The client's name was used before, by this transaction, which is `committed` or `undecided`. */
      readonly earlier: { readonly xid: Xid; readonly state: SaidState } | undefined;
    }
  /** The commit is done here; `met`: durable at as many replicas as the level names. */
  | { readonly kind: 'ended'; readonly met: boolean }
  | { readonly kind: 'told'; readonly state: SaidState }
  /** To a node that has lost its disk. */
  | ({ readonly kind: 'bequeathed' } & Legacy);

/** The last four are younger than the version: a node that does not know them says so. */
const requestKinds = [
  'prepare',
  'commitAlone',
  'commit',
  'rollback',
  'inquire',
  'forget',
  'status',
  'redo',
  'put',
  'inquirePut',
  'needed',
  'reborn',
] as const;
const replyKinds = ['voted', 'ended', 'told', 'bequeathed'] as const;
const votes: readonly SaidVote[] = ['commit', 'readOnly', 'abort', 'doubtful'];
const states: readonly SaidState[] = ['committed', 'aborted', 'undecided', 'none', 'forgotten'];
const reasons: readonly AbortReason[] = [
  'force_abort',
  'conflict',
  'precondition_failed',
  'prepare_failed',
  'prepare_timeout',
  'no_targets',
];

/** Room for a message to begin with: most fit. */
const orderBytes = 512;
const shortBytes = 64;

export function encodeRequest(request: BranchRequest): Buffer {
  const writer = begin(requestKinds.indexOf(request.kind), 'order' in request ? orderBytes : shortBytes);
  if (request.kind === 'forget' || request.kind === 'needed') {
    if (request.kind === 'needed') writer.string(byteStringOf(request.node));
    writer.varint(request.xids.length);
    for (const xid of request.xids) writer.string(xid);
    return writer.finish();
  }
  if (request.kind === 'reborn')
    return writer.string(byteStringOf(request.node)).varint(request.life).finish();
  writer.string(request.xid);
  if ('order' in request) writeOrder(writer, request.order);
  if (request.kind === 'redo' && request.mark !== '') writer.string(byteStringOf(request.mark));
  if ('life' in request) writer.varint(request.life);
  return writer.finish();
}

/** Throws `BytesError` for bytes that `encodeRequest` did not write. */
export function decodeRequest(bytes: Uint8Array): BranchRequest {
  const reader = new ByteReader(bytes);
  const kind = among(requestKinds, opening(reader));
  if (kind === 'forget' || kind === 'needed') {
    const node = kind === 'needed' ? readNode(reader) : undefined;
    const xids = readList(reader, readXid);
    reader.end();
    return node === undefined ? { kind: 'forget', xids } : { kind: 'needed', node, xids };
  }
  const request = kind === 'reborn' ? readReborn(reader) : readRequest(reader, kind, readXid(reader));
  reader.end();
  return request;
}

function readReborn(reader: ByteReader): BranchRequest {
  return { kind: 'reborn', node: readNode(reader), life: reader.varint() };
}

function readRequest(
  reader: ByteReader,
  kind: Exclude<(typeof requestKinds)[number], 'forget' | 'needed' | 'reborn'>,
  xid: Xid,
): BranchRequest {
  switch (kind) {
    case 'prepare':
    case 'commitAlone':
    case 'put':
      return { kind, xid, order: readOrder(reader) };
    case 'redo': {
      const order = readOrder(reader);
      return { kind, xid, order, mark: reader.left === 0 ? '' : textOf(reader.string()) };
    }
    case 'inquire':
    case 'inquirePut':
      return { kind, xid, life: reader.varint() };
    case 'commit':
    case 'rollback':
    case 'status':
      return { kind, xid };
  }
}

/** The asker has chosen the node by its ring: as the primary of the order's keys. */
export function isOrder(bytes: Uint8Array): boolean {
  const kind = requestKinds[bytes[1] ?? requestKinds.length];
  return kind === 'prepare' || kind === 'commitAlone' || kind === 'put';
}

/** What is read of the bytes has views of them. */
export function holdsOrder(bytes: Uint8Array): boolean {
  return isOrder(bytes) || requestKinds[bytes[1] ?? requestKinds.length] === 'redo';
}

/** The order within the bytes of a request that has one: a record holds it in the same form. */
export function orderBytesOf(bytes: Uint8Array, xid: Xid): Uint8Array {
  // Version, kind, and a name whose length is one byte.
  return bytes.subarray(3 + xid.length);
}

export function encodeReply(reply: BranchReply): Buffer {
  const writer = begin(replyKinds.indexOf(reply.kind), shortBytes);
  switch (reply.kind) {
    case 'voted':
      writer.u8(votes.indexOf(reply.vote)).u8(reasons.indexOf(reply.reason));
      writer.string(byteStringOf(reply.detail)).u8(reply.earlier === undefined ? 0 : 1);
      if (reply.earlier !== undefined) {
        writer.string(reply.earlier.xid).u8(states.indexOf(reply.earlier.state));
      }
      break;
    case 'ended':
      writer.u8(reply.met ? 1 : 0);
      break;
    case 'told':
      writer.u8(states.indexOf(reply.state));
      break;
    case 'bequeathed':
      writer.u8((reply.open ? 1 : 0) + (reply.holds ? 2 : 0) + (reply.whole ? 4 : 0));
      writer.varint(reply.heard.length);
      for (const node of reply.heard) writer.string(byteStringOf(node));
      break;
  }
  return writer.finish();
}

/** Throws `BytesError` for bytes that `encodeReply` did not write. */
export function decodeReply(bytes: Uint8Array): BranchReply {
  const reader = new ByteReader(bytes);
  const kind = among(replyKinds, opening(reader));
  const reply = readReply(reader, kind);
  reader.end();
  return reply;
}

function readReply(reader: ByteReader, kind: (typeof replyKinds)[number]): BranchReply {
  switch (kind) {
    case 'voted': {
      const vote = among(votes, reader.u8());
      const reason = among(reasons, reader.u8());
      const detail = textOf(reader.string());
      const earlier =
        reader.u8() === 0 ? undefined : { xid: readXid(reader), state: among(states, reader.u8()) };
      return { kind, vote, reason, detail, earlier };
    }
    case 'ended':
      return { kind, met: reader.u8() === 1 };
    case 'told':
      return { kind, state: among(states, reader.u8()) };
    case 'bequeathed': {
      const flags = reader.u8();
      const [open, holds, whole] = [(flags & 1) !== 0, (flags & 2) !== 0, (flags & 4) !== 0];
      return { kind, open, holds, whole, heard: readList(reader, readNode) };
    }
  }
}

export function writeOrder(writer: ByteWriter, order: BranchOrder): void {
  writer.string(byteStringOf(order.coordinator)).u8(consistencyLevels.indexOf(order.level));
  writer.string(byteStringOf(order.clientId)).string(order.clientDigest).varint(order.branches.length);
  for (const { node, writes, life } of order.branches)
    writer
      .string(byteStringOf(node))
      .u8(writes ? 1 : 0)
      .varint(life);
  writer.varint(order.operations.length);
  for (const operation of order.operations) writeOperation(writer, operation);
}

/** Contents are views of the bytes. `namesLives`: false for an order of version 2. */
export function readOrder(reader: ByteReader, namesLives = true): BranchOrder {
  const coordinator = readNode(reader);
  const level = among(consistencyLevels, reader.u8());
  const clientId = textOf(reader.string());
  const clientDigest = reader.string();
  const branches = readList(reader, namesLives ? readLivingBranch : readLifelessBranch);
  const operations = readList(reader, readOperation);
  return { coordinator, level, clientId, clientDigest, branches, operations };
}

export function writeOperation(writer: ByteWriter, operation: BranchOperation): void {
  const { context, ifMatch, ifAbsent, check } = operation;
  const given = (context === undefined ? 0 : 1) + (ifMatch === undefined ? 0 : 2);
  const flags = given + (ifAbsent ? 4 : 0) + (check ? 8 : 0);
  writer.string(operation.key).u32(operation.token).u8(flags);
  if (context !== undefined) writeVector(writer, context);
  if (ifMatch !== undefined) writeVector(writer, ifMatch);
  writeContent(writer, operation.content);
}

function readLivingBranch(reader: ByteReader): BranchName {
  return { node: readNode(reader), writes: reader.u8() === 1, life: reader.varint() };
}

function readLifelessBranch(reader: ByteReader): BranchName {
  return { node: readNode(reader), writes: reader.u8() === 1, life: 0 };
}

function readOperation(reader: ByteReader): BranchOperation {
  const key = reader.string() as PackedKey;
  if (unpackKey(key) === undefined) throw new BytesError('a key is not in its packed form');
  const token = reader.u32() as Token;
  const flags = reader.u8();
  const context = (flags & 1) === 0 ? undefined : readVector(reader);
  const ifMatch = (flags & 2) === 0 ? undefined : readVector(reader);
  const ifAbsent = (flags & 4) !== 0;
  return { key, token, context, ifMatch, ifAbsent, check: (flags & 8) !== 0, content: readContent(reader) };
}

function begin(kind: number, bytes: number): ByteWriter {
  return new ByteWriter(bytes).u8(version).u8(kind);
}

function opening(reader: ByteReader): number {
  const found = reader.u8();
  if (found !== version) throw new BytesError(`words of version ${found}; this node speaks ${version}`);
  return reader.u8();
}

export function readXid(reader: ByteReader): Xid {
  const text = reader.string();
  const xid = parseXid(text);
  if (xid === undefined) throw new BytesError('a transaction without a name');
  return xid;
}

export function readNode(reader: ByteReader): NodeId {
  const node = parseNodeId(textOf(reader.string()));
  if (node === undefined) throw new BytesError('a node without a name');
  return node;
}

export function readList<T>(reader: ByteReader, readItem: (reader: ByteReader) => T): readonly T[] {
  const count = reader.varint();
  if (count > reader.left) throw new BytesError(`a list of ${count} items in ${reader.left} bytes`);
  const items: T[] = [];
  for (let index = 0; index < count; index++) items.push(readItem(reader));
  return items;
}

export function among<T>(words: readonly T[], index: number): T {
  const word = words[index];
  if (word === undefined) throw new BytesError(`a word of number ${index} where ${words.length} are known`);
  return word;
}
