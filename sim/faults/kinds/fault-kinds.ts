/**
 * The kinds of faults that a plan can hold, as one table: what each does, what it aims at, and its parameters with
 * their ranges. Generation, validation, the list command and the documentation read this table; `faults/faults.ts` acts
 * it out. Numbers are the catalogue's (sim/docs/faults.md).
 */
import { joinModes } from '../../../engine/config/keys.ts';
import { diskFaultIds, diskFaultKinds } from './disk-fault-kinds.ts';
import { clientFaultIds, clientFaultKinds } from './client-fault-kinds.ts';
import type { FaultKindRow } from './fault-kind-row.ts';
import { wasmFaultIds, wasmFaultKinds } from './wasm-fault-kinds.ts';
import { snapshotFaultIds, snapshotFaultKinds } from './snapshot-fault-kinds.ts';

export const faultKindIds = [
  ...([
    'FN1',
    'FN2',
    'FN3',
    'FN4',
    'FN5',
    'FN6',
    'FN7',
    'FN8',
    'FN9',
    'FN10',
    'FN11',
    'FN12',
    'FN13',
    'FN16',
  ] as const),
  ...(['FP1', 'FP4', 'FP6', 'FP7', 'FP8', 'FP9', 'FP10'] as const),
  ...(['FM1', 'FM3', 'FM4', 'FM5', 'FM6', 'FM7'] as const),
  ...(['FC1', 'FC2', 'FC3', 'FC4', 'FC5'] as const),
  ...(['FD6', 'FD7'] as const),
  ...diskFaultIds,
  ...wasmFaultIds,
  ...clientFaultIds,
  ...snapshotFaultIds,
] as const;

export type FaultKind = (typeof faultKindIds)[number];

/** How one that is gone starts again: `anew` as a newcomer of its name, otherwise on its old disk. */
export const returnModes = [...joinModes, 'anew'] as const;
export type ReturnMode = (typeof returnModes)[number];

const ms = 1000;

