/**
 * A node's knowledge of one module id, as a value that converges. Nodes that have merged the same entries of an id, in
 * any order, have equal knowledge of it (`merge` is commutative, associative and idempotent).
 *
 * A registration or a deletion sets the version one above the highest known one. The higher version wins. Between two
 * of one version, made on two sides of a partition, a registration wins over a deletion, and the greater digest over
 * the lesser.
 *
 * For a module that routes keys this rule is not enough: a second content under the same id would look for keys where
 * the first did not store them. Such a module can only be replaced after its deletion, which is refused while a bucket
 * routes by it. If two contents were registered on two sides of a partition, both are refused from then on
 * (`disputed`), until an operator decides. No key is ever looked for in the wrong place.
 */
import type { ByteReader } from '../base/bytes.ts';
import { ByteWriter, BytesError } from '../base/bytes.ts';
import type { ModuleDigest } from './module-cache.ts';
import { digestChars, digestOf } from './module-cache.ts';

/** The knowledge of one id. */
export interface ModuleEntry {
  readonly id: string;
  /** From 1 on. */
  readonly version: number;
  /** Undefined: deleted. */
  readonly content: ModuleContent | undefined;
  /** Set if two contents of a module that routes keys were registered concurrently. */
  readonly disputed: boolean;
}

/** A registered module. */
export interface ModuleContent {
  readonly digest: ModuleDigest;
  /** The WebAssembly binary, as uploaded or as compiled from its text. */
  readonly bytes: Uint8Array;
  /** Whether the module has the keyfun role. */
  readonly routes: boolean;
}

/** An entry without its content. */
export interface EntryStamp {
  readonly id: string;
  readonly version: number;
  /** Empty if the module is deleted. */
  readonly digest: string;
  readonly disputed: boolean;
}

const idForm = /^[A-Za-z0-9_.-]{1,64}$/;
/** The form of module ids, for messages. */
export const idsAllowed = '1 to 64 of A-Z a-z 0-9 _ . -';

/** Whether `text` has the form of a module id. */
export function isModuleId(text: string): boolean {
  return idForm.test(text);
}

/** The stamp of an entry. */
export function stampOf({ id, version, content, disputed }: ModuleEntry): EntryStamp {
  return { id, version, digest: content?.digest ?? '', disputed };
}

/** Whether two stamps state the same knowledge of an id. */
export function sameStamp(left: EntryStamp, right: EntryStamp): boolean {
  return left.version === right.version && left.digest === right.digest && left.disputed === right.disputed;
}

/** The combined knowledge; `known` itself if `other` adds nothing. */
export function merge(known: ModuleEntry | undefined, other: ModuleEntry): ModuleEntry {
  if (known === undefined || other.version > known.version) return other;
  if (other.version < known.version || sameStamp(stampOf(known), stampOf(other))) return known;
  const greater = digestIn(known) >= digestIn(other) ? known : other;
  const both = known.content !== undefined && other.content !== undefined;
  const routes = both && (known.content.routes || other.content.routes);
  const two = both && known.content.digest !== other.content.digest;
  const disputed = known.disputed || other.disputed || (two && routes);
  return greater.disputed === disputed ? greater : { ...greater, disputed };
}

function digestIn({ content }: ModuleEntry): string {
  return content?.digest ?? '';
}

const deletedFlag = 1;
const disputedFlag = 2;
const routesFlag = 4;

/** Appends an entry: id, version, flags, bytes. */
export function writeEntry(writer: ByteWriter, { id, version, content, disputed }: ModuleEntry): void {
  const flags =
    (content === undefined ? deletedFlag : 0) |
    (disputed ? disputedFlag : 0) |
    (content?.routes === true ? routesFlag : 0);
  writer.bytes(Buffer.from(id)).varint(version).u8(flags);
  if (content !== undefined) writer.bytes(content.bytes);
}

/** Reads an entry and copies its bytes. Throws `BytesError`. */
export function readEntry(reader: ByteReader): ModuleEntry {
  const id = readId(reader);
  const version = readVersion(reader);
  const flags = reader.u8();
  if (flags > 7) throw new BytesError(`a module entry with flags ${flags}`);
  const disputed = (flags & disputedFlag) !== 0;
  if ((flags & deletedFlag) !== 0) return { id, version, content: undefined, disputed };
  const bytes = Uint8Array.from(reader.bytes());
  const content = { digest: digestOf(bytes), bytes, routes: (flags & routesFlag) !== 0 };
  return { id, version, content, disputed };
}

/** Appends a stamp: id, version, flags, digest. */
export function writeStamp(writer: ByteWriter, { id, version, digest, disputed }: EntryStamp): void {
  writer
    .bytes(Buffer.from(id))
    .varint(version)
    .u8(disputed ? disputedFlag : 0);
  writer.bytes(Buffer.from(digest, 'hex'));
}

/** Reads a stamp. Throws `BytesError`. */
export function readStamp(reader: ByteReader): EntryStamp {
  const id = readId(reader);
  const version = readVersion(reader);
  const disputed = reader.u8() === disputedFlag;
  const digest = reader.bytes().toString('hex');
  if (digest !== '' && digest.length !== digestChars) throw new BytesError('a digest of another length');
  return { id, version, digest, disputed };
}

/** An entry as bytes of its own, for the store. */
export function encodeEntry(entry: ModuleEntry): Buffer {
  const writer = new ByteWriter((entry.content?.bytes.length ?? 0) + 128);
  writeEntry(writer, entry);
  return writer.finish();
}

/** Reads a module's id. Throws `BytesError` for another form. */
export function readId(reader: ByteReader): string {
  const id = reader.bytes().toString('latin1');
  if (!isModuleId(id)) throw new BytesError('a module id of another form');
  return id;
}

function readVersion(reader: ByteReader): number {
  const version = reader.varint();
  if (version === 0) throw new BytesError('a module of version 0');
  return version;
}
