/**
 * The kinds of faults that a plan can hold, as one table: what each does, what it aims at, and its parameters with
 * their ranges. Generation, validation, the list command and the documentation read this table; `faults/faults.ts`
 * injects the faults. How each is done: `sim/docs/faults.md`.
 */
import { joinModes } from '../../../engine/config/keys.ts';
import { diskFaultNames, diskFaultKinds } from './disk-fault-kinds.ts';
import { clientFaultNames, clientFaultKinds } from './client-fault-kinds.ts';
import type { FaultKindRow } from './fault-kind-row.ts';
import { wasmFaultNames, wasmFaultKinds } from './wasm-fault-kinds.ts';
import { snapshotFaultNames, snapshotFaultKinds } from './snapshot-fault-kinds.ts';

/** Their names, in the order of the list command. */
export const faultKindNames = [
  'network-delay',
  'message-loss',
  'message-duplication',
  'message-replay',
  'message-reordering',
  'network-clog',
  'swizzle-clog',
  'network-partition',
  'one-way-partition',
  'message-filter',
  'connection-reset',
  'half-open-connection',
  'stream-fragmentation',
  'wrong-identity',
  'process-crash',
  'process-pause',
  'cpu-starvation',
  'graceful-restart',
  'double-start',
  'wire-version-skew',
  'permanent-node-loss',
  'membership-change',
  'seeds-down',
  'failure-domain-outage',
  'node-flapping',
  'removed-node-restart',
  'node-standby',
  'clock-skew',
  'clock-jump',
  'clock-strobe',
  'clock-freeze',
  'timer-jitter',
  'power-loss',
  'torn-write',
  ...diskFaultNames,
  ...wasmFaultNames,
  ...clientFaultNames,
  ...snapshotFaultNames,
] as const;

/** One kind of fault. */
export type FaultKind = (typeof faultKindNames)[number];

/** How a removed node starts again: `anew` as a new member of the same name, otherwise on its old disk. */
export const returnModes = [...joinModes, 'anew'] as const;
/** One way in which a removed node starts again. */
export type ReturnMode = (typeof returnModes)[number];

const ms = 1000;

