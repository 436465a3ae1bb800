/**
 * Segment files that the manifest does not name. A crash leaves three kinds, and none of them holds anything that
 * counts: a segment of the log that was made and not yet published (a head and nothing else: nobody writes to it
 * before; zeros behind the head, when the file was used again), an output of a merge that did not come about, and a
 * segment that was merged away. Any other says that the manifest is older than the files: a sync lied about it, or
 * somebody put an old one back. Then nothing may be removed.
 *
 * How they are told apart: the manifest's next number is above every segment of the log that it or an earlier one
 * named, and not above any that none did (storage/log/segment-catalog.ts). So a file below it was merged away; one at or above it is what
 * its head says, and a segment of the log there holds nothing.
 */
import { LockstepError } from '../../base/errors.ts';
import type { Disk, DiskFile } from '../../io/disk.ts';
import { readFully } from '../../io/disk.ts';
import { numberOfName } from '../log/file-names.ts';
import type { Manifest } from '../log/manifest.ts';
import { decodeSegmentHead, segmentHeadBytes } from '../log/record.ts';

const windowBytes = 1024 * 1024;

/** Segments with records that are younger than the manifest; names within the directory, in order. */
export async function youngerThan(
  manifest: Manifest,
  disk: Disk,
  directory: string,
): Promise<readonly string[]> {
  const listed = new Set(manifest.segments.map(({ number }) => number));
  const younger: string[] = [];
  for (const name of await disk.list(directory)) {
    const number = numberOfName(name);
    if (number === undefined || !name.endsWith('.log')) continue;
    if (number < manifest.nextNumber || listed.has(number)) continue;
    const path = `${directory}/${name}`;
    if (((await disk.size(path)) ?? 0) <= segmentHeadBytes) continue;
    if (await isMergeOutput(manifest, disk, path, number)) continue;
    if (!(await holdsNothing(disk, path))) younger.push(name);
  }
  return younger;
}

/** As `youngerThan`, but throws `Corrupted` with the ways out when there are any. */
export async function refuseYounger(
  manifest: Manifest,
  disk: Disk,
  directory: string,
  waysOut: string,
): Promise<void> {
  const younger = await youngerThan(manifest, disk, directory);
  if (younger.length === 0) return;
  throw new LockstepError(
    'Corrupted',
    `${directory}: the manifest is older than ${younger.join(', ')}, which it does not name: ` +
      `a sync of the disk lied, or an old copy was put back; nothing was removed; ${waysOut}`,
  );
}

/** By its head. Read again before it is called something else, which a start does not remove. */
async function isMergeOutput(
  { storeId }: Manifest,
  disk: Disk,
  path: string,
  number: number,
): Promise<boolean> {
  const file = await disk.open(path, 'read');
  try {
    for (let look = 0; look < 2; look++) {
      const bytes = Buffer.alloc(segmentHeadBytes);
      const count = await readFully(file, bytes, 0);
      const head = count === bytes.length ? decodeSegmentHead(bytes) : undefined;
      if (head?.kind === 'merge' && head.number === number && head.storeId.equals(storeId)) return true;
    }
    return false;
  } finally {
    await file.close();
  }
}

/** Behind the head there are zeros and nothing else. */
async function holdsNothing(disk: Disk, path: string): Promise<boolean> {
  const file = await disk.open(path, 'read');
  try {
    const size = await file.size();
    for (let from = segmentHeadBytes; from < size; from += windowBytes) {
      const bytes = Math.min(windowBytes, size - from);
      const looks = [await isZero(file, from, bytes), await isZero(file, from, bytes)];
      // A read that went astray is outvoted.
      if (looks[0] !== looks[1]) looks.push(await isZero(file, from, bytes));
      if (looks.at(-1) === false) return false;
    }
    return true;
  } finally {
    await file.close();
  }
}

async function isZero(file: DiskFile, from: number, bytes: number): Promise<boolean> {
  const found = Buffer.alloc(bytes, 1);
  await readFully(file, found, from);
  return found.equals(Buffer.alloc(bytes));
}
