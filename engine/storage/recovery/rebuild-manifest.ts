/**
 * Makes a lost manifest again from the segments, for an operator whose disk lied about a sync or lost the file. A
 * segment's head states its store and number; a scan finds its content. Only the manifest had the node's name (the
 * operator gives it) and which segments a merge had replaced. Replaced segments that still exist count again. That
 * changes no value (the highest sequence number of a key wins), but a key whose removal a merge had already dropped may
 * be back.
 *
 * Nothing is removed: files without readable content are renamed, so that the next start does not treat them as the
 * remains of a crash.
 */
import { LockstepError } from '../../base/errors.ts';
import type { Disk, DiskFile } from '../../io/disk.ts';
import { readFully, replaceFile } from '../../io/disk.ts';
import { manifestName, numberOfName } from '../log/file-names.ts';
import { mustBeLost } from './identity.ts';
import type { ManifestSegment } from '../log/manifest.ts';
import { encodeManifest } from '../log/manifest.ts';
import {
  decodeSegmentHead,
  recordBytes,
  recordKeyBytes,
  recordSeq,
  recordValueBytes,
  segmentHeadBytes,
  segmentIdentity,
} from '../log/record.ts';
import type { SegmentHead } from '../log/record.ts';
import { scanSegment } from './scan.ts';

/** What a rebuild did, for the operator. */
export interface RebuildReport {
  /** 32 hexadecimal digits. */
  readonly storeId: string;
  readonly segments: number;
  readonly records: number;
  /** Names of files without readable content; each now has `.unread` appended. */
  readonly setAside: readonly string[];
}

interface Found {
  readonly name: string;
  readonly head: SegmentHead | undefined;
}

/**
 * Writes the manifest; the caller holds the lock. Rejects with `BadRequest` if the manifest is sound, `NotFound` if no
 * segment is readable, `Corrupted` if the segments are of several stores, `FormatUnsupported`, or a `DiskError`.
 */
export async function rebuildManifest(
  disk: Disk,
  directory: string,
  nodeName: string,
  createdMs: number,
): Promise<RebuildReport> {
  const wasThere = await mustBeLost(disk, directory);
  const found = await findSegments(disk, directory);
  const storeId = oneStore(found, directory);
  const segments: ManifestSegment[] = [];
  const setAside: string[] = [];
  let records = 0;
  for (const { name, head } of found) {
    const read = head === undefined ? undefined : await readSegment(disk, `${directory}/${name}`, head);
    if (read === undefined) setAside.push(name);
    else {
      segments.push(read.segment);
      records += read.records;
    }
  }
  for (const name of setAside) await disk.rename(`${directory}/${name}`, `${directory}/${name}.unread`);
  const path = `${directory}/${manifestName}`;
  if (wasThere) await disk.rename(path, `${path}.unread`);
  const nextNumber = 1 + Math.max(...found.map(({ name }) => numberOfName(name) ?? 0));
  await replaceFile(disk, path, encodeManifest({ storeId, nodeName, createdMs, nextNumber, segments }));
  return { storeId: storeId.toString('hex'), segments: segments.length, records, setAside };
}

/** In the order of their numbers. */
async function findSegments(disk: Disk, directory: string): Promise<readonly Found[]> {
  const found: Found[] = [];
  for (const name of await disk.list(directory)) {
    const number = numberOfName(name);
    if (number === undefined || !name.endsWith('.log')) continue;
    const file = await disk.open(`${directory}/${name}`, 'read');
    try {
      // The second read tells a misdirected read from rot.
      const head = (await readHead(file)) ?? (await readHead(file));
      found.push({ name, head: head?.number === number ? head : undefined });
    } finally {
      await file.close();
    }
  }
  return found.toSorted((left, right) => (numberOfName(left.name) ?? 0) - (numberOfName(right.name) ?? 0));
}

async function readHead(file: DiskFile): Promise<SegmentHead | undefined> {
  const bytes = Buffer.alloc(segmentHeadBytes);
  return (await readFully(file, bytes, 0)) === bytes.length ? decodeSegmentHead(bytes) : undefined;
}

function oneStore(found: readonly Found[], directory: string): Buffer {
  const ids = found.flatMap(({ head }) => (head === undefined ? [] : [head.storeId]));
  const [first] = ids;
  if (first === undefined)
    throw new LockstepError('NotFound', `${directory} holds no segment with a sound head`);
  if (ids.every((id) => id.equals(first))) return first;
  const names = found.map(({ name, head }) => `${name}: ${head?.storeId.toString('hex') ?? 'unreadable'}`);
  throw new LockstepError(
    'Corrupted',
    `${directory} holds segments of several stores (${names.join(', ')}): move away what is not this node's`,
  );
}

/** The manifest's record of a segment and the number of its records; undefined if none can be read. */
async function readSegment(
  disk: Disk,
  path: string,
  head: SegmentHead,
): Promise<{ readonly segment: ManifestSegment; readonly records: number } | undefined> {
  let records = 0;
  let length = segmentHeadBytes;
  let seqMin = Number.MAX_SAFE_INTEGER;
  let seqMax = 0;
  const note = (bytes: Buffer, at: number, offset: number): void => {
    const seq = recordSeq(bytes, at);
    records += 1;
    seqMin = Math.min(seqMin, seq);
    seqMax = Math.max(seqMax, seq);
    length = Math.max(length, offset + recordBytes(recordKeyBytes(bytes, at), recordValueBytes(bytes, at)));
  };
  const file = await disk.open(path, 'read');
  try {
    const { storeId, number, kind } = head;
    const visitor = { record: note, lostValue: note, breach: () => undefined };
    const size = await file.size();
    // Scans it as a sealed one: the scan continues behind damage, which the next start reports.
    await scanSegment(file, segmentIdentity(storeId, number, kind), visitor, { sealedLength: size });
    if (records === 0) return undefined;
    return { segment: { number, kind, sealed: true, length, seqMin, seqMax }, records };
  } finally {
    await file.close();
  }
}
