/**
 * Encodes and decodes gossip messages: a digest of the sender's table, and members' records. One peer message carries
 * them whole, so the peer plane does not know their form. The form is protobuf, so that fields can be added.
 *
 * In a large cluster nothing costs as much as this: a message names every member, and every member gets such messages.
 * So messages are written without the schema, in the very bytes that it would give. Such bytes are also read without
 * the schema; every other encoding is read by the schema (gossip-reader.ts).
 */
import type { NodeId } from '../../base/ids.ts';
import { bufferOf, parseNodeId } from '../../base/ids.ts';
import { writeVarint, varintBytes } from '../../peer/wire/protobuf-cursor.ts';
import type { GossipMessage, News } from './gossip-messages.ts';
import { gossipMembersMax, newsMax, readGossip, textCharsMax } from './gossip-reader.ts';
import { RecordReader, RecordWriter } from './record-codec.ts';
import type { DigestEntry } from './gossip-progress.ts';
import type { MemberRecord } from './member-record.ts';

/** Protobuf tags: the field's number * 8, plus 2 for a length-delimited field or 1 for a double. */
const tags = { digest: 0x0a, records: 0x12, view: 0x1a, news: 0x22 } as const;
const digestTags = { node: 0x0a, generation: 0x11, version: 0x19 } as const;
const newsTags = { topic: 0x0a, digest: 0x12 } as const;
/** Bytes of two doubles with their tags. */
const doublesBytes = 18;

/** The codec of one node. Keeps the last bytes of each member's record, to read and write unchanged records once. */
export class GossipCodec {
  readonly #reader = new RecordReader();
  readonly #writer = new RecordWriter();
  /** Names that were read, so that each is one string; no more than a message may hold. */
  readonly #names = new Map<string, NodeId>();

  /** Encodes a message. */
  encode({ digest, records, view, news = [] }: GossipMessage): Uint8Array {
    let length = runBytes(Buffer.byteLength(view));
    for (const { node } of digest) length += runBytes(entryBytes(node));
    for (const record of records) length += runBytes(this.#writer.bytesOf(record).length);
    for (const one of news) length += runBytes(newsBytes(one));
    const bytes = Buffer.allocUnsafe(length);
    let at = 0;
    for (const entry of digest) at = writeEntry(bytes, at, entry);
    for (const record of records) {
      const run = this.#writer.bytesOf(record);
      at = writeHead(bytes, at, tags.records, run.length);
      bytes.set(run, at);
      at += run.length;
    }
    at = writeText(bytes, at, tags.view, view);
    for (const one of news) {
      at = writeHead(bytes, at, tags.news, newsBytes(one));
      at = writeText(bytes, at, newsTags.topic, one.topic);
      at = writeText(bytes, at, newsTags.digest, one.digest);
    }
    return bytes;
  }

  /** Decodes a message. Throws `BadRequest` for bytes that are no message, or that state what no member may state. */
  decode(bytes: Uint8Array): GossipMessage {
    const body = bufferOf(bytes);
    const readRecord = (record: Buffer): MemberRecord => this.#reader.read(record);
    return this.#readWritten(body) ?? readGossip(body, readRecord);
  }

  /** Decodes a message that `encode` wrote; undefined for any other bytes. Throws for a bad record. */
  #readWritten(body: Buffer): GossipMessage | undefined {
    const runs = new Runs(body);
    const digest: DigestEntry[] = [];
    while (runs.next(tags.digest)) {
      const entry = this.#readEntry(runs);
      if (entry === undefined || digest.push(entry) > gossipMembersMax) return undefined;
    }
    const records: MemberRecord[] = [];
    while (runs.next(tags.records)) {
      if (records.push(this.#reader.read(runs.bytes())) > gossipMembersMax) return undefined;
    }
    if (!runs.next(tags.view)) return undefined;
    const view = runs.text();
    const news: News[] = [];
    while (runs.next(tags.news)) {
      const one = readNews(runs);
      if (one === undefined || news.push(one) > newsMax) return undefined;
    }
    if (!runs.atEnd || view.length > textCharsMax) return undefined;
    return news.length === 0 ? { digest, records, view } : { digest, records, view, news };
  }

  #readEntry(runs: Runs): DigestEntry | undefined {
    const { body, start, end } = runs;
    const nodeStart = start + 2;
    const generationAt = nodeStart + (body[start + 1] ?? 0);
    const isWritten =
      body[start] === digestTags.node &&
      generationAt + doublesBytes === end &&
      body[generationAt] === digestTags.generation &&
      body[generationAt + 9] === digestTags.version;
    if (!isWritten) return undefined;
    const node = this.#nameOf(body.toString('latin1', nodeStart, generationAt));
    const generation = body.readDoubleLE(generationAt + 1);
    const version = body.readDoubleLE(generationAt + 10);
    const isRight = isWhole(generation) && isWhole(version);
    return node === undefined || !isRight ? undefined : { node, generation, version };
  }

  #nameOf(text: string): NodeId | undefined {
    const known = this.#names.get(text);
    if (known !== undefined) return known;
    const node = parseNodeId(text);
    if (node === undefined) return undefined;
    if (this.#names.size >= gossipMembersMax) this.#names.clear();
    this.#names.set(node, node);
    return node;
  }
}

/** The length-delimited fields of a message, one after the other, as long as they have the expected tags. */
class Runs {
  readonly body: Buffer;
  /** Of the current field. */
  start = 0;
  end = 0;

