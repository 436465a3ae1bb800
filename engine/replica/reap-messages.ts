/**
 * Peer messages of the tombstone reaper (`replication/tombstones/reaper.ts`) and their codec. They ask what peers hold
 * under some keys, and request its removal if it is exactly that. A 128-bit hash of its bytes (the mark) names a stored
 * object.
 */
import murmurHash3 from 'murmurhash3js-revisited';

import { ByteReader, ByteWriter, BytesError } from '../base/bytes.ts';
import type { ByteString, Token } from '../base/ids.ts';
import type { PackedKey } from '../base/object-key.ts';
import { unpackKey } from '../base/object-key.ts';

/** A key and the mark of the tombstone to be removed under it. */
export interface ReapItem {
  readonly key: PackedKey;
  readonly token: Token;
  readonly mark: string;
}

/** A request to a member. */
export interface ReapQuestion {
  /** `check`: what do you hold under these keys? `forget`: remove it if it is exactly this tombstone. */
  readonly kind: 'check' | 'forget';
  /** Microseconds since every member was known to hold exactly these tombstones; 0 in the first check. */
  readonly agreedForUs: number;
  readonly items: readonly ReapItem[];
}

/**
 * Per item, what a member holds. `same`: exactly that tombstone. `nothing`: no copy. `other`: something else, or it
 * stores a hint for the key. `forgotten`: it has already removed that tombstone. `busy`: it has an unanswered request
 * from before the agreement.
 */
export type Holding = 'same' | 'nothing' | 'other' | 'forgotten' | 'busy';

/** Limit of items in one request. */
export const reapItemsMax = 64;

const questions = ['check', 'forget'] as const;
const holdings: readonly Holding[] = ['same', 'nothing', 'other', 'forgotten', 'busy'];

/** The mark of stored bytes: their 128-bit Murmur hash. */
export function markOf(bytes: Uint8Array): string {
  return murmurHash3.x86.hash128(bytes);
}

/** Kind (u8), agreed time (varint, microseconds), varint count, then per item its key, token (u32) and mark. */
export function encodeReapQuestion({ kind, agreedForUs, items }: ReapQuestion): Buffer {
  const writer = new ByteWriter(64 + items.length * 96).u8(questions.indexOf(kind));
  writer.varint(agreedForUs).varint(items.length);
  for (const { key, token, mark } of items)
    writer
      .string(key)
      .u32(token)
      .string(mark as ByteString);
  return writer.finish();
}

/** Throws `BytesError` if the bytes are not a request. */
export function decodeReapQuestion(bytes: Uint8Array): ReapQuestion {
  const reader = new ByteReader(bytes);
  const kind = questions[reader.u8()];
  if (kind === undefined) throw new BytesError('unknown question about a deletion');
  const agreedForUs = reader.varint();
  const count = reader.varint();
  if (count > reapItemsMax) throw new BytesError(`${count} keys; at most ${reapItemsMax} are allowed`);
  const items: ReapItem[] = [];
  for (let index = 0; index < count; index++) {
    const key = reader.string() as PackedKey;
    if (unpackKey(key) === undefined) throw new BytesError('a key is not in its packed form');
    items.push({ key, token: reader.u32() as Token, mark: reader.string() });
  }
  reader.end();
  return { kind, agreedForUs, items };
}

/** Varint count, then one byte per item. */
export function encodeHoldings(answer: readonly Holding[]): Buffer {
  const writer = new ByteWriter(8 + answer.length).varint(answer.length);
  for (const holding of answer) writer.u8(holdings.indexOf(holding));
  return writer.finish();
}

/** Throws `BytesError` if the bytes are not an answer. */
export function decodeHoldings(bytes: Uint8Array): readonly Holding[] {
  const reader = new ByteReader(bytes);
  const count = reader.varint();
  if (count > reapItemsMax) throw new BytesError(`${count} answers; at most ${reapItemsMax} are allowed`);
  const answer: Holding[] = [];
  for (let index = 0; index < count; index++) {
    const holding = holdings[reader.u8()];
    if (holding === undefined) throw new BytesError('unknown answer about a deletion');
    answer.push(holding);
  }
  reader.end();
  return answer;
}
