/** Readers that the messages and the records of transactions share. All throw `BytesError`. */
import type { ByteReader } from '../../base/bytes.ts';
import { BytesError } from '../../base/bytes.ts';
import type { NodeId } from '../../base/ids.ts';
import { parseNodeId, textOf } from '../../base/ids.ts';
import type { Xid } from './xid.ts';
import { parseXid } from './xid.ts';

/** Reads a transaction id. */
export function readXid(reader: ByteReader): Xid {
  const text = reader.string();
  const xid = parseXid(text);
  if (xid === undefined) throw new BytesError('a transaction without a name');
  return xid;
}

/** Reads a node's name. */
export function readNode(reader: ByteReader): NodeId {
  const node = parseNodeId(textOf(reader.string()));
  if (node === undefined) throw new BytesError('a node without a name');
  return node;
}

/** Reads a list: its length, then each item. Refuses a length greater than the bytes that are left. */
export function readList<T>(reader: ByteReader, readItem: (reader: ByteReader) => T): readonly T[] {
  const count = reader.varint();
  if (count > reader.left) throw new BytesError(`a list of ${count} items in ${reader.left} bytes`);
  const items: T[] = [];
  for (let index = 0; index < count; index++) items.push(readItem(reader));
  return items;
}

/** The entry of `words` that a message names by its index. */
export function among<T>(words: readonly T[], index: number): T {
  const word = words[index];
  if (word === undefined) throw new BytesError(`a word of number ${index} where ${words.length} are known`);
  return word;
}
