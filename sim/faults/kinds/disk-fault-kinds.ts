/** The faults of disks, as rows of the table of fault kinds (fault-kinds.ts); `faults/disk-faults.ts` acts them out. */
import type { FaultKindRow, ParameterRange } from './fault-kind-row.ts';

export const diskFaultIds = [
  'FP3',
  'FD1',
  'FD2',
  'FD3',
  'FD4',
  'FD5',
  'FD8',
  'FD9',
  'FD10',
  'FD11',
  'FD12',
  'FD13',
  'FD14',
  'FD15',
  'FD16',
] as const;

export type DiskFaultKind = (typeof diskFaultIds)[number];

const ms = 1000;

/** Which of a node's files a fault of the disk touches (`plan/file-roles.ts` knows them by name). */
const role: ParameterRange = {
  kind: 'choice',
  of: ['any', 'log', 'hint', 'manifest', 'identity', 'members', 'snapshot'],
};
/** One operation in so many is struck. */
const oneIn: ParameterRange = { kind: 'integer', min: 1, max: 50 };

export const diskFaultKinds: Readonly<Record<DiskFaultKind, FaultKindRow>> = {
  FP3: {
    title: 'crash loop',
    story: 'a node loses its power, and again and again while it recovers from that, at any step of its disk',
    aim: 'node',
    lasting: true,
    params: {
      crashes: { kind: 'integer', min: 1, max: 8 },
      stepMax: { kind: 'integer', min: 1, max: 400 },
      keeps: { kind: 'choice', of: ['nothing', 'some', 'torn'] },
    },
  },
  FD1: {
    title: 'reads fail',
    story: 'some reads of a disk fail',
    aim: 'node',
    lasting: true,
    params: { oneIn, role },
  },
  FD2: {
    title: 'writes fail',
    story: 'some writes to a disk fail in the middle; the node is restarted when its store gives up',
    aim: 'node',
    lasting: true,
    params: { oneIn, role },
  },
  FD3: {
    title: 'disk full',
    story: 'a disk has no more room, then it has again; a node whose store gave up sees that by itself',
    aim: 'node',
    lasting: true,
    params: { roomBytes: { kind: 'integer', min: 0, max: 256 * 1024 } },
  },
  FD4: {
    title: 'syncs fail',
    story: 'some syncs fail and lose what they covered; the node is restarted when its store gives up',
    aim: 'node',
    lasting: true,
    params: { oneIn, role },
  },
  FD5: {
    title: 'slow disk',
    story: 'every operation of a disk takes longer, some very much longer',
    aim: 'node',
    lasting: true,
    params: {
      meanUs: { kind: 'integer', min: 1 * ms, max: 1000 * ms },
      tailUs: { kind: 'integer', min: 0, max: 60_000 * ms },
    },
  },
  FD8: {
    title: 'syncs lie',
    story: 'some syncs of a disk succeed and do nothing: the next power loss takes what they covered',
    aim: 'node',
    lasting: true,
    params: { oneIn, role },
  },
  FD9: {
    title: 'bit rot',
    story: 'a bit of a file flips, on the disk and for whoever reads it, running or not',
    aim: 'node',
    lasting: false,
    params: {
      role,
      permille: { kind: 'integer', min: 0, max: 999 },
      bit: { kind: 'integer', min: 0, max: 7 },
    },
  },
  FD10: {
    title: 'misdirected',
    story: 'some writes go elsewhere in their file, or some reads come from elsewhere',
    aim: 'node',
    lasting: true,
    params: {
      what: { kind: 'choice', of: ['read', 'write'] },
      count: { kind: 'integer', min: 1, max: 5 },
      role,
    },
  },
  FD11: {
    title: 'names lost',
    story: 'a node dies and returns; every byte is there, but no name that its directory was not synced for',
    aim: 'node',
    lasting: true,
    params: {},
  },
  FD12: {
    title: 'wiped',
    story: 'a node dies and returns under its name with an empty disk',
    aim: 'node',
    lasting: true,
    params: {},
  },
  FD13: {
    title: 'rolled back',
    story: 'an image of a disk is taken; later the node dies and returns on that image',
    aim: 'node',
    lasting: true,
    params: { ageMs: { kind: 'integer', min: 1, max: 10_000 } },
  },
  FD14: {
    title: 'foreign disk',
    story: 'a node dies, is started on the disk of another one, which it must refuse, and then on its own',
    aim: 'node',
    lasting: true,
    params: { donor: { kind: 'integer', min: 0, max: 63 } },
  },
  FD15: {
    title: 'truncated log',
    story: 'a node dies and returns; of its newest log only the first part is there',
    aim: 'node',
    lasting: true,
    params: { permille: { kind: 'integer', min: 0, max: 999 } },
  },
  FD16: {
    title: 'lost file',
    story: 'a node dies and returns; one of its files is gone or empty',
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
