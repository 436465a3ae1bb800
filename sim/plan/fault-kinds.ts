/**
 * The kinds of faults that a plan can hold, as one table: what each does, what it aims at, and its parameters with
 * their ranges. Generation, validation, the list command and the documentation read this table; `run/faults.ts` acts
 * it out. Numbers are the catalogue's (sim/README.md).
 */
export const faultKindIds = [
  'FN1',
  'FN8',
  'FN9',
  'FN11',
  'FP1',
  'FP4',
  'FP7',
  'FM1',
  'FD6',
  'FD7',
  'FS1',
] as const;

export type FaultKind = (typeof faultKindIds)[number];

/** What a fault aims at: one node, two hosts (the first may be a client), or one side of the nodes (the rest is the other). */
export type FaultAim = 'node' | 'link' | 'side';

export type ParameterRange =
  | { readonly kind: 'integer'; readonly min: number; readonly max: number }
  | { readonly kind: 'choice'; readonly of: readonly string[] };

export interface FaultKindRow {
  readonly title: string;
  readonly story: string;
  readonly aim: FaultAim;
  /** It lasts `forUs`, then it is undone; otherwise it is over at once and `forUs` is 0. */
  readonly lasting: boolean;
  readonly params: Readonly<Record<string, ParameterRange>>;
}

const ms = 1000;

export const faultKinds: Readonly<Record<FaultKind, FaultKindRow>> = {
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
};
