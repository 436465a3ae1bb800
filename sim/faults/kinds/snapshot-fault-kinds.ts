/** The faults of hash-tree snapshots, as rows of the table of fault kinds; `faults/snapshot-faults.ts` injects them. */
import type { FaultKindRow } from './fault-kind-row.ts';

/** Their names, in the order of the list command. */
export const snapshotFaultNames = [
  'snapshot-bit-rot',
  'snapshot-truncation',
  'snapshot-version-skew',
  'stale-snapshot',
  'foreign-snapshot',
  'leaf-corruption',
] as const;

/** One kind of snapshot fault. */
export type SnapshotFaultKind = (typeof snapshotFaultNames)[number];

/** The rows by name. */
export const snapshotFaultKinds: Readonly<Record<SnapshotFaultKind, FaultKindRow>> = {
  'snapshot-bit-rot': {
    code: 'FS1',
    description: "a bit of a hash tree's snapshot flips",
    aim: 'node',
    lasting: true,
    params: {
      permille: { kind: 'integer', min: 0, max: 999 },
      bit: { kind: 'integer', min: 0, max: 7 },
    },
  },
  'snapshot-truncation': {
    code: 'FS2',
    description: 'a snapshot is cut short, emptied or lengthened',
    aim: 'node',
    lasting: true,
    params: {
      to: { kind: 'choice', of: ['shorter', 'nothing', 'longer'] },
      permille: { kind: 'integer', min: 0, max: 999 },
    },
  },
  'snapshot-version-skew': {
    code: 'FS3',
    description: 'a node finds a snapshot of another version',
    aim: 'node',
    lasting: true,
    params: { by: { kind: 'choice', of: ['-1', '1', '77'] } },
  },
  'stale-snapshot': {
    code: 'FS4',
    description: 'a node finds an older snapshot of its own',
    aim: 'node',
    lasting: true,
    params: { ageMs: { kind: 'integer', min: 100, max: 4_000 } },
  },
  'foreign-snapshot': {
    code: 'FS5',
    description: "a node finds another node's snapshot",
    aim: 'node',
    lasting: true,
    params: {},
  },
  'leaf-corruption': {
    code: 'FS10',
    description: 'a leaf of a hash tree is altered in memory',
    aim: 'node',
    lasting: true,
    params: { permille: { kind: 'integer', min: 0, max: 999 } },
  },
};
