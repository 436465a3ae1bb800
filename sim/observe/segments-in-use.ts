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

/** A segment that the manifest names, with its content and the salt of its checksums. */
export interface SegmentInUse extends Pick<Manifest['segments'][number], 'sealed' | 'length'> {
  readonly path: string;
  /** Undefined: the manifest names a file that is missing. */
  readonly content: Buffer | undefined;
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
    return { path, content: files.get(path), salt, sealed, length };
  });
}

/** Paths and contents of the segments whose files exist. */
export function logsInUse(
  files: ReadonlyMap<string, Buffer>,
  directory: string,
): readonly (readonly [path: string, content: Buffer])[] {
  return (segmentsInUse(files, directory) ?? []).flatMap(({ path, content }) =>
    content === undefined ? [] : [[path, content] as const],
  );
}

function manifestIn(bytes: Buffer): Manifest | undefined {
  try {
    return decodeManifest(bytes).manifest;
  } catch (error) {
    if (error instanceof LockstepError) return undefined;
    throw error;
  }
}
