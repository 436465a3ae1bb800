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

/** Undefined if the bytes are no hint. */
export function readHint(bytes: Uint8Array): ReadHint | undefined {
  try {
    const reader = new ByteReader(bytes);
    if (reader.u8() !== 1) return undefined;
    return { token: reader.u32(), writtenMs: reader.u64(), object: decodeObject(reader.bytes()) };
  } catch (error) {
    if (error instanceof BytesError) return undefined;
    throw error;
  }
}
