/**
 * The messages between nodes about publish and subscribe: published messages with their places in the sender's order,
 * and questions about subscriptions.
 */
import { ByteReader, ByteWriter, BytesError } from '../../../base/bytes.ts';
import { LockstepError } from '../../../base/errors.ts';
import type { ByteString } from '../../../base/ids.ts';
import type { Message } from './message.ts';

const publishOp = 1;
const channelsOp = 2;
const subscribersOp = 3;
const patternsOp = 4;

/** What a node asks of a peer's subscriptions. */
export type Question =
  /** The channels that have a subscriber; `pattern`: only those that match it. */
  | { readonly kind: 'channels'; readonly isShard: boolean; readonly pattern: ByteString | undefined }
  /** The number of subscribers of each channel. */
  | { readonly kind: 'subscribers'; readonly isShard: boolean; readonly channels: readonly ByteString[] }
  /** The distinct patterns. */
  | { readonly kind: 'patterns' };

/** Published messages. The peer drops those that come behind newer ones of the same sender. */
export interface PublishedBatch {
  readonly kind: 'published';
  /** The sender's incarnation number. */
  readonly generation: number;
  /** The place of the first message in the order of this incarnation; the others follow it. */
  readonly first: number;
  readonly messages: readonly Message[];
}

/** What a peer may send. */
export type PeerWords = PublishedBatch | Question;

/** One message's bytes within a batch. */
export function encodeMessage({ isShard, channel, payload }: Message): Buffer {
  return new ByteWriter(channel.length + payload.length + 16)
    .u8(isShard ? 1 : 0)
    .string(channel)
    .bytes(payload)
    .finish();
}

/** A batch of messages that `encodeMessage` has encoded. */
export function encodeBatch(generation: number, first: number, messages: readonly Buffer[]): Buffer {
  const bytes = messages.reduce((sum, { length }) => sum + length, 32);
  const writer = new ByteWriter(bytes).u8(publishOp).u64(generation).u64(first).varint(messages.length);
  for (const message of messages) writer.raw(message);
  return writer.finish();
}

/** A question. */
export function encodeQuestion(question: Question): Buffer {
  const writer = new ByteWriter();
  switch (question.kind) {
    case 'channels':
      writer.u8(channelsOp).u8(question.isShard ? 1 : 0);
      writer.u8(question.pattern === undefined ? 0 : 1);
      if (question.pattern !== undefined) writer.string(question.pattern);
      return writer.finish();
    case 'subscribers':
      writer.u8(subscribersOp).u8(question.isShard ? 1 : 0);
      return writeNames(writer, question.channels).finish();
    case 'patterns':
      return writer.u8(patternsOp).finish();
  }
}

/** Decodes what a peer has sent; payloads are views of `words`. Throws `BadRequest` for malformed bytes. */
export function decodePeerWords(words: Uint8Array): PeerWords {
  return whole(words, (reader): PeerWords => {
    const op = reader.u8();
    switch (op) {
      case publishOp: {
        const [generation, first] = [reader.u64(), reader.u64()];
        const messages = many(reader, (): Message => {
          const isShard = reader.u8() === 1;
          return { isShard, channel: reader.string(), payload: reader.bytes() };
        });
        return { kind: 'published', generation, first, messages };
      }
      case channelsOp: {
        const isShard = reader.u8() === 1;
        return { kind: 'channels', isShard, pattern: reader.u8() === 1 ? reader.string() : undefined };
      }
      case subscribersOp:
        return { kind: 'subscribers', isShard: reader.u8() === 1, channels: readNames(reader) };
      case patternsOp:
        return { kind: 'patterns' };
      default:
        throw new BytesError(`operation ${op}`);
    }
  });
}

/** The answer to a batch, and to a question about subscribers: one number for each message or channel. */
export function encodeCounts(counts: readonly number[]): Buffer {
  const writer = new ByteWriter(counts.length + 8).varint(counts.length);
  for (const count of counts) writer.varint(count);
  return writer.finish();
}

/** Decodes `encodeCounts`. Throws `BadRequest` unless there are `wanted` numbers. */
export function decodeCounts(words: Uint8Array, wanted: number): readonly number[] {
  return whole(words, (reader) => {
    const counts = many(reader, () => reader.varint());
    if (counts.length !== wanted) throw new BytesError(`${counts.length} counts instead of ${wanted}`);
    return counts;
  });
}

/** The answer to a question about channels or patterns. */
export function encodeNames(names: readonly ByteString[]): Buffer {
  return writeNames(new ByteWriter(), names).finish();
}

/** Decodes `encodeNames`. Throws `BadRequest` for malformed bytes. */
export function decodeNames(words: Uint8Array): readonly ByteString[] {
  return whole(words, readNames);
}

function writeNames(writer: ByteWriter, names: readonly ByteString[]): ByteWriter {
  writer.varint(names.length);
  for (const name of names) writer.string(name);
  return writer;
}

function readNames(reader: ByteReader): readonly ByteString[] {
  return many(reader, () => reader.string());
}

/** A count, then as many items of at least one byte each. */
function many<T>(reader: ByteReader, read: () => T): readonly T[] {
  const count = reader.varint();
  if (count > reader.left) throw new BytesError(`${count} items in ${reader.left} bytes`);
  return Array.from({ length: count }, read);
}

function whole<T>(words: Uint8Array, read: (reader: ByteReader) => T): T {
  try {
    const reader = new ByteReader(words);
    const value = read(reader);
    reader.end();
    return value;
  } catch (error) {
    if (!(error instanceof BytesError)) throw error;
    throw new LockstepError(
      'BadRequest',
      `a message of publish and subscribe does not decode: ${error.message}`,
    );
  }
}
