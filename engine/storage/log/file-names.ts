/**
 * The names of files in a store's directory, and the name of the directory.
 *
 *     LOCK            held while the store is open
 *     MANIFEST        identity, and which segments count (manifest.ts)
 *     00000007.log    segment 7 (record.ts)
 *     00000007.hint   where segment 7's records are (index/hint-file.ts)
 *     ROOM            written and removed by the free-space probe after a full disk (free-space-probe.ts)
 *     *.damaged       a damaged segment that was merged, kept for the operator; no start reads it
 *     *.new           a file being replaced; worthless after a crash
 */

/** The directory of a node's objects, within its data directory. */
export const storeDirectory = 'store';

/** Name of the lock. */
export const lockName = 'LOCK';
/** Name of the manifest. */
export const manifestName = 'MANIFEST';
/** Name of the file that the free-space probe writes. */
export const probeName = 'ROOM';

/** Name of the segment with this number. */
export function segmentName(number: number): string {
  return `${String(number).padStart(8, '0')}.log`;
}

/** Name of the hint file of the segment with this number. */
export function hintName(number: number): string {
  return `${String(number).padStart(8, '0')}.hint`;
}

const numberedForm = /^(\d{8,10})\.(log|hint|hint\.new)$/;

/** The number in the name of a segment or hint file; undefined for other names. */
export function numberOfName(name: string): number | undefined {
  const digits = numberedForm.exec(name)?.[1];
  return digits === undefined ? undefined : Number(digits);
}
