/** The payload of a `mergeBatch` message: objects with their keys and tokens, in one run of bytes. */
import { ByteReader, ByteWriter, BytesError } from '../base/bytes.ts';
import type { Token } from '../base/ids.ts';
import type { PackedKey } from '../base/object-key.ts';
import { unpackKey } from '../base/object-key.ts';
import type { IncomingObject } from '../replica/replica.ts';

/** Lower bound on the encoded size of one item: a key, its token and an object. */
const itemBytesMin = 10;

/** Encodes a batch: varint count, then per object its key, token (u32) and bytes. */
export function encodeBatch(items: readonly IncomingObject[]): Buffer {
  const writer = new ByteWriter(items.reduce((sum, item) => sum + item.bytes.length + 64, 16));
  writer.varint(items.length);
  for (const { key, token, bytes } of items) writer.string(key).u32(token).bytes(bytes);
  return writer.finish();
}

/**
 * Decodes the payload; the objects are views into `words`. Throws `BytesError` if it is malformed, empty, or names a
 * key twice.
 */
export function decodeBatch(words: Uint8Array): readonly IncomingObject[] {
  const reader = new ByteReader(words);
  const count = reader.varint();
  if (count === 0 || count > reader.left / itemBytesMin) throw new BytesError(`a batch of ${count} objects`);
  const items: IncomingObject[] = [];
  const keys = new Set<PackedKey>();
  for (let index = 0; index < count; index++) {
    const key = reader.string() as PackedKey;
    if (unpackKey(key) === undefined || keys.has(key))
      throw new BytesError('a key is malformed or named twice');
    keys.add(key);
    items.push({ key, token: reader.u32() as Token, bytes: reader.bytes() });
  }
  reader.end();
  return items;
}
