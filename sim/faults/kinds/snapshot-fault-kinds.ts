/** What becomes of snapshots of hash trees, as rows of the table of fault kinds; `faults/snapshot-faults.ts` acts it out. */
import type { FaultKindRow } from './fault-kind-row.ts';

export const snapshotFaultIds = ['FS1', 'FS2', 'FS3', 'FS4', 'FS5', 'FS10'] as const;

export type SnapshotFaultKind = (typeof snapshotFaultIds)[number];

export const snapshotFaultKinds: Readonly<Record<SnapshotFaultKind, FaultKindRow>> = {
  FS1: {
    title: 'snapshot rot',
    story: 'a node is stopped in order; a bit of its hash tree’s snapshot flips before it is started again',
    aim: 'node',
    lasting: true,
    params: {
      permille: { kind: 'integer', min: 0, max: 999 },
      bit: { kind: 'integer', min: 0, max: 7 },
    },
  },
  FS2: {
    title: 'snapshot cut',
    story: 'a node is stopped in order; the snapshot of its hash tree is cut short, emptied, or grows a byte',
    aim: 'node',
    lasting: true,
    params: {
      to: { kind: 'choice', of: ['shorter', 'nothing', 'longer'] },
      permille: { kind: 'integer', min: 0, max: 999 },
    },
  },
  FS3: {
    title: 'version skew',
    story:
      'a node is stopped in order and finds a snapshot of another version, sound in itself, when it returns',
    aim: 'node',
    lasting: true,
    params: { by: { kind: 'choice', of: ['-1', '1', '77'] } },
  },
  FS4: {
    title: 'stale snapshot',
    story: 'a node is stopped in order and finds an older snapshot of its own when it returns',
    aim: 'node',
    lasting: true,
    params: { ageMs: { kind: 'integer', min: 100, max: 4_000 } },
  },
  FS5: {
    title: 'foreign snapshot',
    story: 'a node is stopped in order and finds another node’s snapshot when it returns',
    aim: 'node',
    lasting: true,
    params: {},
  },
  FS10: {
    title: 'leaf flip',
    story: 'a leaf of a node’s hash tree was altered in memory before the tree was saved, checksum and all',
    aim: 'node',
    lasting: true,
    params: { permille: { kind: 'integer', min: 0, max: 999 } },
  },
};
