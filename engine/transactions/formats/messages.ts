/**
 * The messages between coordinators, branches and owners of idempotency keys: payloads of the peer messages `transact`
 * and `transacted`. Also the prepare request, which a prepare record stores in the same form.
 *
 * Version 3. A reader refuses every other version, except that it reads records of version 2, which name no
 * incarnations.
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

/** One operation of a transaction, as the primary of its key gets it. */
export interface BranchOperation {
  readonly key: PackedKey;
  readonly token: Token;
  readonly content: Content;
  readonly context: VersionVector | undefined;
  readonly ifMatch: VersionVector | undefined;
  readonly ifAbsent: boolean;
  /**
   * Writes nothing. The key stays locked until the outcome, so the operation's conditions hold when the batch commits.
   */
  readonly check: boolean;
}

/** A branch of the transaction. `writes`: it certainly writes something, so it never votes read-only. */
export interface BranchName {
  readonly node: NodeId;
  readonly writes: boolean;
  /**
   * The incarnation number that the coordinator knew of the node when it sent the prepare request. 0 if it knew none.
   */
  readonly life: number;
}

/** What the coordinator asks a branch to prepare. */
export interface PrepareRequest {
  readonly coordinator: NodeId;
  readonly level: ConsistencyLevel;
  /** The idempotency key; empty for none. */
  readonly clientId: string;
  /** Digest of the client's operations (transactions/coordinator/partition.ts). Empty without an idempotency key. */
  readonly clientDigest: ByteString;
  readonly branches: readonly BranchName[];
  readonly operations: readonly BranchOperation[];
}

/** A request from one node to another. */
export type BranchRequest =
  | { readonly kind: 'prepare'; readonly xid: Xid; readonly order: PrepareRequest }
  /** Prepare and commit in one step: this is the only branch. */
  | { readonly kind: 'commitAlone'; readonly xid: Xid; readonly order: PrepareRequest }
  /**
   * A single put. The asked primary writes it as it writes its own, without a record
   * (transactions/one-phase/remote-puts.ts).
   */
  | { readonly kind: 'put'; readonly xid: Xid; readonly order: PrepareRequest }
  /**
   * Asks what became of a put. `life`: the incarnation of the asked node that the request named; another incarnation
   * answers `forgotten`. If the node has not seen the put, it answers `none` and refuses it from then on.
   */
  | { readonly kind: 'inquirePut'; readonly xid: Xid; readonly life: number }
  | { readonly kind: 'commit'; readonly xid: Xid }
  /**
   * Commits a branch that was prepared and whose record is lost: the prepare request again, with the mark of the vote
   * (empty for none).
   */
  | { readonly kind: 'redo'; readonly xid: Xid; readonly order: PrepareRequest; readonly mark: string }
  | { readonly kind: 'rollback'; readonly xid: Xid }
  /**
   * Asks what the node knows of the transaction. `life`: the incarnation of the asked node that the prepare request
   * named. A node whose log began later answers `forgotten`, not `none`.
   */
  | { readonly kind: 'inquire'; readonly xid: Xid; readonly life: number }
  /** The same on behalf of a client. The answer commits the node to nothing. */
  | { readonly kind: 'status'; readonly xid: Xid }
  /**
   * Asks whether the node's branch of the transaction waits for the outcome. Answered by `told`: `undecided` if it does,
   * else `none`.
   */
  | { readonly kind: 'waits'; readonly xid: Xid }
  | { readonly kind: 'forget'; readonly xids: readonly Xid[] }
  /**
   * `node` has lost what it knew before its incarnation `life`. Asks what the receiver knows of that
   * (transactions/recovery/lost-disk-state.ts).
   */
  | { readonly kind: 'reborn'; readonly node: NodeId; readonly life: number }
  /**
   * `replacement` replaces the dead `node`. The receiver sends it the prepare requests of committed transactions that
   * `node` has not applied. Answered by `told`.
   */
  | { readonly kind: 'inherit'; readonly node: NodeId; readonly replacement: NodeId }
  /**
   * `node` has applied these branches. The receiver tells it to forget those that none of its transactions needs any
   * more. It answers `forgotten` if it has lost one of them with its disk, else `none`.
   */
  | { readonly kind: 'needed'; readonly node: NodeId; readonly xids: readonly Xid[] }
  /** Asks which transaction was applied under this idempotency key. Answered by `named` with one record or none. */
  | { readonly kind: 'recall'; readonly clientId: string }
  /**
   * Asks for the next idempotency keys with tokens in (from, to], after the key `after` (empty: from the start).
   * Answered by `named`.
   */
  | { readonly kind: 'names'; readonly from: Token; readonly to: Token; readonly after: string }
  /**
   * A batch that was applied by the keys' former primary (replication/batch-codec.ts). Answered by `told` once it is
   * durable.
   */
  | { readonly kind: 'adopt'; readonly batch: Uint8Array }
  /** Asks the receiver to keep these idempotency records, too. Answered by `told` once they are durable. */
  | { readonly kind: 'learn'; readonly names: readonly NamedRecord[] }
  /**
   * `leader`, a primary, asks before it votes whether the transaction may be applied under its idempotency key. The
   * answer is
   *
   * - `named` without a record: yes, and the answering node remembers the claim;
   * - `named` with the record that rules it out;
   * - `voted`: another attempt is under way.
   */
  | ({ readonly kind: 'claim'; readonly xid: Xid; readonly leader: NodeId } & ClientName)
  /**
   * Nothing may be applied under the idempotency key any more; the attempt `xid` certainly is not. `tokens`: of its
   * keys. Answered by `fenced` once that is durable, or as `claim` is if the key was or may be applied.
   */
  | ({ readonly kind: 'fence'; readonly xid: Xid; readonly tokens: readonly Token[] } & ClientName)
  /**
   * Asks which attempts under idempotency keys are open at the receiver, after the key `after`. Answered by `named`.
   */
  | { readonly kind: 'open'; readonly after: string };

