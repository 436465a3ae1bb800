/**
 * `snapshot-rejection` (INV13), a snapshot of anti-entropy's tree that is not what the node saved is refused:
 * whatever was done to it between two lives, the next life says so, once and for the right reason; and nothing is
 * refused that is sound. Each tampered snapshot and each rejection is one comparison. That rejections are counted
 * once is `metrics-reconcile`'s.
 */
import type { CheckReport } from './report.ts';
import { Tally } from './report.ts';

/** A node's snapshot was tampered with while the node was down. */
export interface SnapshotTamper {
  readonly node: string;
  readonly atUs: number;
  /** What the next life must make of it; `sound`: no word. */
  readonly verdict: 'Corrupted' | 'VersionSkew' | 'BadShape' | 'sound';
}

/** A node said that it rejected its snapshot. */
export interface SnapshotRejectionRecord {
  readonly node: string;
  readonly atUs: number;
  readonly reason: string;
}

export function checkSnapshotRejection(
  tampers: readonly SnapshotTamper[],
  rejections: readonly SnapshotRejectionRecord[],
): CheckReport {
  const tally = new Tally('snapshot-rejection');
  const left = [...rejections];
  for (const { node, atUs, verdict } of tampers) {
    if (verdict === 'sound') continue;
    const index = left.findIndex((rejection) => rejection.node === node && rejection.atUs >= atUs);
    const reason = left[index]?.reason;
    if (index >= 0) left.splice(index, 1);
    tally.compare(reason === verdict, atUs, () =>
      reason === undefined
        ? `${node} took a snapshot for sound that is ${verdict}`
        : `${node} rejected a snapshot that is ${verdict} as ${reason}`,
    );
  }
  for (const { node, atUs, reason } of left) {
    tally.compare(false, atUs, () => `${node} rejected a snapshot that nobody had damaged, as ${reason}`);
  }
  return tally.report();
}
