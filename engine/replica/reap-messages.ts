/**
 * The words by which deletions are forgotten: what others hold under some keys, and the order to forget what they hold
 * as long as it is just that. A stored object is named by a 128-bit hash of its bytes.
 */
import murmurHash3 from 'murmurhash3js-revisited';

import { ByteReader, ByteWriter, BytesError } from '../base/bytes.ts';
import type { ByteString, Token } from '../base/ids.ts';
import type { PackedKey } from '../base/object-key.ts';
import { unpackKey } from '../base/object-key.ts';

/** A key and the object that is to be forgotten under it. */
export interface ReapItem {
  readonly key: PackedKey;
  readonly token: Token;
  readonly mark: string;
}

export interface ReapQuestion {
  /** `check`: what do you hold? `forget`: remove what you hold, if it is that. */
  readonly kind: 'check' | 'forget';
  /** So long ago, in microseconds, every member held just these objects; 0: that is what is asked. */
  readonly agreedForUs: number;
  readonly items: readonly ReapItem[];
}

/**
 * Per item, what the node holds: just that object, nothing, or something else (also while a write that others missed
 * is kept here for them). `forgotten`: it has removed that object. `busy`: a request of before the agreement is not
 * answered yet, whatever is held.
 */
export type Holding = 'same' | 'nothing' | 'other' | 'forgotten' | 'busy';

/** Keys in one question at most. */
export const reapItemsMax = 64;

const questions = ['check', 'forget'] as const;
const holdings: readonly Holding[] = ['same', 'nothing', 'other', 'forgotten', 'busy'];

/** Names these bytes. */
export function markOf(bytes: Uint8Array): string {
  return murmurHash3.x86.hash128(bytes);
}

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

/** Throws `BytesError` for bytes that are no question. */
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

export function encodeHoldings(answer: readonly Holding[]): Buffer {
  const writer = new ByteWriter(8 + answer.length).varint(answer.length);
  for (const holding of answer) writer.u8(holdings.indexOf(holding));
  return writer.finish();
}

/** Throws `BytesError` for bytes that are no answer. */
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
