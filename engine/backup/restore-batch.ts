/** The body of `POST /backup/restore`: objects with all siblings and their causal contexts, as the store holds them. */
import { BytesError, ByteWriter } from '../base/bytes.ts';
import { mustDecodeWhole } from '../base/decoding.ts';
import type { ObjectKey, PackedKey } from '../base/object-key.ts';
import { unpackKey } from '../base/object-key.ts';
import { decodeObject } from '../replica/object/object.ts';

/** One object of a backup. `bytes`: `encodeObject`'s. */
export interface RestoredObject {
  readonly key: PackedKey;
  readonly bytes: Uint8Array;
}

/** An object as a node has checked it. */
export interface ArrivedObject extends RestoredObject {
  readonly name: ObjectKey;
}

const formatVersion = 1;
/** A key and an object have at least this many bytes together. */
const objectBytesMin = 8;

/** Encodes a batch: u8 version, varint count, then for each the packed key and the object. */
export function encodeRestoreBatch(objects: readonly RestoredObject[]): Buffer {
  const bytes = objects.reduce((sum, one) => sum + one.key.length + one.bytes.length + 16, 16);
  const writer = new ByteWriter(bytes).u8(formatVersion).varint(objects.length);
  for (const one of objects) writer.string(one.key).bytes(one.bytes);
  return writer.finish();
}

/** Decodes and checks a batch. Throws `BadRequest` for anything but what `encodeRestoreBatch` wrote. */
export function decodeRestoreBatch(bytes: Uint8Array): readonly ArrivedObject[] {
  return mustDecodeWhole('a batch', bytes, (reader) => {
    const version = reader.u8();
    if (version !== formatVersion)
      throw new BytesError(`format ${version}; this node reads ${formatVersion}`);
    const count = reader.varint();
    if (count > reader.left / objectBytesMin)
      throw new BytesError(`${count} objects in ${reader.left} bytes`);
    return Array.from({ length: count }, () => {
      const key = reader.string() as PackedKey;
      const name = unpackKey(key);
      if (name === undefined) throw new BytesError('a key is not in its packed form');
      const object = reader.bytes();
      decodeObject(object);
      return { key, name, bytes: object };
    });
  });
}
