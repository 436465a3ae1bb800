/**
 * Lists the segments of a store: those that its manifest names. A crash may leave other files beside them, such as the
 * input of a merge whose removal was not durable. The records of those files do not count, and may be older than
 * removals that a merge has dropped.
 */
import { LockstepError } from '../../engine/base/errors.ts';
import { manifestName, segmentName } from '../../engine/storage/log/file-names.ts';
import type { Manifest } from '../../engine/storage/log/manifest.ts';
import { decodeManifest } from '../../engine/storage/log/manifest.ts';
import { segmentIdentity } from '../../engine/storage/log/record.ts';
import type { SegmentHead } from './log-records.ts';
import { segmentHeadOf } from './log-records.ts';

/** A segment that the manifest names, with its content and the salt of its checksums. */
export interface SegmentInUse extends Pick<Manifest['segments'][number], 'kind' | 'sealed' | 'length'> {
  readonly path: string;
  /** Undefined: the manifest names a file that is missing. */
  readonly content: Buffer | undefined;
  /** 32 hexadecimal digits. */
  readonly storeId: string;
  readonly salt: number;
}

/** In the manifest's order; undefined without a readable manifest, on which no node serves. */
export function segmentsInUse(
  files: ReadonlyMap<string, Buffer>,
  directory: string,
): readonly SegmentInUse[] | undefined {
  const bytes = files.get(`${directory}/${manifestName}`);
  const manifest = bytes === undefined ? undefined : manifestIn(bytes);
  return manifest?.segments.map(({ number, kind, sealed, length }) => {
    const path = `${directory}/${segmentName(number)}`;
    const { salt } = segmentIdentity(manifest.storeId, number, kind);
    const storeId = manifest.storeId.toString('hex');
    return { path, content: files.get(path), storeId, kind, salt, sealed, length };
  });
}

/**
 * Paths and contents of the segments that exist and have room for a head, and how to read them. Store id, salt and
 * kind are those of the manifest, as in the engine: a disk may have lost the write of the head.
 */
export function logsInUse(
  files: ReadonlyMap<string, Buffer>,
  directory: string,
): readonly (readonly [path: string, content: Buffer, head: SegmentHead])[] {
  return (segmentsInUse(files, directory) ?? []).flatMap(({ path, content, storeId, kind, salt }) => {
    const stated = content === undefined ? undefined : segmentHeadOf(content);
    return content === undefined || stated === undefined
      ? []
      : [[path, content, { bytes: stated.bytes, storeId, salt, merge: kind === 'merge' }] as const];
  });
}

function manifestIn(bytes: Buffer): Manifest | undefined {
  try {
    return decodeManifest(bytes).manifest;
  } catch (error) {
    if (error instanceof LockstepError) return undefined;
    throw error;
  }
}
