/**
 * Computes the sizes of a store's files from the disk, for comparison with the sizes that the node counts. Undefined
 * where they are unknowable: the manifest does not exist yet, or something fails its checksum.
 */
import { recordBytes, segmentHeadBytes } from '../../engine/storage/log/record.ts';
import type { StoreSizes } from '../check/metrics/reconcile/account.ts';
import type { LogRecord } from './log-records.ts';
import { readRecords, readSealedRecords } from './log-records.ts';
import { segmentsInUse } from './segments-in-use.ts';

interface Newest {
  readonly seq: number;
  /** Length of the record in bytes; 0 for a removal. */
  readonly liveBytes: number;
}

/** The sizes in bytes of the store in `directory`; undefined if the manifest or a record cannot be read. */
export function sizesOf(files: ReadonlyMap<string, Buffer>, directory: string): StoreSizes | undefined {
  const segments = segmentsInUse(files, directory);
  if (segments === undefined) return undefined;
  const newest = new Map<string, Newest>();
  let diskBytes = 0;
  const found = { damage: false };
  const take = ({ key, seq, value }: LogRecord): void => {
    if (value === 'damaged') found.damage = true;
    else if (seq > (newest.get(key)?.seq ?? -1)) {
      newest.set(key, { seq, liveBytes: value === undefined ? 0 : recordBytes(key.length, value.length) });
    }
  };
  for (const { content, salt, sealed, length } of segments) {
    if (content === undefined) return undefined;
    if (sealed) readSealedRecords(content, salt, take);
    const end = sealed
      ? length
      : readRecords(content, segmentHeadBytes, salt, take, () => (found.damage = true));
    diskBytes += end;
  }
  if (found.damage) return undefined;
  const held = [...newest.values()].filter(({ liveBytes }) => liveBytes > 0);
  return { keys: held.length, diskBytes, liveBytes: held.reduce((sum, one) => sum + one.liveBytes, 0) };
}
