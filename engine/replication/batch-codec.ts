/** The words of `mergeBatch`: objects with their keys and tokens, as one byte run. */
import { ByteReader, ByteWriter, BytesError } from '../base/bytes.ts';
import type { Token } from '../base/ids.ts';
import type { PackedKey } from '../base/object-key.ts';
import { unpackKey } from '../base/object-key.ts';
import type { IncomingObject } from '../replica/replica.ts';

/** A key, its token and an object take at least so many bytes. */
const itemBytesMin = 10;

export function encodeBatch(items: readonly IncomingObject[]): Buffer {
  const writer = new ByteWriter(items.reduce((sum, item) => sum + item.bytes.length + 64, 16));
  writer.varint(items.length);
  for (const { key, token, bytes } of items) writer.string(key).u32(token).bytes(bytes);
  return writer.finish();
}

/** Reads what `encodeBatch` wrote; the objects are views. Throws `BytesError` on anything else. */
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
