/**
 * What coordinators and branches say to each other (the `words` of the peer messages `transact` and `transacted`), and
 * what a branch is told to do, which is also what its prepare record holds. Version 3; a reader refuses others, except
 * that records of version 2, which name no lives, are read.
 */
import { ByteReader, ByteWriter, BytesError } from '../../base/bytes.ts';
import type { ByteString, NodeId, Token } from '../../base/ids.ts';
import { byteStringOf, textOf } from '../../base/ids.ts';
import type { PackedKey } from '../../base/object-key.ts';
import { unpackKey } from '../../base/object-key.ts';
import type { ConsistencyLevel } from '../../replication/requests.ts';
import { consistencyLevels } from '../../replication/requests.ts';
import type { Content } from '../../replica/object/content.ts';
import { readContent, writeContent } from '../../replica/object/content.ts';
import type { LostDiskState } from '../../cluster/membership/lost-disk-state.ts';
import type { VersionVector } from '../../replica/object/dots.ts';
import { readVector, writeVector } from '../../replica/object/dots.ts';
import type { NamedRecord } from './idempotency-records.ts';
import { readName, writeName } from './idempotency-records.ts';
import type { AbortReason } from './outcomes.ts';
import { among, readList, readNode, readXid } from './reading.ts';
import type { Xid } from './xid.ts';

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
export interface PrepareRequest {
  readonly coordinator: NodeId;
  readonly level: ConsistencyLevel;
  /** The client's own name of the transaction; empty for none. */
  readonly clientId: string;
  /** What the client wants done under its name, in short (transactions/coordinator/partition.ts); empty without a name. */
  readonly clientDigest: ByteString;
  readonly branches: readonly BranchName[];
  readonly operations: readonly BranchOperation[];
}

export type BranchRequest =
  | { readonly kind: 'prepare'; readonly xid: Xid; readonly order: PrepareRequest }
  /** Prepare and commit in one step: it is the only branch. */
  | { readonly kind: 'commitAlone'; readonly xid: Xid; readonly order: PrepareRequest }
  /** A single put, to be written as the asked node's own are: without a record (transactions/one-phase/remote-puts.ts). */
  | { readonly kind: 'put'; readonly xid: Xid; readonly order: PrepareRequest }
  /** What became of it? `life`: of the asked, as the order names it: no other one knows. Having none, it takes none. */
  | { readonly kind: 'inquirePut'; readonly xid: Xid; readonly life: number }
  | { readonly kind: 'commit'; readonly xid: Xid }
  /** Commit what you have prepared and lost: the order once more, and what came with the vote; empty for nothing. */
  | { readonly kind: 'redo'; readonly xid: Xid; readonly order: PrepareRequest; readonly mark: string }
  | { readonly kind: 'rollback'; readonly xid: Xid }
  /** What do you know of it? `life`: of the asked, as the order names it; a disk that is younger cannot say `none`, but `forgotten`. */
  | { readonly kind: 'inquire'; readonly xid: Xid; readonly life: number }
  /** A client asks by name: the same, but an answer binds nobody. */
  | { readonly kind: 'status'; readonly xid: Xid }
  | { readonly kind: 'forget'; readonly xids: readonly Xid[] }
  /** `node` has lost what it knew before its life `life`: what is known of that here (transactions/recovery/lost-disk-state.ts)? */
  | { readonly kind: 'reborn'; readonly node: NodeId; readonly life: number }
  /** `heir` replaces `node`, which has died: what that had voted for is to be given to the heir. Answered by `told`. */
  | { readonly kind: 'inherit'; readonly node: NodeId; readonly heir: NodeId }
  /** These were carried out at `node`, which is to be told to forget those that nobody with the asked needs any more. */
  | { readonly kind: 'needed'; readonly node: NodeId; readonly xids: readonly Xid[] }
  /** What was carried out under this name of a client's? Answered by `named`: with one name or none. */
  | { readonly kind: 'recall'; readonly clientId: string }
  /** The next names of the keys with these tokens (from, to], behind the name `after` (empty: the first). Answered by `named`. */
  | { readonly kind: 'names'; readonly from: Token; readonly to: Token; readonly after: string }
  /** What was carried out where these keys were led before (replication/batch-codec.ts). Answered, `told`, once it is durable. */
  | { readonly kind: 'adopt'; readonly batch: Uint8Array }
  /** Keep these names, too. Answered, `told`, once they are durable. */
  | { readonly kind: 'learn'; readonly names: readonly NamedRecord[] }
  /**
   * `leader`, a primary, asks before it votes: may the transaction be carried out under the client's id? Answered by
   * `named`: with no name (yes, and the answering node remembers the claim) or with the record that stands against it; or
   * by `voted`: another attempt is under way.
   */
  | ({ readonly kind: 'claim'; readonly xid: Xid; readonly leader: NodeId } & ClientName)
  /**
   * Nothing is to be carried out under the client's id any more; the attempt `xid` certainly is not. `tokens`: of its keys.
   * Answered by `fenced` once that is durable, or as `claim` when it cannot be.
   */
  | ({ readonly kind: 'fence'; readonly xid: Xid; readonly tokens: readonly Token[] } & ClientName)
  /** Which attempts under ids of clients are open with you, behind the id `after`? Answered by `named`. */
  | { readonly kind: 'open'; readonly after: string };

