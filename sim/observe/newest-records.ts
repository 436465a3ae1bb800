/** Reads the newest record of every key from the files of a disk. */
import { BytesError } from '../../engine/base/bytes.ts';
import type { PackedKey } from '../../engine/base/object-key.ts';
import type { StoredObject } from '../../engine/replica/object/object.ts';
import { decodeObject } from '../../engine/replica/object/object.ts';
import type { LogRecord } from './log-records.ts';
import { SegmentTail } from './log-records.ts';
import { logsInUse } from './segments-in-use.ts';

/** The stores of a node, by their directories. */
export const storeNames = ['store', 'hints'] as const;

/** The newest record of every key of both stores, removals too, as (store, key, record, path of its file). */
export function newestRecords(
  files: ReadonlyMap<string, Buffer>,
): readonly (readonly [room: string, key: PackedKey, record: LogRecord, path: string])[] {
  const newest = new Map<string, readonly [string, PackedKey, LogRecord, string]>();
  for (const room of storeNames) {
    for (const [path, content, head] of logsInUse(files, room)) {
      new SegmentTail(head).read(content, 0, (record) => {
        const place = `${room} ${record.key}`;
        if (record.seq > (newest.get(place)?.[2].seq ?? -1))
          newest.set(place, [room, record.key, record, path]);
      });
    }
  }
  return [...newest.values()];
}

/** The object of a record's value; undefined if it does not decode. */
export function objectOf(bytes: Uint8Array): StoredObject | undefined {
  try {
    return decodeObject(new Uint8Array(bytes));
  } catch (error) {
    if (error instanceof BytesError) return undefined;
    throw error;
  }
}
