/** The messages between nodes about modules, and their encoding. */
import { ByteReader, ByteWriter, BytesError } from '../base/bytes.ts';
import type { EntryStamp, ModuleEntry } from './entry.ts';
import { readEntry, readId, readStamp, writeEntry, writeStamp } from './entry.ts';

/** A request to a peer. */
export type SpreadMessage =
  /** Asks whether the peer has the same knowledge. `digest`: of all stamps, in hex. */
  | { readonly kind: 'compare'; readonly digest: string }
  /** Gives entries to the peer, and asks for its entries of other ids. */
  | { readonly kind: 'give'; readonly entries: readonly ModuleEntry[]; readonly wanted: readonly string[] };

/** A peer's answer. */
export type SpreadAnswer =
  | { readonly kind: 'same' }
  | { readonly kind: 'stamps'; readonly stamps: readonly EntryStamp[] }
  /** The given entries are durable at the peer; `entries` are some of those asked for. */
  | { readonly kind: 'given'; readonly entries: readonly ModuleEntry[] };

const messageKinds = { compare: 1, give: 2 } as const;
const answerKinds = { same: 1, stamps: 2, given: 3 } as const;
const countMax = 10_000;

/** Encodes a request. */
export function encodeSpreadMessage(message: SpreadMessage): Uint8Array {
  const writer = new ByteWriter();
  if (message.kind === 'compare')
    return writer.u8(messageKinds.compare).bytes(Buffer.from(message.digest)).finish();
  writer.u8(messageKinds.give);
  writeList(writer, message.entries, writeEntry);
  writeList(writer, message.wanted, (to, id) => to.bytes(Buffer.from(id)));
  return writer.finish();
}

/** Decodes a request. Throws `BytesError`. */
export function decodeSpreadMessage(bytes: Uint8Array): SpreadMessage {
  return whole(bytes, (reader) => {
    const kind = reader.u8();
    if (kind === messageKinds.compare) return { kind: 'compare', digest: reader.bytes().toString('latin1') };
    if (kind !== messageKinds.give) throw new BytesError(`words of kind ${kind}`);
    return { kind: 'give', entries: readList(reader, readEntry), wanted: readList(reader, readId) };
  });
}

/** Encodes an answer. */
export function encodeAnswer(answer: SpreadAnswer): Uint8Array {
  const writer = new ByteWriter().u8(answerKinds[answer.kind]);
  if (answer.kind === 'stamps') writeList(writer, answer.stamps, writeStamp);
  if (answer.kind === 'given') writeList(writer, answer.entries, writeEntry);
  return writer.finish();
}

/** Decodes an answer. Throws `BytesError`. */
export function decodeAnswer(bytes: Uint8Array): SpreadAnswer {
  return whole(bytes, (reader) => {
    switch (reader.u8()) {
      case answerKinds.same:
        return { kind: 'same' };
      case answerKinds.stamps:
        return { kind: 'stamps', stamps: readList(reader, readStamp) };
      case answerKinds.given:
        return { kind: 'given', entries: readList(reader, readEntry) };
      default:
        throw new BytesError('an answer of another kind');
    }
  });
}

function whole<T>(bytes: Uint8Array, read: (reader: ByteReader) => T): T {
  const reader = new ByteReader(bytes);
  const value = read(reader);
  reader.end();
  return value;
}

function writeList<T>(
  writer: ByteWriter,
  items: readonly T[],
  write: (writer: ByteWriter, item: T) => unknown,
): void {
  writer.varint(items.length);
  for (const item of items) write(writer, item);
}

function readList<T>(reader: ByteReader, read: (reader: ByteReader) => T): readonly T[] {
  const count = reader.varint();
  if (count > countMax) throw new BytesError(`${count} modules in one message`);
  return Array.from({ length: count }, () => read(reader));
}