/** A transaction's idempotency key, not empty, and the digest of its operations. */
type ClientName = Pick<PrepareRequest, 'clientId' | 'clientDigest'>;

/** A claim: the owner has allowed the primary `leader` to apply the transaction under an idempotency key. */
export interface Claimed {
  readonly xid: Xid;
  readonly leader: NodeId;
}

/** A branch's vote. `doubtful`: the store failed in the middle of a one-step commit, so the outcome is unknown. */
export type ReportedVote = 'commit' | 'readOnly' | 'abort' | 'doubtful';
/**
 * What a node knows of a transaction. `none`: it has no record, and will accept none of this transaction any more.
 * `forgotten`: its log does not go back far enough to tell, and never will.
 */
export type ReportedState = 'committed' | 'aborted' | 'undecided' | 'none' | 'forgotten';

/** The answer to a `BranchRequest`. */
export type BranchReply =
  | {
      readonly kind: 'voted';
      readonly vote: ReportedVote;
      readonly reason: AbortReason;
      /**
       * Why the branch aborts. Of a vote to commit: the mark that a later `redo` must bring along
       * (transactions/recovery/redo.ts).
       */
      readonly detail: string;
      /** The idempotency key was used before, by this transaction, which is `committed` or `undecided`. */
      readonly earlier: { readonly xid: Xid; readonly state: ReportedState } | undefined;
    }
  /** The branch is committed here. `met`: it is durable at as many replicas as the level requires. */
  | { readonly kind: 'ended'; readonly met: boolean }
  | { readonly kind: 'told'; readonly state: ReportedState }
  /** Answers `reborn`: a node that has lost its disk. */
  | ({ readonly kind: 'bequeathed' } & LostDiskState)
  /** `more`: the range has further records. */
  | { readonly kind: 'named'; readonly names: readonly NamedRecord[]; readonly more: boolean }
  /**
   * The fence is durable.
   *
   * - `claims`: of other attempts under the idempotency key.
   * - `unheard`: members whose open attempts this incarnation has not heard, so it may have forgotten claims of theirs.
   * - `leads`: this node's disk is whole, so it would know of attempts of its own.
   */
  | {
      readonly kind: 'fenced';
      readonly claims: readonly Claimed[];
      readonly unheard: readonly NodeId[];
      readonly leads: boolean;
    };