/** The client's own name of a transaction, not empty, and what it wants done under it, in short. */
type ClientName = Pick<PrepareRequest, 'clientId' | 'clientDigest'>;

/** A primary has asked whether it may carry the transaction out under a client's id, and was told yes. */
export interface Claimed {
  readonly xid: Xid;
  readonly leader: NodeId;
}

/** `doubtful`: the store failed in the middle of a one-step commit. */
export type ReportedVote = 'commit' | 'readOnly' | 'abort' | 'doubtful';
/**
 * `none`: it has no record, and will take none of this transaction any more. `forgotten`: it cannot tell, and never will:
 * what nobody else knows nobody can know.
 */
export type ReportedState = 'committed' | 'aborted' | 'undecided' | 'none' | 'forgotten';

export type BranchReply =
  | {
      readonly kind: 'voted';
      readonly vote: ReportedVote;
      readonly reason: AbortReason;
      /** Why it aborts. Of a commit: what whoever gives the branch again tells it of this moment (transactions/recovery/redo.ts). */
      readonly detail: string;
      /** The client's name was used before, by this transaction, which is `committed` or `undecided`. */
      readonly earlier: { readonly xid: Xid; readonly state: ReportedState } | undefined;
    }
  /** The commit is done here; `met`: durable at as many replicas as the level names. */
  | { readonly kind: 'ended'; readonly met: boolean }
  | { readonly kind: 'told'; readonly state: ReportedState }
  /** To a node that has lost its disk. */
  | ({ readonly kind: 'bequeathed' } & LostDiskState)
  /** `more`: not all of the range. */
  | { readonly kind: 'named'; readonly names: readonly NamedRecord[]; readonly more: boolean }
  /**
   * The fence is durable. `claims`: of other attempts under the id. `unheard`: members whose open attempts this life does
   * not know, so that it may have forgotten claims of theirs. `leads`: this node's disk is whole, so that it would know of
   * attempts of its own.
   */
  | {
      readonly kind: 'fenced';
      readonly claims: readonly Claimed[];
      readonly unheard: readonly NodeId[];
      readonly leads: boolean;
    };

/** The last twelve are younger than the version: a node that does not know them says so. */
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
  'recall',
  'names',
  'learn',
  'inherit',
  'adopt',
  'claim',
  'fence',
  'open',
] as const;
const replyKinds = ['voted', 'ended', 'told', 'bequeathed', 'named', 'fenced'] as const;
const votes: readonly ReportedVote[] = ['commit', 'readOnly', 'abort', 'doubtful'];
const states: readonly ReportedState[] = ['committed', 'aborted', 'undecided', 'none', 'forgotten'];
const reasons: readonly AbortReason[] = [
  'force_abort',
  'conflict',
  'precondition_failed',
  'prepare_failed',
  'prepare_timeout',
  'no_targets',
  'disk_full',
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
  if (request.kind === 'inherit')
    return writer.string(byteStringOf(request.node)).string(byteStringOf(request.heir)).finish();
  if (request.kind === 'recall') return writer.string(byteStringOf(request.clientId)).finish();
  if (request.kind === 'names')
    return writer.u32(request.from).u32(request.to).string(byteStringOf(request.after)).finish();
  if (request.kind === 'adopt') return writer.bytes(request.batch).finish();
  if (request.kind === 'learn') return writeNames(writer, request.names).finish();
  if (request.kind === 'open') return writer.string(byteStringOf(request.after)).finish();
  writer.string(request.xid);
  if (request.kind === 'claim' || request.kind === 'fence')
    writer.string(byteStringOf(request.clientId)).string(request.clientDigest);
  if (request.kind === 'claim') writer.string(byteStringOf(request.leader));
  if (request.kind === 'fence') {
    writer.varint(request.tokens.length);
    for (const token of request.tokens) writer.u32(token);
  }
  if ('order' in request) writePrepareRequest(writer, request.order);
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
  const request = isUnnamed(kind) ? readUnnamed(reader, kind) : readRequest(reader, kind, readXid(reader));
  reader.end();
  return request;
}

