import type { Scenario } from '../sim/plan/scenario.ts';
import { pipelinesFrame } from './redis-pipelines.ts';
import { fewer, redisLoad } from './redis-shared.ts';

export const redisPipelinesCutOff: Scenario = {
  ...pipelinesFrame,
  name: 'redis-pipelines-cut-off',
  description:
    'Redis clients send pipelines while one replica is cut off, and then while another one refuses writes, each for far longer than a request may take: a coordinator keeps for it what it has missed',
  load: { ...fewer, operations: [60, 80], thinkUs: [0, 500_000] },
  redis: { ...redisLoad, clients: 6, operations: [150, 190], thinkUs: [0, 600_000], kinds: { pipeline: 1 } },
  faults: [
    // Longer than a request may take, and shorter than the others need to regard the node as down.
    {
      kind: 'network-partition',
      targets: ['n3'],
      count: [1, 1],
      atUs: [200_000, 500_000],
      forUs: [4_200_000, 4_600_000],
      sideMax: 1,
      always: true,
    },
    {
      kind: 'write-error',
      targets: ['n2'],
      count: [1, 1],
      atUs: [5_400_000, 5_600_000],
      forUs: [4_000_000, 4_400_000],
      params: { oneIn: [1, 1] },
      choices: { role: ['objects'] },
      always: true,
    },
    // Its refusals come after the answers of the others.
    {
      kind: 'cpu-starvation',
      targets: ['n2'],
      count: [1, 1],
      atUs: [5_300_000, 5_500_000],
      forUs: [4_000_000, 4_400_000],
      params: { awayMs: [20, 60], hereMs: [5, 10] },
      always: true,
    },
    { kind: 'clock-skew', count: [1, 2], atUs: [0, 500_000], params: { offsetMs: [-3_000, 3_000] } },
    { kind: 'connection-reset', count: [0, 6] },
  ],
  stormMs: 10_000,
  settings: {
    ...pipelinesFrame.settings,
    aae_tick_interval_seconds: 60,
    read_repair_percent: 0,
    request_timeout_ms: 700,
  },
};