export const faultKinds: Readonly<Record<FaultKind, FaultKindRow>> = {
  ...diskFaultKinds,
  ...wasmFaultKinds,
  ...clientFaultKinds,
  ...snapshotFaultKinds,
  FN1: {
    title: 'delay',
    story: 'a link is slow: a floor, an exponential part and a rare long tail',
    aim: 'link',
    lasting: true,
    params: {
      minUs: { kind: 'integer', min: 0, max: 30 * ms },
      meanUs: { kind: 'integer', min: 1 * ms, max: 100 * ms },
    },
  },
  FN8: {
    title: 'partition',
    story: 'the nodes are cut into two sides that hear nothing of each other',
    aim: 'side',
    lasting: true,
    params: {},
  },
  FN9: {
    title: 'one-way partition',
    story: 'one side is no longer heard by the other, but hears it',
    aim: 'side',
    lasting: true,
    params: { direction: { kind: 'choice', of: ['mute', 'deaf'] } },
  },
  FN11: {
    title: 'reset',
    story: 'the connections between two hosts are reset, losing what is under way',
    aim: 'link',
    lasting: false,
    params: {},
  },
  FP1: {
    title: 'crash',
    story: 'a node dies in silence and returns; the system under it lived on, so its files are whole',
    aim: 'node',
    lasting: true,
    params: {},
  },
  FP4: {
    title: 'pause',
    story: 'a node stands still and goes on; its clocks and its kernel never stopped',
    aim: 'node',
    lasting: true,
    params: {},
  },
  FP7: {
    title: 'orderly restart',
    story: 'a node is asked to stop while it works, and is started again',
    aim: 'node',
    lasting: true,
    params: {},
  },
  FP10: {
    title: 'death',
    story: 'a node dies and never returns',
    aim: 'node',
    lasting: false,
    params: {},
  },
  FM1: {
    title: 'join, leave, replace',
    story: 'a spare node joins, or takes the place of a member that dies for good; a member leaves',
    aim: 'node',
    lasting: false,
    params: {},
  },
  FD6: {
    title: 'power loss',
    story: 'a node dies and returns; of what was never synced, nothing or an arbitrary part is there',
    aim: 'node',
    lasting: true,
    params: { keeps: { kind: 'choice', of: ['nothing', 'some'] } },
  },
  FD7: {
    title: 'torn write',
    story: 'a node dies and returns; what was never synced is torn within its sectors',
    aim: 'node',
    lasting: true,
    params: {},
  },
  FN2: {
    title: 'drop',
    story: 'frames between some nodes and the rest are lost, though their connections live',
    aim: 'side',
    lasting: true,
    params: { oneIn: { kind: 'integer', min: 3, max: 100 } },
  },
  FN3: {
    title: 'duplicate',
    story: 'frames between some nodes and the rest arrive twice, the second time up to so much later',
    aim: 'side',
    lasting: true,
    params: {
      oneIn: { kind: 'integer', min: 1, max: 50 },
      delayMsMax: { kind: 'integer', min: 1, max: 30_000 },
    },
  },
  FN4: {
    title: 'stale replay',
    story: 'requests of earlier, perhaps of earlier lives and connections, arrive once more',
    aim: 'side',
    lasting: true,
    params: {
      oneIn: { kind: 'integer', min: 1, max: 50 },
      delayMsMax: { kind: 'integer', min: 1, max: 5_000 },
    },
  },
  FN5: {
    title: 'reorder',
    story: 'frames between some nodes and the rest overtake each other',
    aim: 'side',
    lasting: true,
    params: { oneIn: { kind: 'integer', min: 2, max: 20 } },
  },
  FN6: {
    title: 'clog',
    story: 'what some nodes hear, or say, waits and is not lost; it flows when the clog is gone',
    aim: 'side',
    lasting: true,
    params: { direction: { kind: 'choice', of: ['in', 'out', 'both'] } },
  },
  FN7: {
    title: 'swizzle clog',
    story: 'some nodes are clogged one after another, and freed one after another in another order',
    aim: 'side',
    lasting: true,
    params: {
      stepMs: { kind: 'integer', min: 10, max: 1_000 },
      turn: { kind: 'integer', min: 0, max: 99 },
    },
  },
  FN10: {
    title: 'message filter',
    story: 'one kind of message no longer passes between some nodes and the rest',
    aim: 'side',
    lasting: true,
    params: {
      message: {
        kind: 'choice',
        of: ['gossip', 'reads', 'writes', 'forwards', 'transactions', 'antiEntropy', 'transfers', 'answers'],
      },
    },
  },
  FN12: {
    title: 'half-open',
    story:
      'connections between two hosts end for the first of them only; the other learns of it when it sends',
    aim: 'link',
    lasting: false,
    params: {},
  },
  FN13: {
    title: 'small pieces',
    story:
      'everything between some nodes, or some clients, and the rest of the nodes arrives in small pieces',
    aim: 'side',
    clients: ['c', 'x', 'r', 'j'],
    lasting: true,
    params: {},
  },
  FN16: {
    title: 'wrong identity',
    story: 'a process that is no member says that it is: by a name, a cluster or a token that is not its own',
    aim: 'node',
    lasting: true,
    params: {
      claim: { kind: 'choice', of: ['sameName', 'otherCluster', 'duplicateToken', 'hugeToken'] },
    },
  },
  FP6: {
    title: 'slow process',
    story: 'a process gets the processor only now and then',
    aim: 'node',
    lasting: true,
    params: {
      awayMs: { kind: 'integer', min: 1, max: 200 },
      hereMs: { kind: 'integer', min: 1, max: 50 },
    },
  },
  FP8: {
    title: 'double start',
    story: 'a second process is started on the directory of one that lives',
    aim: 'node',
    lasting: false,
    params: {},
  },
  FP9: {
    title: 'version mix',
    story: 'a node speaks another version of the wire format',
    aim: 'node',
    lasting: true,
    params: { by: { kind: 'choice', of: ['older', 'newer'] } },
  },
  FM3: {
    title: 'seeds down at boot',
    story: 'all nodes die; some start while all the others are still away',
    aim: 'side',
    lasting: true,
    params: {},
  },
  FM4: {
    title: 'rack or datacenter loss',
    story: 'all nodes of a group die at once, and return at once',
    aim: 'side',
    lasting: true,
    params: { keeps: { kind: 'choice', of: ['everything', 'synced'] } },
  },
  FM5: {
    title: 'flapping',
    story: 'a node is silent and heard of in turns, about as long as its peers tolerate',
    aim: 'node',
    lasting: true,
    params: {
      awayMs: { kind: 'integer', min: 50, max: 20_000 },
      hereMs: { kind: 'integer', min: 20, max: 5_000 },
    },
  },
  FM6: {
    title: 'return of one that is gone',
    story:
      'a node that left, or was replaced, is started again on its old disk, and stays; or joins anew: an empty disk, other tokens',
    aim: 'node',
    lasting: false,
    params: { join: { kind: 'choice', of: returnModes } },
  },
  FM7: {
    title: 'standby',
    story: 'an operator puts a member in STANDBY, and takes it back',
    aim: 'node',
    lasting: true,
    params: {},
  },
  FC1: {
    title: 'offset and drift',
    story: 'both clocks of a node run fast or slow, and its wall clock is off',
    aim: 'node',
    lasting: false,
    params: {
      ppm: { kind: 'integer', min: -500, max: 500 },
      offsetMs: { kind: 'integer', min: -288_000, max: 288_000 },
    },
  },
  FC2: {
    title: 'clock jump',
    story: "a node's wall clock jumps, forward or back",
    aim: 'node',
    lasting: false,
    params: { byMs: { kind: 'integer', min: -86_400_000, max: 86_400_000 } },
  },
  FC3: {
    title: 'clock strobe',
    story: "a node's wall clock jumps to and fro",
    aim: 'node',
    lasting: true,
    params: {
      periodMs: { kind: 'integer', min: 4, max: 2_000 },
      byMs: { kind: 'integer', min: 1, max: 1_000 },
    },
  },
  FC4: {
    title: 'clock freeze',
    story: "a node's wall clock stands while its time goes on",
    aim: 'node',
    lasting: true,
    params: {},
  },
  FC5: {
    title: 'early and late timers',
    story: "a node's timers fire a little early, or late",
    aim: 'node',
    lasting: true,
    params: {
      earlyUs: { kind: 'integer', min: 0, max: 990 },
      lateUs: { kind: 'integer', min: 0, max: 50 * ms },
    },
  },
};