/** Requests of no transaction. */
const unnamed = ['reborn', 'inherit', 'recall', 'names', 'learn', 'adopt', 'open'] as const;
type Unnamed = (typeof unnamed)[number];

function isUnnamed(kind: BranchRequest['kind']): kind is Unnamed {
  return unnamed.some((one) => one === kind);
}

function readUnnamed(reader: ByteReader, kind: Unnamed): BranchRequest {
  switch (kind) {
    case 'reborn':
      return { kind, node: readNode(reader), life: reader.varint() };
    case 'inherit':
      return { kind, node: readNode(reader), heir: readNode(reader) };
    case 'recall':
      return { kind, clientId: textOf(reader.string()) };
    case 'names': {
      const from = reader.u32() as Token;
      const to = reader.u32() as Token;
      return { kind, from, to, after: textOf(reader.string()) };
    }
    case 'learn':
      return { kind, names: readList(reader, readName) };
    case 'open':
      return { kind, after: textOf(reader.string()) };
    case 'adopt':
      return { kind, batch: reader.bytes() };
  }
}

function writeNames(writer: ByteWriter, names: readonly NamedRecord[]): ByteWriter {
  writer.varint(names.length);
  for (const one of names) writeName(writer, one);
  return writer;
}

function readRequest(
  reader: ByteReader,
  kind: Exclude<(typeof requestKinds)[number], 'forget' | 'needed' | Unnamed>,
  xid: Xid,
): BranchRequest {
  switch (kind) {
    case 'prepare':
    case 'commitAlone':
    case 'put':
      return { kind, xid, order: readPrepareRequest(reader) };
    case 'redo': {
      const order = readPrepareRequest(reader);
      return { kind, xid, order, mark: reader.left === 0 ? '' : textOf(reader.string()) };
    }
    case 'inquire':
    case 'inquirePut':
      return { kind, xid, life: reader.varint() };
    case 'claim': {
      const name = readClientName(reader);
      return { kind, xid, ...name, leader: readNode(reader) };
    }
    case 'fence': {
      const name = readClientName(reader);
      return { kind, xid, ...name, tokens: readList(reader, () => reader.u32() as Token) };
    }
    case 'commit':
    case 'rollback':
    case 'status':
      return { kind, xid };
  }
}

/** Throws `BytesError` for an empty id. */
function readClientName(reader: ByteReader): ClientName {
  const clientId = textOf(reader.string());
  if (clientId === '') throw new BytesError('an empty id of a client');
  return { clientId, clientDigest: reader.string() };
}

/** The asker has chosen the node by its ring: as the owner of keys whose id nothing may be carried out under any more. */
export function isFence(bytes: Uint8Array): boolean {
  return requestKinds[bytes[1] ?? requestKinds.length] === 'fence';
}

/** The asker has chosen the node by its ring: as the primary of the order's keys. */
export function isPrepareRequest(bytes: Uint8Array): boolean {
  const kind = requestKinds[bytes[1] ?? requestKinds.length];
  return kind === 'prepare' || kind === 'commitAlone' || kind === 'put';
}

/** What is read of the bytes has views of them. */
export function hasPrepareRequest(bytes: Uint8Array): boolean {
  const kind = requestKinds[bytes[1] ?? requestKinds.length];
  return isPrepareRequest(bytes) || kind === 'redo' || kind === 'adopt';
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
    case 'named':
      writeNames(writer.u8(reply.more ? 1 : 0), reply.names);
      break;
    case 'fenced':
      writer.u8(reply.leads ? 1 : 0).varint(reply.claims.length);
      for (const { xid, leader } of reply.claims) writer.string(xid).string(byteStringOf(leader));
      writer.varint(reply.unheard.length);
      for (const node of reply.unheard) writer.string(byteStringOf(node));
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
    case 'named': {
      const more = reader.u8() === 1;
      return { kind, more, names: readList(reader, readName) };
    }
    case 'fenced': {
      const leads = reader.u8() === 1;
      const claims = readList(reader, () => ({ xid: readXid(reader), leader: readNode(reader) }));
      return { kind, leads, claims, unheard: readList(reader, readNode) };
    }
  }
}

export function writePrepareRequest(writer: ByteWriter, order: PrepareRequest): void {
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
export function readPrepareRequest(reader: ByteReader, namesLives = true): PrepareRequest {
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
