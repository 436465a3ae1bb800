import type { FaultDraw, Scenario } from '../sim/plan/scenario.ts';
import { pipelinesFrame } from './redis-pipelines.ts';
import { fewer, redisLoad } from './redis-shared.ts';

const roundUs = 1_600_000;

/** One node misses writes; then another one starts again, so that it must read them from its disk, which fails. */
function round(at: number, missing: string, failing: string): readonly FaultDraw[] {
  const fromUs = at * roundUs;
  return [
    {
      kind: 'network-partition',
      targets: [missing],
      count: [1, 1],
      atUs: [fromUs + 100_000, fromUs + 200_000],
      forUs: [500_000, 700_000],
      sideMax: 1,
      always: true,
    },
    {
      kind: 'process-crash',
      targets: [failing],
      count: [1, 1],
      atUs: [fromUs + 700_000, fromUs + 750_000],
      forUs: [20_000, 60_000],
      always: true,
    },
    {
      kind: 'read-error',
      targets: [failing],
      count: [1, 1],
      atUs: [fromUs + 950_000, fromUs + 1_000_000],
      forUs: [500_000, 600_000],
      params: { oneIn: [1, 2] },
      choices: { role: ['objects'] },
      always: true,
    },
  ];
}

export const redisReadsFail: Scenario = {
  ...pipelinesFrame,
  name: 'redis-reads-fail',
  description:
    'replicas lack what they have missed, and the disks of others fail to read it: a Redis client learns the last value or an error, and not an older value or that there is none',
  load: { ...fewer, operations: [60, 80], thinkUs: [0, 600_000] },
  // A key is seldom written again before it is read.
  redis: { ...redisLoad, clients: 8, operations: [60, 80], thinkUs: [0, 2_200_000], kinds: { pipeline: 1 } },
  faults: [
    ...round(0, 'n1', 'n2'),
    ...round(1, 'n2', 'n3'),
    ...round(2, 'n3', 'n1'),
    ...round(3, 'n1', 'n3'),
    ...round(4, 'n2', 'n1'),
    ...round(5, 'n3', 'n2'),
    { kind: 'connection-reset', count: [0, 6] },
  ],
  stormMs: 10_000,
  // Nothing brings a replica what it has missed.
  settings: {
    ...pipelinesFrame.settings,
    hinted_handoff: false,
    aae_tick_interval_seconds: 60,
    read_repair_percent: 0,
    request_timeout_ms: 700,
    store_cache_bytes_max: 0,
  },
};
