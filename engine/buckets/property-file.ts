/**
 * Reads and retires the file in which earlier versions stored the property records. A node reads it once: from then on
 * the records are in its own store (`node/stored-properties.ts`).
 *
 *     properties    "LKPROPS1" | u32 crc of the body | body
 *     body          varint count | records (property-codec.ts)
 */
import { ByteReader, BytesError } from '../base/bytes.ts';
import { crc32 } from '../base/checksum.ts';
import { LockstepError } from '../base/errors.ts';
import { DiskError, readFile } from '../io/disk.ts';
import type { Disk } from '../io/disk.ts';
import type { NamedRecord } from './property-codec.ts';
import { readRecord } from './property-codec.ts';

const magic = Buffer.from('LKPROPS1', 'latin1');
const headBytes = magic.length + 4;
const fileBytesMax = 256 * 1024 * 1024;

/**
 * The file's records; undefined without a file; `damaged` if its checksum or format is wrong. Rejects with
 * `StorageFailed` if the disk fails.
 */
export async function readPropertyFile(
  disk: Disk,
  path: string,
): Promise<readonly NamedRecord[] | 'damaged' | undefined> {
  const bytes = await onDisk(readFile(disk, path, fileBytesMax));
  return bytes === undefined ? undefined : (decode(bytes) ?? 'damaged');
}

/** Removes the file, or renames it to `renameTo`, durably. Rejects with `StorageFailed`. */
export async function retirePropertyFile(disk: Disk, path: string, renameTo?: string): Promise<void> {
  if (renameTo === undefined) await onDisk(disk.remove(path));
  else await onDisk(disk.rename(path, renameTo));
  await onDisk(disk.syncDirectory(''));
}

/** Undefined if the bytes are not those of a file of an earlier version. */
function decode(bytes: Buffer): readonly NamedRecord[] | undefined {
  const body = bytes.subarray(headBytes);
  const whole = bytes.length > headBytes && bytes.subarray(0, magic.length).equals(magic);
  if (!whole || bytes.readUInt32BE(magic.length) !== crc32(body)) return undefined;
  try {
    const reader = new ByteReader(body);
    const count = reader.varint();
    const records: NamedRecord[] = [];
    for (let index = 0; index < count; index++) records.push(readRecord(reader));
    reader.end();
    return records;
  } catch (error) {
    if (error instanceof BytesError) return undefined;
    throw error;
  }
}

async function onDisk<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof DiskError)) throw error;
    throw new LockstepError('StorageFailed', `the file of bucket properties: ${error.message}`, {
      cause: error,
    });
  }
}