  constructor(body: Buffer) {
    this.body = body;
  }

  get atEnd(): boolean {
    return this.end === this.body.length;
  }

  /** Goes to the next field. False, without moving, if the next bytes are no whole field with this tag. */
  next(tag: number): boolean {
    const { body } = this;
    let at = this.end;
    if (body[at++] !== tag) return false;
    let length = body[at++] ?? 0;
    if (length >= 0x80) {
      const more = body[at++] ?? 0x80;
      // The schema reads longer lengths, and lengths with needless bytes.
      if (more === 0 || more >= 0x80) return false;
      length += (more - 1) * 0x80;
    }
    if (length > body.length - at) return false;
    this.start = at;
    this.end = at + length;
    return true;
  }

  /** A view of the current field. */
  bytes(): Buffer {
    return this.body.subarray(this.start, this.end);
  }

  text(): string {
    return this.body.toString('utf8', this.start, this.end);
  }
}

function readNews(runs: Runs): News | undefined {
  const inner = new Runs(runs.bytes());
  if (!inner.next(newsTags.topic)) return undefined;
  const topic = inner.text();
  if (!inner.next(newsTags.digest) || !inner.atEnd) return undefined;
  const digest = inner.text();
  const isRight = topic.length > 0 && topic.length <= textCharsMax && digest.length <= textCharsMax;
  return isRight ? { topic, digest } : undefined;
}

function isWhole(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0;
}

/** Bytes of a field with its tag and length. */
function runBytes(length: number): number {
  return 1 + varintBytes(length) + length;
}

function entryBytes(node: NodeId): number {
  return runBytes(node.length) + doublesBytes;
}

function newsBytes({ topic, digest }: News): number {
  return runBytes(Buffer.byteLength(topic)) + runBytes(Buffer.byteLength(digest));
}

function writeHead(bytes: Buffer, at: number, tag: number, length: number): number {
  bytes[at] = tag;
  return writeVarint(bytes, at + 1, length);
}

function writeText(bytes: Buffer, at: number, tag: number, text: string): number {
  const start = writeHead(bytes, at, tag, Buffer.byteLength(text));
  return start + bytes.write(text, start);
}

function writeEntry(bytes: Buffer, at: number, { node, generation, version }: DigestEntry): number {
  let end = writeHead(bytes, at, tags.digest, entryBytes(node));
  end = writeHead(bytes, end, digestTags.node, node.length);
  // A node's name is ASCII, and mostly so short that this loop costs less than a call.
  for (let index = 0; index < node.length; index++) bytes[end++] = node.charCodeAt(index);
  bytes[end] = digestTags.generation;
  end = bytes.writeDoubleLE(generation, end + 1);
  bytes[end] = digestTags.version;
  return bytes.writeDoubleLE(version, end + 1);
}

/** Encodes a message without a codec's memory. For files and tests. */
export function encodeGossip(words: GossipMessage): Uint8Array {
  return new GossipCodec().encode(words);
}

/** Decodes a message without a codec's memory. Throws `BadRequest`, as `GossipCodec.decode` does. */
export function decodeGossip(bytes: Uint8Array): GossipMessage {
  return new GossipCodec().decode(bytes);
}
