/** What nodes say to each other about modules, as bytes (base/bytes.ts). */
import { ByteReader, ByteWriter, BytesError } from '../base/bytes.ts';
import type { EntryStamp, ModuleEntry } from './entry.ts';
import { isModuleId, readEntry, readStamp, writeEntry, writeStamp } from './entry.ts';

export type SpreadMessage =
  /** Is this what you know? `digest`: of all stamps, in hex. */
  | { readonly kind: 'compare'; readonly digest: string }
  /** Take these, and give me what you know of those. */
  | { readonly kind: 'give'; readonly entries: readonly ModuleEntry[]; readonly wanted: readonly string[] };

export type SpreadAnswer =
  | { readonly kind: 'same' }
  | { readonly kind: 'stamps'; readonly stamps: readonly EntryStamp[] }
  /** What was given is durable; and here are some that were wanted. */
  | { readonly kind: 'given'; readonly entries: readonly ModuleEntry[] };

const wordKinds = { compare: 1, give: 2 } as const;
const answerKinds = { same: 1, stamps: 2, given: 3 } as const;
const countMax = 10_000;

export function encodeSpreadMessage(words: SpreadMessage): Uint8Array {
  const writer = new ByteWriter();
  if (words.kind === 'compare') return writer.u8(wordKinds.compare).bytes(Buffer.from(words.digest)).finish();
  writer.u8(wordKinds.give);
  writeList(writer, words.entries, writeEntry);
  writeList(writer, words.wanted, (to, id) => to.bytes(Buffer.from(id)));
  return writer.finish();
}

/** Throws `BytesError`. */
export function decodeSpreadMessage(bytes: Uint8Array): SpreadMessage {
  return whole(bytes, (reader) => {
    const kind = reader.u8();
    if (kind === wordKinds.compare) return { kind: 'compare', digest: reader.bytes().toString('latin1') };
    if (kind !== wordKinds.give) throw new BytesError(`words of kind ${kind}`);
    return { kind: 'give', entries: readList(reader, readEntry), wanted: readList(reader, readId) };
  });
}

export function encodeAnswer(answer: SpreadAnswer): Uint8Array {
  const writer = new ByteWriter().u8(answerKinds[answer.kind]);
  if (answer.kind === 'stamps') writeList(writer, answer.stamps, writeStamp);
  if (answer.kind === 'given') writeList(writer, answer.entries, writeEntry);
  return writer.finish();
}

/** Throws `BytesError`. */
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

function readId(reader: ByteReader): string {
  const id = reader.bytes().toString('latin1');
  if (!isModuleId(id)) throw new BytesError('a module id of another form');
  return id;
}