/** The rows by name. Durations in microseconds end in `Us`, in milliseconds in `Ms`. */
export const faultKinds: Readonly<Record<FaultKind, FaultKindRow>> = {
  ...diskFaultKinds,
  ...wasmFaultKinds,
  ...clientFaultKinds,
  ...snapshotFaultKinds,
  'network-delay': {
    code: 'FN1',
    description: 'a link is slow, now and then very slow',
    aim: 'link',
    lasting: true,
    params: {
      minUs: { kind: 'integer', min: 0, max: 30 * ms },
      meanUs: { kind: 'integer', min: 1 * ms, max: 100 * ms },
    },
  },
  'network-partition': {
    code: 'FN8',
    description: 'two sides hear nothing of each other',
    aim: 'side',
    lasting: true,
    params: {},
  },
  'one-way-partition': {
    code: 'FN9',
    description: 'one side hears the other, but not vice versa',
    aim: 'side',
    lasting: true,
    params: { direction: { kind: 'choice', of: ['mute', 'deaf'] } },
  },
  'connection-reset': {
    code: 'FN11',
    description: 'the connections between two hosts are reset',
    aim: 'link',
    lasting: false,
    params: {},
  },
  'process-crash': {
    code: 'FP1',
    description: 'a process dies and returns; its files are whole',
    aim: 'node',
    lasting: true,
    params: {},
  },
  'process-pause': {
    code: 'FP4',
    description: 'a process stands still and goes on',
    aim: 'node',
    lasting: true,
    params: {},
  },
  'graceful-restart': {
    code: 'FP7',
    description: 'a node is stopped in order and started again',
    aim: 'node',
    lasting: true,
    params: {},
  },
  'permanent-node-loss': {
    code: 'FP10',
    description: 'a node dies and never returns',
    aim: 'node',
    lasting: false,
    params: {},
  },
  'membership-change': {
    code: 'FM1',
    description: 'a node joins, leaves, or replaces a dead one',
    aim: 'node',
    lasting: false,
    params: {},
  },
  'power-loss': {
    code: 'FD6',
    description: 'a node dies; unsynced writes are lost or partial',
    aim: 'node',
    lasting: true,
    params: { keeps: { kind: 'choice', of: ['nothing', 'some'] } },
  },
  'torn-write': {
    code: 'FD7',
    description: 'a node dies; unsynced writes are torn in sectors',
    aim: 'node',
    lasting: true,
    params: {},
  },
  'message-loss': {
    code: 'FN2',
    description: 'some messages between nodes are lost',
    aim: 'side',
    lasting: true,
    params: { oneIn: { kind: 'integer', min: 3, max: 100 } },
  },
  'message-duplication': {
    code: 'FN3',
    description: 'some messages arrive twice, perhaps much later',
    aim: 'side',
    lasting: true,
    params: {
      oneIn: { kind: 'integer', min: 1, max: 50 },
      delayMsMax: { kind: 'integer', min: 1, max: 30_000 },
    },
  },
  'message-replay': {
    code: 'FN4',
    description: 'requests of the past arrive once more',
    aim: 'side',
    lasting: true,
    params: {
      oneIn: { kind: 'integer', min: 1, max: 50 },
      delayMsMax: { kind: 'integer', min: 1, max: 5_000 },
    },
  },
  'message-reordering': {
    code: 'FN5',
    description: 'some messages are overtaken by later ones',
    aim: 'side',
    lasting: true,
    params: { oneIn: { kind: 'integer', min: 2, max: 20 } },
  },
  'network-clog': {
    code: 'FN6',
    description: 'messages wait, and flow when the clog is gone',
    aim: 'side',
    lasting: true,
    params: { direction: { kind: 'choice', of: ['in', 'out', 'both'] } },
  },
  'swizzle-clog': {
    code: 'FN7',
    description: 'nodes are clogged and freed one after another',
    aim: 'side',
    lasting: true,
    params: {
      stepMs: { kind: 'integer', min: 10, max: 1_000 },
      turn: { kind: 'integer', min: 0, max: 99 },
    },
  },
  'message-filter': {
    code: 'FN10',
    description: 'one kind of message no longer passes',
    aim: 'side',
    lasting: true,
    params: {
      message: {
        kind: 'choice',
        of: ['gossip', 'reads', 'writes', 'forwards', 'transactions', 'antiEntropy', 'transfers', 'answers'],
      },
    },
  },
  'half-open-connection': {
    code: 'FN12',
    description: 'connections end, and one side does not know it',
    aim: 'link',
    lasting: false,
    params: {},
  },
  'stream-fragmentation': {
    code: 'FN13',
    description: 'all bytes arrive in small pieces',
    aim: 'side',
    clients: ['c', 'x', 'r', 'j'],
    lasting: true,
    params: {},
  },
  'wrong-identity': {
    code: 'FN16',
    description: 'a process claims to be a member that it is not',
    aim: 'node',
    lasting: true,
    params: {
      claim: { kind: 'choice', of: ['sameName', 'otherCluster', 'duplicateToken', 'hugeToken'] },
    },
  },
  'cpu-starvation': {
    code: 'FP6',
    description: 'a process gets the processor only now and then',
    aim: 'node',
    lasting: true,
    params: {
      awayMs: { kind: 'integer', min: 1, max: 200 },
      hereMs: { kind: 'integer', min: 1, max: 50 },
    },
  },
  'double-start': {
    code: 'FP8',
    description: 'a second process starts on a used directory',
    aim: 'node',
    lasting: false,
    params: {},
  },
  'wire-version-skew': {
    code: 'FP9',
    description: 'a node speaks another version of the protocol',
    aim: 'node',
    lasting: true,
    params: { by: { kind: 'choice', of: ['older', 'newer'] } },
  },
  'seeds-down': {
    code: 'FM3',
    description: 'nodes start while all the others are away',
    aim: 'side',
    lasting: true,
    params: {},
  },
  'failure-domain-outage': {
    code: 'FM4',
    description: 'a rack or a datacenter dies and returns at once',
    aim: 'side',
    lasting: true,
    params: { keeps: { kind: 'choice', of: ['everything', 'synced'] } },
  },
  'node-flapping': {
    code: 'FM5',
    description: 'a node is silent and heard of in turns',
    aim: 'node',
    lasting: true,
    params: {
      awayMs: { kind: 'integer', min: 50, max: 20_000 },
      hereMs: { kind: 'integer', min: 20, max: 5_000 },
    },
  },
  'removed-node-restart': {
    code: 'FM6',
    description: 'a node that left or was replaced starts again',
    aim: 'node',
    lasting: false,
    params: { join: { kind: 'choice', of: returnModes } },
  },
  'node-standby': {
    code: 'FM7',
    description: 'an operator puts a member in STANDBY for a while',
    aim: 'node',
    lasting: true,
    params: {},
  },
  'clock-skew': {
    code: 'FC1',
    description: 'both clocks of a node run fast or slow, or are off',
    aim: 'node',
    lasting: false,
    params: {
      ppm: { kind: 'integer', min: -500, max: 500 },
      offsetMs: { kind: 'integer', min: -288_000, max: 288_000 },
    },
  },
  'clock-jump': {
    code: 'FC2',
    description: 'a wall clock jumps, forward or back',
    aim: 'node',
    lasting: false,
    params: { byMs: { kind: 'integer', min: -86_400_000, max: 86_400_000 } },
  },
  'clock-strobe': {
    code: 'FC3',
    description: 'a wall clock jumps to and fro',
    aim: 'node',
    lasting: true,
    params: {
      periodMs: { kind: 'integer', min: 4, max: 2_000 },
      byMs: { kind: 'integer', min: 1, max: 1_000 },
    },
  },
  'clock-freeze': {
    code: 'FC4',
    description: 'a wall clock stands while time goes on',
    aim: 'node',
    lasting: true,
    params: {},
  },
  'timer-jitter': {
    code: 'FC5',
    description: 'timers fire a little early, or late',
    aim: 'node',
    lasting: true,
    params: {
      earlyUs: { kind: 'integer', min: 0, max: 990 },
      lateUs: { kind: 'integer', min: 0, max: 50 * ms },
    },
  },
};

/** The rows with their names, in the order of `faultKindNames`. */
export const faultRows: readonly (FaultKindRow & { readonly name: FaultKind })[] = faultKindNames.map(
  (name) => ({ name, ...faultKinds[name] }),
);
