/**
 * The faults of disks, as rows of the table of fault kinds (`fault-kinds.ts`); `faults/disk-faults.ts` injects them.
 */
import type { FaultKindRow, ParameterRange } from './fault-kind-row.ts';

/** Their names, in the order of the list command. */
export const diskFaultNames = [
  'crash-loop',
  'read-error',
  'write-error',
  'disk-full',
  'sync-error',
  'slow-disk',
  'lying-sync',
  'bit-rot',
  'misdirected-io',
  'lost-directory-entries',
  'disk-wipe',
  'disk-rollback',
  'foreign-disk',
  'log-truncation',
  'file-loss',
] as const;

/** One kind of disk fault. */
export type DiskFaultKind = (typeof diskFaultNames)[number];

const ms = 1000;

/** Which of a node's files a disk fault touches (`plan/file-roles.ts` maps roles to paths). */
const role: ParameterRange = {
  kind: 'choice',
  of: ['any', 'log', 'hint', 'manifest', 'identity', 'members', 'snapshot'],
};
/** One in so many operations is struck. */
const oneIn: ParameterRange = { kind: 'integer', min: 1, max: 50 };

/** The rows by name. */
export const diskFaultKinds: Readonly<Record<DiskFaultKind, FaultKindRow>> = {
  'crash-loop': {
    code: 'FP3',
    description: 'the power goes again and again during recovery',
    aim: 'node',
    lasting: true,
    params: {
      crashes: { kind: 'integer', min: 1, max: 8 },
      stepMax: { kind: 'integer', min: 1, max: 400 },
      keeps: { kind: 'choice', of: ['nothing', 'some', 'torn'] },
    },
  },
  'read-error': {
    code: 'FD1',
    description: 'some reads of a disk fail',
    aim: 'node',
    lasting: true,
    params: { oneIn, role },
  },
  'write-error': {
    code: 'FD2',
    description: 'some writes to a disk fail in the middle',
    aim: 'node',
    lasting: true,
    params: { oneIn, role },
  },
  'disk-full': {
    code: 'FD3',
    description: 'a disk has no room, then it has again',
    aim: 'node',
    lasting: true,
    params: { roomBytes: { kind: 'integer', min: 0, max: 256 * 1024 } },
  },
  'sync-error': {
    code: 'FD4',
    description: 'some syncs fail and lose what they covered',
    aim: 'node',
    lasting: true,
    params: { oneIn, role },
  },
  'slow-disk': {
    code: 'FD5',
    description: 'a disk takes longer, now and then very long',
    aim: 'node',
    lasting: true,
    params: {
      meanUs: { kind: 'integer', min: 1 * ms, max: 1000 * ms },
      tailUs: { kind: 'integer', min: 0, max: 60_000 * ms },
    },
  },
  'lying-sync': {
    code: 'FD8',
    description: 'some syncs of a disk succeed and do nothing',
    aim: 'node',
    lasting: true,
    params: { oneIn, role },
  },
  'bit-rot': {
    code: 'FD9',
    description: 'a bit of a file flips on the disk',
    aim: 'node',
    lasting: false,
    params: {
      role,
      permille: { kind: 'integer', min: 0, max: 999 },
      bit: { kind: 'integer', min: 0, max: 7 },
    },
  },
  'misdirected-io': {
    code: 'FD10',
    description: 'some writes or reads go to the wrong place',
    aim: 'node',
    lasting: true,
    params: {
      what: { kind: 'choice', of: ['read', 'write'] },
      count: { kind: 'integer', min: 1, max: 5 },
      role,
    },
  },
  'lost-directory-entries': {
    code: 'FD11',
    description: 'a node dies; names without a directory sync go',
    aim: 'node',
    lasting: true,
    params: {},
  },
  'disk-wipe': {
    code: 'FD12',
    description: 'a node dies and returns with an empty disk',
    aim: 'node',
    lasting: true,
    params: {},
  },
  'disk-rollback': {
    code: 'FD13',
    description: 'a node returns on an old image of its disk',
    aim: 'node',
    lasting: true,
    params: { ageMs: { kind: 'integer', min: 1, max: 10_000 } },
  },
  'foreign-disk': {
    code: 'FD14',
    description: 'a node is started on the disk of another one',
    aim: 'node',
    lasting: true,
    params: { donor: { kind: 'integer', min: 0, max: 63 } },
  },
  'log-truncation': {
    code: 'FD15',
    description: 'a node dies; its newest log is cut short',
    aim: 'node',
    lasting: true,
    params: { permille: { kind: 'integer', min: 0, max: 999 } },
  },
  'file-loss': {
    code: 'FD16',
    description: 'a node dies; one of its files is gone or empty',
    aim: 'node',
    lasting: true,
    params: {
      permille: { kind: 'integer', min: 0, max: 999 },
      how: { kind: 'choice', of: ['removed', 'emptied'] },
      role: {
        kind: 'choice',
        of: ['identity', 'members', 'hint', 'hints', 'snapshot'],
      },
    },
  },
};
