/**
 * Classifies segment files that the manifest does not name. A crash leaves three kinds, none of which holds anything
 * that counts. The first is a log segment that was made but not published: it has only a head, since nothing is written
 * to it before, and zeros behind the head if its file was reused (bits of them may have flipped since). The others are an output of an unfinished merge, and
 * a segment that was merged. Any other file means that the manifest is older than the files: the disk lied about a
 * sync, or an old copy was put back. Then nothing may be removed.
 *
 * The manifest's next number tells them apart. It is above every log segment that this manifest or an earlier one
 * named, and not above any other log segment (`log/segment-catalog.ts`). A file below it was merged. A file at or above
 * it is what its head says, and a log segment there holds nothing.
 */
import { LockstepError } from '../../base/errors.ts';
import type { Disk, DiskFile } from '../../io/disk.ts';
import { readFully } from '../../io/disk.ts';
import { numberOfName } from '../log/file-names.ts';
import type { Manifest } from '../log/manifest.ts';
import { decodeSegmentHead, segmentHeadBytes } from '../log/record.ts';

const windowBytes = 1024 * 1024;

/** Names of the segment files whose records are younger than the manifest, in order. */
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

/** Throws `Corrupted`, with `waysOut` in its text, if `youngerThan` finds any. */
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

/** Judges by the head. Reads it twice before it denies, since a start refuses such a file. */
async function isMergeOutput(
  { storeId }: Manifest,
  disk: Disk,
  path: string,
  number: number,
): Promise<boolean> {
  const file = await disk.open(path, 'read');
  try {
    for (let attempt = 0; attempt < 2; attempt++) {
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

/** Whether no group was ever written behind the head: only zeros are there, of which some bits may have flipped. */
async function holdsNothing(disk: Disk, path: string): Promise<boolean> {
  const file = await disk.open(path, 'read');
  try {
    const size = await file.size();
    let count = 0;
    for (let from = segmentHeadBytes; from < size; from += windowBytes) {
      const bytes = Math.min(windowBytes, size - from);
      const reads = [await notZero(file, from, bytes), await notZero(file, from, bytes)];
      // A third read outvotes a misdirected one.
      if (reads[0] !== reads[1]) reads.push(await notZero(file, from, bytes));
      count += reads.at(-1) ?? 0;
      if (count >= groupNotZeroMin) return false;
    }
    return true;
  } finally {
    await file.close();
  }
}

/**
 * The fewest bytes of a group that are not zero: its magic, and one byte each of its offset, its length, the number of
 * its records, and what was durable before it.
 */
const groupNotZeroMin = 8;

/** How many bytes are not zero; from `groupNotZeroMin` on it may be more. */
async function notZero(file: DiskFile, from: number, bytes: number): Promise<number> {
  const found = Buffer.alloc(bytes, 1);
  await readFully(file, found, from);
  if (found.equals(Buffer.alloc(bytes))) return 0;
  let count = 0;
  for (let at = 0; at < bytes && count < groupNotZeroMin; at++) if (found[at] !== 0) count += 1;
  return count;
}
