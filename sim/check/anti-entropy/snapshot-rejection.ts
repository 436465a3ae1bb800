/**
 * `snapshot-rejection` (INV13): a snapshot of the hash tree that differs from what the node saved is rejected. After
 * any tampering between two incarnations, the next one reports the rejection once, for the right reason. A sound
 * snapshot is not rejected. Each tampered snapshot and each rejection is one comparison. `metrics-reconcile` checks
 * that rejections are counted once. A node saves its tree no more often than its interval says, except when it stops.
 * It saves no tree twice: after one without dirty segments, it saves the next once its store has a newer record. The
 * floor counts alterations and rejections alone. Skipped: rejections by nodes whose disks other faults have damaged, and
 * alterations that nodes did not report which were replaced, or died for good: perhaps they did not start again.
 */
import { invariant } from '../invariant.ts';
import type { CheckReport } from '../report.ts';
import { joinReports, Tally, uncounted } from '../report.ts';

/** A node's snapshot was altered while the node was down. */
export interface SnapshotTamper {
  readonly node: string;
  readonly atUs: number;
  /** The reason for which the next incarnation must reject it; `sound`: it must not reject it. */
  readonly verdict: 'Corrupted' | 'VersionSkew' | 'BadShape' | 'sound';
}

/** A node's report that it rejected its snapshot. */
export interface SnapshotRejectionRecord {
  readonly node: string;
  readonly atUs: number;
  readonly reason: string;
}

/** A node saved its tree. */
export interface SnapshotSave {
  /** The node and its incarnation, for people. */
  readonly incarnation: string;
  readonly atUs: number;
  /** The node was being stopped: it saves its tree once more, whenever it saved it last. */
  readonly stopping: boolean;
  /** The store's newest record when the tree was saved. */
  readonly position: number;
  /** Segments of the saved tree that have to be derived again. */
  readonly dirtyCount: number;
  /** The shortest time between two saves, as the node is configured. */
  readonly intervalUs: number;
}

/** What was done to snapshots of hash trees, and which ones nodes rejected. */
export interface SnapshotEvidence {
  readonly tampers: readonly SnapshotTamper[];
  readonly rejections: readonly SnapshotRejectionRecord[];
  readonly saves: readonly SnapshotSave[];
  /** Nodes whose snapshots other faults may have damaged, too (the contract of faults). */
  readonly damaged: ReadonlySet<string>;
  /** Nodes that left, were replaced, or died for good. */
  readonly gone: ReadonlySet<string>;
}

/** The row of `snapshot-rejection`. */
export const snapshotRejectionRow = invariant({
  name: 'snapshot-rejection',
  code: 'INV13',
  promise: 'a damaged snapshot of a hash tree is refused',
  gravity: 'data',
  breach: 'a node compares its data by a damaged hash tree',
  needs: [],
  check: ({ snapshots }: { readonly snapshots: SnapshotEvidence }) =>
    joinReports(checkSnapshotRejection(snapshots), uncounted(checkSnapshotSaves(snapshots.saves))),
});

/** Compares alterations with rejections. */
export function checkSnapshotRejection({
  tampers,
  rejections,
  damaged,
  gone,
}: Omit<SnapshotEvidence, 'saves'>): CheckReport {
  const tally = new Tally('snapshot-rejection');
  const left = [...rejections];
  for (const { node, atUs, verdict } of tampers) {
    if (verdict === 'sound') continue;
    const index = left.findIndex((rejection) => rejection.node === node && rejection.atUs >= atUs);
    const reason = left[index]?.reason;
    if (index >= 0) left.splice(index, 1);
    if (reason === undefined && gone.has(node)) {
      tally.skip();
      continue;
    }
    tally.compare(reason === verdict, atUs, () =>
      reason === undefined
        ? `${node} took a snapshot for sound that is ${verdict}`
        : `${node} rejected a snapshot that is ${verdict} as ${reason}`,
    );
  }
  for (const { node, atUs, reason } of left) {
    if (damaged.has(node)) {
      tally.skip();
      continue;
    }
    tally.compare(false, atUs, () => `${node} rejected a snapshot that nobody had damaged, as ${reason}`);
  }
  return tally.report();
}

/** Clocks run fast by so much at most, and a tick is so much early. */
const driftPart = 0.001;
const earlyUsMax = 10_000;

/** Compares the time between saves with the interval, and each saved tree with the one before it. */
export function checkSnapshotSaves(saves: readonly SnapshotSave[]): CheckReport {
  const tally = new Tally('snapshot-rejection');
  const last = new Map<string, SnapshotSave>();
  for (const save of saves) {
    const { incarnation, atUs, intervalUs, position } = save;
    const before = last.get(incarnation);
    last.set(incarnation, save);
    if (before === undefined) continue;
    const tookUs = atUs - before.atUs;
    tally.compare(save.stopping || tookUs >= intervalUs * (1 - driftPart) - earlyUsMax, atUs, () => {
      return `${incarnation}, saved its tree ${tookUs} us after it had, and ${intervalUs} us is its interval`;
    });
    tally.compare(before.dirtyCount > 0 || before.position !== position, atUs, () => {
      return `${incarnation}, saved its tree of record ${position} again, and nothing has changed since`;
    });
  }
  return tally.report();
}
