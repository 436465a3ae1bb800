/**
 * INV13, a damaged snapshot of anti-entropy's tree is refused: each byte that was flipped between two lives is noticed
 * by the next life, once, as `Corrupted`; and nothing is refused that was not damaged. Each flip and each rejection is
 * one comparison.
 */
import type { CheckReport } from './report.ts';
import { Tally } from './report.ts';

/** A byte of a node's snapshot was flipped while the node was down. */
export interface SnapshotFlip {
  readonly node: string;
  readonly atUs: number;
}

/** A node said that it rejected its snapshot. */
export interface SnapshotRejectionRecord {
  readonly node: string;
  readonly atUs: number;
  readonly reason: string;
}

export function checkSnapshotRejection(
  flips: readonly SnapshotFlip[],
  rejections: readonly SnapshotRejectionRecord[],
): CheckReport {
  const tally = new Tally('INV13');
  const left = [...rejections];
  for (const { node, atUs } of flips) {
    const index = left.findIndex((rejection) => rejection.node === node && rejection.atUs >= atUs);
    const reason = left[index]?.reason;
    if (index >= 0) left.splice(index, 1);
    tally.compare(reason === 'Corrupted', atUs, () =>
      reason === undefined
        ? `${node} took a snapshot with a flipped byte for sound`
        : `${node} rejected a snapshot with a flipped byte as ${reason}`,
    );
  }
  for (const { node, atUs, reason } of left) {
    tally.compare(false, atUs, () => `${node} rejected a snapshot that nobody had damaged, as ${reason}`);
  }
  return tally.report();
}