/** A node of an older build may not know the last thirteen and answers `BadRequest` to them. */
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
  'waits',
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

/** Initial buffer sizes in bytes; most messages fit. */
const orderBytes = 512;
const shortBytes = 64;

/** Encodes a request. */
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
    return writer.string(byteStringOf(request.node)).string(byteStringOf(request.replacement)).finish();
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

/** Decodes a request. Throws `BytesError` for bytes that `encodeRequest` did not write. */
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

/** Requests that name no transaction. */
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
      return { kind, node: readNode(reader), replacement: readNode(reader) };
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
    case 'waits':
      return { kind, xid };
  }
}

/** Throws `BytesError` for an empty idempotency key. */
function readClientName(reader: ByteReader): ClientName {
  const clientId = textOf(reader.string());
  if (clientId === '') throw new BytesError('an empty id of a client');
  return { clientId, clientDigest: reader.string() };
}

/** True if the request is a fence. The asker chose the receiver by its ring, as an owner of the keys. */
export function isFence(bytes: Uint8Array): boolean {
  return requestKinds[bytes[1] ?? requestKinds.length] === 'fence';
}

/**
 * True if the request carries a prepare request that the receiver must lead. The asker chose it by its ring, as the
 * primary of the keys.
 */
export function isPrepareRequest(bytes: Uint8Array): boolean {
  const kind = requestKinds[bytes[1] ?? requestKinds.length];
  return kind === 'prepare' || kind === 'commitAlone' || kind === 'put';
}

/** True if the decoded request holds views of the bytes, so the bytes must outlive the frame. */
export function hasPrepareRequest(bytes: Uint8Array): boolean {
  const kind = requestKinds[bytes[1] ?? requestKinds.length];
  return isPrepareRequest(bytes) || kind === 'redo' || kind === 'adopt';
}

/**
 * The bytes of the prepare request within a message of kind `prepare`, `commitAlone` or `put`. A record stores them as
 * they are.
 */
export function orderBytesOf(bytes: Uint8Array, xid: Xid): Uint8Array {
  // Skips the version, the kind, and the transaction's id, whose length takes one byte.
  return bytes.subarray(3 + xid.length);
}

/** Encodes a reply. */
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

/** Decodes a reply. Throws `BytesError` for bytes that `encodeReply` did not write. */
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

/** Appends a prepare request to a message or a record. */
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

/** Reads a prepare request. Values are views of the bytes. Throws `BytesError`. */
export function readPrepareRequest(reader: ByteReader): PrepareRequest {
  const coordinator = readNode(reader);
  const level = among(consistencyLevels, reader.u8());
  const clientId = textOf(reader.string());
  const clientDigest = reader.string();
  const branches = readList(reader, readBranchName);
  const operations = readList(reader, readOperation);
  return { coordinator, level, clientId, clientDigest, branches, operations };
}

/** Appends one operation. The digest of an idempotency key is over these bytes, too. */
export function writeOperation(writer: ByteWriter, operation: BranchOperation): void {
  const { context, ifMatch, ifAbsent, check } = operation;
  const given = (context === undefined ? 0 : 1) + (ifMatch === undefined ? 0 : 2);
  const flags = given + (ifAbsent ? 4 : 0) + (check ? 8 : 0);
  writer.string(operation.key).u32(operation.token).u8(flags);
  if (context !== undefined) writeVector(writer, context);
  if (ifMatch !== undefined) writeVector(writer, ifMatch);
  writeContent(writer, operation.content);
}

function readBranchName(reader: ByteReader): BranchName {
  return { node: readNode(reader), writes: reader.u8() === 1, life: reader.varint() };
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
