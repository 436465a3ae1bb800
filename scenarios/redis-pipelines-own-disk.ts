import type { FaultDraw, Scenario } from '../sim/plan/scenario.ts';
import { pipelinesFrame } from './redis-pipelines.ts';
import { fewer, redisLoad } from './redis-shared.ts';

const roundUs = 700_000;

/** One node's disk is slow while another one's fails the next write or sync: only what the third one has counts. */
function round(at: number, slow: string, failing: string): readonly FaultDraw[] {
  const fromUs = at * roundUs;
  return [
    {
      kind: 'slow-disk',
      targets: [slow],
      count: [1, 1],
      atUs: [fromUs + 100_000, fromUs + 120_000],
      forUs: [200_000, 250_000],
      params: { meanUs: [20_000, 40_000], tailUs: [0, 100_000] },
      always: true,
    },
    {
      kind: at % 2 === 0 ? 'write-error' : 'sync-error',
      targets: [failing],
      count: [1, 1],
      atUs: [fromUs + 130_000, fromUs + 250_000],
      forUs: [20_000, 40_000],
      params: { oneIn: [1, 1] },
      choices: { role: ['objects'] },
      always: true,
    },
  ];
}

/** The slow node and the failing one of each round. */
const orders = (['n1 n2', 'n2 n3', 'n3 n1', 'n1 n3', 'n2 n1', 'n3 n2'] as const).flatMap((pair) => {
  const [slow = '', failing = ''] = pair.split(' ');
  return [[slow, failing] as const, [slow, failing] as const];
});

export const redisPipelinesOwnDisk: Scenario = {
  ...pipelinesFrame,
  name: 'redis-pipelines-own-disk',
  description:
    'Redis clients send SETs of new keys in pipelines to a node whose disk fails a write or a sync while another node is late: its own copies count only if they are durable',
  load: { ...fewer, operations: [50, 70], thinkUs: [0, 450_000] },
  redis: {
    ...redisLoad,
    clients: 10,
    operations: [620, 680],
    thinkUs: [0, 300_000],
    kinds: { sets: 1 },
  },
  faults: [
    ...orders.flatMap(([slow, failing], at) => round(at, slow, failing)),
    { kind: 'connection-reset', count: [0, 4] },
  ],
  stormMs: 9_000,
  // The keys are new: nothing is read again.
  invariants: { ...pipelinesFrame.invariants, 'session-guarantees': 100 },
};
