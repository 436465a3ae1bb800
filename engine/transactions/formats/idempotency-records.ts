/**
 * The names that clients gave to transactions, written down: which transaction carried a name out, and which tokens its
 * keys have, by which whoever takes over a range learns the names that belong to it.
 *
 *     client/<id>    u8 version | xid | digest | u64 since | tokens
 *
 * Between nodes the same without the version, behind the name: beside the objects that were written under it (`clientName`
 * of the wire's messages), and in lists (messages.ts).
 */
import { ByteReader, ByteWriter, BytesError } from '../../base/bytes.ts';
import type { ByteString, Token } from '../../base/ids.ts';
import { byteStringOf, textOf } from '../../base/ids.ts';
import { systemKey } from '../../base/object-key.ts';
import type { StoreWrite } from '../../storage/store.ts';
import { readList, readXid } from './reading.ts';
import type { Xid } from './xid.ts';

const version = 5;
/** Does not say which tokens. */
const tokenlessVersion = 4;
const oldestVersion = 2;

/** 128 characters in UTF-8. */
const clientIdBytesMax = 512;

/** The token of all records: they belong to the node, not to the ring. */
const recordToken = 0 as Token;

export const clientBucket = byteStringOf('xa.client');

export interface ClientRecord {
  readonly xid: Xid;
  /** What was done under the name, in short; empty in a fence: nothing was, and nothing will be. */
  readonly digest: ByteString;
  /** By the wall clock of whoever wrote the record. */
  readonly sinceMs: number;
  /** Of the keys of the branch, each once; none: a node of before did not say, and they may be any. */
  readonly tokens: readonly Token[];
}

/** A name with what it stands for. */
export interface NamedRecord extends ClientRecord {
  /** Not empty. */
  readonly clientId: string;
}

/** The record is a fence: nothing is carried out under the name. `xid`: the attempt that was aborted. */
export function isFence({ digest }: Pick<ClientRecord, 'digest'>): boolean {
  return digest === '';
}

export function writeClient({ clientId, ...record }: NamedRecord): StoreWrite {
  const writer = writeRecord(new ByteWriter(64 + 4 * record.tokens.length).u8(version), record);
  return { key: keyOf(clientId), token: recordToken, value: writer.finish() };
}

/** Throws `BytesError`. */
export function readClient(bytes: Uint8Array): ClientRecord {
  const reader = new ByteReader(bytes);
  const found = reader.u8();
  if (found < oldestVersion || found > version)
    throw new BytesError(`a record of version ${found}; this node reads ${oldestVersion} to ${version}`);
  const record = readRecord(reader, found > tokenlessVersion);
  reader.end();
  return record;
}

export function dropClient(clientId: string): StoreWrite {
  return { key: keyOf(clientId), token: recordToken, value: undefined };
}

export function encodeName(named: NamedRecord): Buffer {
  return writeName(new ByteWriter(96 + 4 * named.tokens.length), named).finish();
}

/** Throws `BytesError` on anything but what `encodeName` wrote. */
export function decodeName(bytes: Uint8Array): NamedRecord {
  const reader = new ByteReader(bytes);
  const named = readName(reader);
  reader.end();
  return named;
}

export function writeName(writer: ByteWriter, { clientId, ...record }: NamedRecord): ByteWriter {
  return writeRecord(writer.string(byteStringOf(clientId)), record);
}

/** Throws `BytesError`. */
export function readName(reader: ByteReader): NamedRecord {
  const name = reader.string();
  if (name.length === 0 || name.length > clientIdBytesMax)
    throw new BytesError(`a client's name of ${name.length} bytes`);
  return { clientId: textOf(name), ...readRecord(reader, true) };
}

/** So many bytes `writeName` makes of it, about. */
export function nameBytes({ clientId, tokens }: NamedRecord): number {
  return 2 * clientId.length + 4 * tokens.length + 96;
}

function writeRecord(writer: ByteWriter, { xid, digest, sinceMs, tokens }: ClientRecord): ByteWriter {
  writer.string(xid).string(digest).u64(sinceMs).varint(tokens.length);
  for (const token of tokens) writer.u32(token);
  return writer;
}

function readRecord(reader: ByteReader, namesTokens: boolean): ClientRecord {
  const xid = readXid(reader);
  const digest = reader.string();
  const sinceMs = reader.u64();
  const tokens = namesTokens ? readList(reader, () => reader.u32() as Token) : [];
  return { xid, digest, sinceMs, tokens };
}

function keyOf(clientId: string): StoreWrite['key'] {
  return systemKey(clientBucket, byteStringOf(clientId));
}
