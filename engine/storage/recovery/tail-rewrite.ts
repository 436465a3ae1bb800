/**
 * Rewrites the tail of a log that a start has read, so that it is durable.
 *
 * Only groups that are read again here and found sound are written: a misdirected read must not replace what is on the
 * disk.
 */
import type { DiskFile } from '../../io/disk.ts';
import { writeFully } from '../../io/disk.ts';
import type { SegmentIdentity } from '../log/record.ts';
import { strict } from './scan-visitor.ts';
import { scanSegment } from './scan.ts';

/**
 * Writes the sound groups from `from` (where one begins) to `to` over themselves, so that the next sync really makes
 * them durable. Rejects with `StorageFailed` or a `DiskError`.
 */
export async function writeBack(
  file: DiskFile,
  identity: SegmentIdentity,
  from: number,
  to: number,
): Promise<void> {
  let read: { readonly bytes: Buffer; readonly offset: number }[] = [];
  const write = async (): Promise<void> => {
    const groups = read;
    read = [];
    for (const { bytes, offset } of groups) await writeFully(file, [bytes], offset);
  };
  const visitor = {
    group: (bytes: Buffer, at: number, end: number, offset: number): void => {
      read.push({ bytes: Buffer.from(bytes.subarray(at, end)), offset });
    },
    record: ignore,
    lostValue: ignore,
    breach: ignore,
  };
  await scanSegment(strict(file), identity, visitor, { sealedLength: to, from, rest: write });
  await write();
}

function ignore(): void {
  // The scan before this one has reported it.
}
