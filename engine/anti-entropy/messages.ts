/**
 * Messages of an exchange and their codec: the payload of the peer messages `antiEntropy`. The asking side names token
 * ranges and divides them by its own tree, so the other side's tree may have another shape.
 *
 *     question   u8 kind | u8 segment bits | varint count | per range: u32 first | u32 last | in `list`: string after
 *     hashes     u8 1 | per range (or, for `parts`, per part of each range): u32 high | u32 low
 *     lists      u8 2 | varint count | per list: u8 complete | varint count | entries: string key | u32 token | hash
 *     closed     u8 3
 *     busy       u8 4
 */
import { ByteReader, ByteWriter, BytesError } from '../base/bytes.ts';
import type { ByteString } from '../base/ids.ts';
import type { PackedKey } from '../base/object-key.ts';
import { unpackKey } from '../base/object-key.ts';
import type { Entry } from './refresh.ts';
import type { RangeHash, TokenRange } from './tree.ts';
import { segmentBitsMax, segmentBitsMin } from './tree.ts';

/** A token range of which keys are listed from a position on. */
export interface ListRange extends TokenRange {
  /** Only keys after this one, in the order of code units; empty: all. */
  readonly after: ByteString;
}

/** What the side that began the exchange asks. */
export type Question =
  /** Asks for the hashes of these ranges; the first question of an exchange. */
  | { readonly kind: 'hashes'; readonly segmentBits: number; readonly ranges: readonly TokenRange[] }
  /** Asks for the hashes of the parts into which `divide` splits these ranges. */
  | { readonly kind: 'parts'; readonly segmentBits: number; readonly ranges: readonly TokenRange[] }
  /** Asks for the keys of these ranges with their hashes. The answer covers as many ranges as fit, at least one. */
  | { readonly kind: 'list'; readonly segmentBits: number; readonly ranges: readonly ListRange[] }
  /** Ends the exchange. */
  | { readonly kind: 'close' };

/** The keys of one range, as far as they fit into an answer. */
export interface KeyList {
  /** No further keys follow in the range. */
  readonly complete: boolean;
  /** Sorted by key. */
  readonly entries: readonly Entry[];
}

/** The answer to a `Question`. */
export type Answer =
  | { readonly kind: 'hashes'; readonly hashes: readonly RangeHash[] }
  | { readonly kind: 'lists'; readonly lists: readonly KeyList[] }
  | { readonly kind: 'closed' }
  /** The node is in an exchange with another one, or recomputing its tree: the asker tries again later. */
  | { readonly kind: 'busy' };

/** Limit of the ranges in one question. */
export const rangesMax = 4096;

const questionKinds = ['hashes', 'parts', 'list', 'close'] as const;
const answerKinds = ['hashes', 'lists', 'closed', 'busy'] as const;

/** Encodes a question in the format of the header. */
export function encodeQuestion(question: Question): Buffer {
  const writer = new ByteWriter(64);
  writer.u8(questionKinds.indexOf(question.kind) + 1);
  if (question.kind === 'close') return writer.finish();
  writer.u8(question.segmentBits).varint(question.ranges.length);
  for (const range of question.ranges) writer.u32(range.first).u32(range.last);
  if (question.kind === 'list') for (const range of question.ranges) writer.string(range.after);
  return writer.finish();
}

/** Throws `BytesError` if the bytes are not a question. */
export function decodeQuestion(bytes: Uint8Array): Question {
  const reader = new ByteReader(bytes);
  const kind = questionKinds[reader.u8() - 1];
  if (kind === undefined) throw new BytesError('an unknown question');
  if (kind === 'close') {
    reader.end();
    return { kind };
  }
  const segmentBits = reader.u8();
  if (segmentBits < segmentBitsMin || segmentBits > segmentBitsMax) {
    throw new BytesError(`a tree of 2^${segmentBits} segments`);
  }
  const ranges = readRanges(reader);
  if (kind !== 'list') {
    reader.end();
    return { kind, segmentBits, ranges };
  }
  const lists = ranges.map((range) => ({ ...range, after: reader.string() }));
  reader.end();
  return { kind, segmentBits, ranges: lists };
}

/** Encodes an answer in the format of the header. */
export function encodeAnswer(answer: Answer): Buffer {
  const writer = new ByteWriter(256);
  writer.u8(answerKinds.indexOf(answer.kind) + 1);
  if (answer.kind === 'hashes') for (const { high, low } of answer.hashes) writer.u32(high).u32(low);
  if (answer.kind === 'lists') {
    writer.varint(answer.lists.length);
    for (const list of answer.lists) writeList(writer, list);
  }
  return writer.finish();
}

/** Throws `BytesError` if the bytes are not an answer. */
export function decodeAnswer(bytes: Uint8Array): Answer {
  const reader = new ByteReader(bytes);
  const kind = answerKinds[reader.u8() - 1];
  if (kind === undefined) throw new BytesError('an unknown answer');
  if (kind === 'hashes') {
    const hashes: RangeHash[] = [];
    while (reader.left > 0) hashes.push({ high: reader.u32(), low: reader.u32() });
    return { kind, hashes };
  }
  if (kind !== 'lists') {
    reader.end();
    return { kind };
  }
  const lists: KeyList[] = [];
  for (let left = reader.varint(); left > 0; left--) lists.push(readList(reader));
  reader.end();
  return { kind, lists };
}

function readRanges(reader: ByteReader): readonly TokenRange[] {
  const count = reader.varint();
  if (count > rangesMax) throw new BytesError(`${count} ranges; at most ${rangesMax} are allowed`);
  const ranges: TokenRange[] = [];
  for (let index = 0; index < count; index++) {
    const range = { first: reader.u32(), last: reader.u32() };
    if (range.first > range.last) throw new BytesError('a range that ends before it begins');
    ranges.push(range);
  }
  return ranges;
}

function writeList(writer: ByteWriter, { complete, entries }: KeyList): void {
  writer.u8(complete ? 1 : 0).varint(entries.length);
  for (const { key, token, hash } of entries) writer.string(key).u32(token).u32(hash.high).u32(hash.low);
}

function readList(reader: ByteReader): KeyList {
  const complete = reader.u8() === 1;
  const entries: Entry[] = [];
  for (let left = reader.varint(); left > 0; left--) {
    const key = reader.string() as PackedKey;
    if (unpackKey(key) === undefined) throw new BytesError('a key is not in its packed form');
    const last = entries.at(-1);
    if (last !== undefined && last.key >= key) throw new BytesError('keys out of order');
    entries.push({ key, token: reader.u32(), hash: { high: reader.u32(), low: reader.u32() } });
  }
  if (!complete && entries.length === 0) throw new BytesError('a list that says nothing');
  return { complete, entries };
}
