/**
 * Names in a store's directory, and that directory's own.
 *
 *     LOCK            held while the store is open
 *     MANIFEST        identity, and which segments count (manifest.ts)
 *     00000007.log    segment 7 (record.ts)
 *     00000007.hint   where segment 7's records lie (storage/index/hint-file.ts)
 *     ROOM            written and removed while a store that found its disk full looks for room (storage/free-space-probe.ts)
 *     *.new           a file being replaced; worthless after a crash
 */

/** The directory of a node's objects, in its data directory. */
export const storeDirectory = 'store';

export const lockName = 'LOCK';
export const manifestName = 'MANIFEST';
export const probeName = 'ROOM';

export function segmentName(number: number): string {
  return `${String(number).padStart(8, '0')}.log`;
}

export function hintName(number: number): string {
  return `${String(number).padStart(8, '0')}.hint`;
}

const numberedForm = /^(\d{8,10})\.(log|hint|hint\.new)$/;

/** The segment number in a segment's or hint's name; undefined for other names. */
export function numberOfName(name: string): number | undefined {
  const digits = numberedForm.exec(name)?.[1];
  return digits === undefined ? undefined : Number(digits);
}
