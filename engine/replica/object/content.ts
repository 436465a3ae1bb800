/**
 * What a client writes under a key: a value and its description. Also their canonical encoding, used in stored objects
 * and in peer messages.
 */
import { ByteReader, ByteWriter, BytesError, runBytes, varintBytes } from '../../base/bytes.ts';
import type { ByteString } from '../../base/ids.ts';
import { byteStringOf } from '../../base/ids.ts';

/** A Riak link from one object to another. */
export interface Link {
  readonly bucket: ByteString;
  readonly key: ByteString;
  readonly tag: ByteString;
}

/** A value and its description, without causality. */
export interface Content {
  readonly value: Uint8Array;
  /** An empty string means that the client gave none. */
  readonly contentType: ByteString;
  readonly charset: ByteString;
  readonly contentEncoding: ByteString;
  /** User metadata in the order given. */
  readonly meta: readonly (readonly [ByteString, ByteString])[];
  readonly links: readonly Link[];
  /** A deletion; the value is empty. */
  readonly tombstone: boolean;
}

/** Appends the canonical encoding: flags, three strings, metadata, links, value. */
export function writeContent(writer: ByteWriter, content: Content): void {
  writer.u8(content.tombstone ? 1 : 0);
  writer.string(content.contentType).string(content.charset).string(content.contentEncoding);
  writer.varint(content.meta.length);
  for (const [name, value] of content.meta) writer.string(name).string(value);
  writer.varint(content.links.length);
  for (const link of content.links) writer.string(link.bucket).string(link.key).string(link.tag);
  writer.bytes(content.value);
}

/** Size in bytes of what `writeContent` appends. */
export function contentBytes({ value, contentType, charset, contentEncoding, meta, links }: Content): number {
  let bytes = 1 + runBytes(value.length) + varintBytes(meta.length) + varintBytes(links.length);
  bytes += runBytes(contentType.length) + runBytes(charset.length) + runBytes(contentEncoding.length);
  for (const [name, item] of meta) bytes += runBytes(name.length) + runBytes(item.length);
  for (const { bucket, key, tag } of links)
    bytes += runBytes(bucket.length) + runBytes(key.length) + runBytes(tag.length);
  return bytes;
}

/** Reads what `writeContent` wrote; the value is a view. Throws `BytesError` on anything else. */
export function readContent(reader: ByteReader): Content {
  const flags = reader.u8();
  if (flags > 1) throw new BytesError(`unknown content flags ${flags}`);
  const contentType = reader.string();
  const charset = reader.string();
  const contentEncoding = reader.string();
  const meta = readList(reader, readPair);
  const links = readList(reader, readLink);
  const value = reader.bytes();
  return { tombstone: flags === 1, contentType, charset, contentEncoding, meta, links, value };
}

/** The canonical encoding in a buffer of its own. */
export function encodeContent(content: Content): Buffer {
  const writer = new ByteWriter(contentBytes(content));
  writeContent(writer, content);
  return writer.finish();
}

/** Reads `encodeContent`'s bytes; the value is a view of them. Throws `BytesError` on anything else. */
export function decodeContent(bytes: Uint8Array): Content {
  const reader = new ByteReader(bytes);
  const content = readContent(reader);
  reader.end();
  return content;
}

/** A value and its content type, without metadata, links or encodings. */
export function plainContent(value: Uint8Array, contentType: string): Content {
  return { ...tombstone, tombstone: false, value, contentType: byteStringOf(contentType) };
}

/** The content of a deletion. */
export const tombstone: Content = {
  value: new Uint8Array(0),
  contentType: '' as ByteString,
  charset: '' as ByteString,
  contentEncoding: '' as ByteString,
  meta: [],
  links: [],
  tombstone: true,
};

function readPair(reader: ByteReader): readonly [ByteString, ByteString] {
  return [reader.string(), reader.string()];
}

function readLink(reader: ByteReader): Link {
  return { bucket: reader.string(), key: reader.string(), tag: reader.string() };
}

function readList<T>(reader: ByteReader, readItem: (reader: ByteReader) => T): readonly T[] {
  const count = reader.varint();
  if (count === 0) return nothing;
  if (count > reader.left) throw new BytesError(`a list of ${count} items in ${reader.left} bytes`);
  const items: T[] = [];
  for (let index = 0; index < count; index++) items.push(readItem(reader));
  return items;
}

const nothing: readonly never[] = [];
