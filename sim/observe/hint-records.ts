/** Reads the hints that nodes keep on their disks (engine/replication/hints/hints.ts). */
import { ByteReader, BytesError } from '../../engine/base/bytes.ts';
import type { StoredObject } from '../../engine/replica/object/object.ts';
import { decodeObject } from '../../engine/replica/object/object.ts';

/** A hint as it lies on a disk (engine/replication/hints/hints.ts). */
export interface ReadHint {
  readonly token: number;
  /** When it was stored, by the wall clock of its host. */
  readonly writtenMs: number;
  readonly object: StoredObject;
}

/** The bytes of its object; undefined if the bytes are no hint. */
export function readHintObject(bytes: Uint8Array): Uint8Array | undefined {
  return readParts(bytes, (_token, _writtenMs, object) => object);
}

/** Undefined if the bytes are no hint. */
export function readHint(bytes: Uint8Array): ReadHint | undefined {
  return readParts(bytes, (token, writtenMs, object) => ({ token, writtenMs, object: decodeObject(object) }));
}

function readParts<Read>(
  bytes: Uint8Array,
  read: (token: number, writtenMs: number, object: Uint8Array) => Read,
): Read | undefined {
  try {
    const reader = new ByteReader(bytes);
    return reader.u8() === 1 ? read(reader.u32(), reader.u64(), reader.bytes()) : undefined;
  } catch (error) {
    if (error instanceof BytesError) return undefined;
    throw error;
  }
}
