/**
 * The record of an idempotency key: which transaction was applied under it, and the tokens of that transaction's keys.
 * A node that takes over a range finds the idempotency keys of that range by these tokens.
 *
 *     client/<id>    u8 version | xid | digest | u64 since | tokens
 *
 * Between nodes the same bytes travel behind the idempotency key and without the version: beside the objects that were
 * written under it (`clientName` of the peer messages), and in lists (messages.ts).
 */
import { ByteReader, ByteWriter, BytesError } from '../../base/bytes.ts';
import type { ByteString, Token } from '../../base/ids.ts';
import { byteStringOf, textOf } from '../../base/ids.ts';
import { systemKey } from '../../base/object-key.ts';
import type { StoreWrite } from '../../storage/store.ts';
import { readList, readXid } from './reading.ts';
import type { Xid } from './xid.ts';

const version = 5;

/** 128 characters in UTF-8. */
const clientIdBytesMax = 512;

/** The token of all records: they belong to the node, not to the ring. */
const recordToken = 0 as Token;

/** The system bucket of idempotency records. */
export const clientBucket = byteStringOf('xa.client');

/** What is stored under an idempotency key. */
export interface ClientRecord {
  readonly xid: Xid;
  /**
   * Digest of the operations that were applied under the key. Empty in a fence: nothing was applied, and nothing will
   * be.
   */
  readonly digest: ByteString;
  /**
   * When the record was made: milliseconds by the retention clock of the node that stores it (base/retention-clock.ts).
   * Between nodes: by the sender's, which tells the receiver nothing.
   */
  readonly sinceMs: number;
  /** Tokens of the branch's keys, each once. */
  readonly tokens: readonly Token[];
}

/** A record together with its idempotency key. */
export interface NamedRecord extends ClientRecord {
  /** Not empty. */
  readonly clientId: string;
}

/** True if the record is a fence: nothing is applied under the key any more. `xid` is then the aborted attempt. */
export function isFence({ digest }: Pick<ClientRecord, 'digest'>): boolean {
  return digest === '';
}

/** The store write that stores the record. */
export function writeClient({ clientId, ...record }: NamedRecord): StoreWrite {
  const writer = writeRecord(new ByteWriter(64 + 4 * record.tokens.length).u8(version), record);
  return { key: keyOf(clientId), token: recordToken, value: writer.finish() };
}

/** Reads a record. Throws `BytesError` for other bytes. */
export function readClient(bytes: Uint8Array): ClientRecord {
  const reader = new ByteReader(bytes);
  const found = reader.u8();
  if (found !== version) throw new BytesError(`a record of version ${found}; this node reads ${version}`);
  const record = readRecord(reader);
  reader.end();
  return record;
}

/** The store write that deletes the record. */
export function dropClient(clientId: string): StoreWrite {
  return { key: keyOf(clientId), token: recordToken, value: undefined };
}

/** Encodes a record with its idempotency key for a peer. */
export function encodeName(named: NamedRecord): Buffer {
  return writeName(new ByteWriter(96 + 4 * named.tokens.length), named).finish();
}

/** Decodes what `encodeName` wrote. Throws `BytesError` for anything else. */
export function decodeName(bytes: Uint8Array): NamedRecord {
  const reader = new ByteReader(bytes);
  const named = readName(reader);
  reader.end();
  return named;
}

/** Appends a record with its idempotency key to a message. */
export function writeName(writer: ByteWriter, { clientId, ...record }: NamedRecord): ByteWriter {
  return writeRecord(writer.string(byteStringOf(clientId)), record);
}

/** Reads what `writeName` wrote. Throws `BytesError`, also for an idempotency key of 0 or of more than 512 bytes. */
export function readName(reader: ByteReader): NamedRecord {
  const name = reader.string();
  if (name.length === 0 || name.length > clientIdBytesMax)
    throw new BytesError(`a client's name of ${name.length} bytes`);
  return { clientId: textOf(name), ...readRecord(reader) };
}

/** Estimates how many bytes `writeName` writes. */
export function nameBytes({ clientId, tokens }: NamedRecord): number {
  return 2 * clientId.length + 4 * tokens.length + 96;
}

function writeRecord(writer: ByteWriter, { xid, digest, sinceMs, tokens }: ClientRecord): ByteWriter {
  writer.string(xid).string(digest).u64(sinceMs).varint(tokens.length);
  for (const token of tokens) writer.u32(token);
  return writer;
}

function readRecord(reader: ByteReader): ClientRecord {
  const xid = readXid(reader);
  const digest = reader.string();
  const sinceMs = reader.u64();
  const tokens = readList(reader, () => reader.u32() as Token);
  return { xid, digest, sinceMs, tokens };
}

function keyOf(clientId: string): StoreWrite['key'] {
  return systemKey(clientBucket, byteStringOf(clientId));
}
