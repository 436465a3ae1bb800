/**
 * The segments that a store is made of: those that its manifest names. Beside them may lie what a crash has left, such
 * as an input of a merge whose removal was not durable; its records count no more, and may be older than removals that
 * have been merged away themselves.
 */
import { LockstepError } from '../../engine/base/errors.ts';
import { manifestName, segmentName } from '../../engine/storage/log/file-names.ts';
import type { Manifest } from '../../engine/storage/log/manifest.ts';
import { decodeManifest } from '../../engine/storage/log/manifest.ts';
import { segmentIdentity } from '../../engine/storage/log/record.ts';

export interface SegmentInUse extends Pick<Manifest['segments'][number], 'sealed' | 'length'> {
  readonly path: string;
  /** Undefined: the manifest names it, and it is not there. */
  readonly content: Buffer | undefined;
  readonly salt: number;
}

/** In the manifest's order; undefined without a manifest that can be read, which no node serves on. */
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

/** Paths and contents of those that are there. */
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
