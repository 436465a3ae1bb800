/** Peer messages about bucket properties and their codec. Each is carried whole as the payload of one peer message. */
import { ByteReader, ByteWriter, BytesError } from '../base/bytes.ts';
import type { ByteString } from '../base/ids.ts';
import type { NamedRecord } from './property-codec.ts';
import { readRecord, writeRecord } from './property-codec.ts';

/** Where the keys of a bucket lie that a node holds, tombstones included, by the routing that it knows now. */
export interface KeyPlaces {
  /** Some lie where that routing puts them. */
  readonly some: boolean;
  /** Some lie where it would not put them: a former routing did. */
  readonly former: boolean;
}

/** A request of one node to another. */
export type PropertyQuestion =
  /** Asks the peer to store these records. The peer answers `taken` once they are durable. */
  | { readonly kind: 'offer'; readonly records: readonly NamedRecord[] }
  /** Asks for the records whose names follow `after` (empty: all). The peer answers `page`. */
  | { readonly kind: 'fetch'; readonly after: string }
  /** Asks whether the peer holds keys of this bucket, tombstones included. The peer answers `held`. */
  | { readonly kind: 'holds'; readonly name: string }
  /**
   * Asks where the keys of this bucket lie at the peer. The peer answers `placed`; one of an earlier build answers
   * `BadRequest`.
   */
  | { readonly kind: 'places'; readonly name: string }
  /**
   * Asks the peer to store these records, which begin new epochs of buckets. The peer answers `flushed` once they, or
   * later epochs, are durable. Not sent to a peer of a version before `epochsSince`.
   */
  | { readonly kind: 'flush'; readonly records: readonly NamedRecord[] };

/** The answer to a `PropertyQuestion`. */
export type PropertyAnswer =
  | { readonly kind: 'taken' }
  /** `complete`: no record follows these. */
  | { readonly kind: 'page'; readonly records: readonly NamedRecord[]; readonly complete: boolean }
  | { readonly kind: 'held'; readonly held: boolean }
  | { readonly kind: 'placed'; readonly places: KeyPlaces }
  /** `later`: the peer knows a later epoch of one of the buckets. */
  | { readonly kind: 'flushed'; readonly later: boolean };

const questions = { offer: 1, fetch: 2, holds: 3, flush: 4, places: 5 } as const;
const answers = { taken: 1, page: 2, held: 3, flushed: 4, placed: 5 } as const;

/** One byte for the kind, then its fields. */
export function encodeQuestion(question: PropertyQuestion): Buffer {
  const writer = new ByteWriter(256).u8(questions[question.kind]);
  switch (question.kind) {
    case 'offer':
    case 'flush':
      return writeRecords(writer, question.records).finish();
    case 'fetch':
      return writer.string(question.after as ByteString).finish();
    case 'holds':
    case 'places':
      return writer.string(question.name as ByteString).finish();
  }
}

/** Throws `BytesError` if the bytes are not a question. */
export function decodeQuestion(bytes: Uint8Array): PropertyQuestion {
  const reader = new ByteReader(bytes);
  const question = readQuestion(reader);
  reader.end();
  return question;
}

/** One byte for the kind, then its fields. */
export function encodeAnswer(answer: PropertyAnswer): Buffer {
  const writer = new ByteWriter(256).u8(answers[answer.kind]);
  switch (answer.kind) {
    case 'taken':
      return writer.finish();
    case 'page':
      return writeRecords(writer.u8(answer.complete ? 1 : 0), answer.records).finish();
    case 'held':
      return writer.u8(answer.held ? 1 : 0).finish();
    case 'placed': {
      const { some, former } = answer.places;
      return writer
        .u8(some ? 1 : 0)
        .u8(former ? 1 : 0)
        .finish();
    }
    case 'flushed':
      return writer.u8(answer.later ? 1 : 0).finish();
  }
}

/** Throws `BytesError` if the bytes are not an answer. */
export function decodeAnswer(bytes: Uint8Array): PropertyAnswer {
  const reader = new ByteReader(bytes);
  const answer = readAnswer(reader);
  reader.end();
  return answer;
}

function readQuestion(reader: ByteReader): PropertyQuestion {
  const kind = reader.u8();
  switch (kind) {
    case questions.offer:
      return { kind: 'offer', records: readRecords(reader) };
    case questions.fetch:
      return { kind: 'fetch', after: reader.string() };
    case questions.flush:
      return { kind: 'flush', records: readRecords(reader) };
    case questions.holds:
      return { kind: 'holds', name: reader.string() };
    case questions.places:
      return { kind: 'places', name: reader.string() };
    default:
      throw new BytesError(`unknown question ${kind} about properties`);
  }
}

function readAnswer(reader: ByteReader): PropertyAnswer {
  const kind = reader.u8();
  switch (kind) {
    case answers.taken:
      return { kind: 'taken' };
    case answers.page: {
      const complete = readFlag(reader);
      return { kind: 'page', complete, records: readRecords(reader) };
    }
    case answers.held:
      return { kind: 'held', held: readFlag(reader) };
    case answers.placed:
      return { kind: 'placed', places: { some: readFlag(reader), former: readFlag(reader) } };
    case answers.flushed:
      return { kind: 'flushed', later: readFlag(reader) };
    default:
      throw new BytesError(`unknown answer ${kind} about properties`);
  }
}

function writeRecords(writer: ByteWriter, records: readonly NamedRecord[]): ByteWriter {
  writer.varint(records.length);
  for (const record of records) writeRecord(writer, record);
  return writer;
}

function readRecords(reader: ByteReader): readonly NamedRecord[] {
  const count = reader.varint();
  if (count > reader.left) throw new BytesError(`${count} records in ${reader.left} bytes`);
  const records: NamedRecord[] = [];
  for (let index = 0; index < count; index++) records.push(readRecord(reader));
  return records;
}

function readFlag(reader: ByteReader): boolean {
  const flag = reader.u8();
  if (flag > 1) throw new BytesError(`${flag} is neither yes nor no`);
  return flag === 1;
}
