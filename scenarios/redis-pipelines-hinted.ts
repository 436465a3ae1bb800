import fc from 'fast-check';

import type { Scenario } from '../sim/plan/scenario.ts';
import { pipelinesFrame } from './redis-pipelines.ts';
import { fewer } from './redis-shared.ts';

const { faults, settings } = pipelinesFrame;

/** The nodes and their disks work. */
const onlyCut: Scenario = {
  ...pipelinesFrame,
  name: 'redis-pipelines-hinted',
  description:
    'Redis clients send pipelines through nodes that are cut off for longer than a request may take, or of which one refuses writes while another is late; only hints and reads mend: what a coordinator knows that a replica lacks it keeps for it, and only what is durable counts',
  load: { ...fewer, operations: [70, 90] },
  settings: {
    ...settings,
    aae_tick_interval_seconds: 60,
    read_repair_percent: 0,
    request_timeout_ms: 700,
  },
  faults: [
    // A coordinator that is paused, or whose disk fails, is excused from its hints.
    ...faults.filter(
      ({ kind }) => !['process-pause', 'slow-disk', 'write-error', 'sync-error'].includes(kind),
    ),
    // Longer than a request may take, and shorter than the others need to regard the node as down.
    { kind: 'network-partition', count: [3, 5], forUs: [900_000, 1_400_000], sideMax: 1, always: true },
  ],
};

/**
 * One node refuses writes again and again while another is late: neither counts, and the third must not answer, and
 * keeps hints for both.
 */
const oneRefuses: Scenario = {
  ...onlyCut,
  faults: [
    ...faults.filter(({ kind }) => kind === 'clock-skew' || kind === 'connection-reset'),
    { kind: 'process-crash', targets: ['n3'], count: [0, 1], forUs: [100_000, 300_000] },
    ...(['write-error', 'sync-error'] as const).map((kind) => ({
      kind,
      targets: ['n3'],
      count: [3, 5] as const,
      forUs: [60_000, 200_000] as const,
      params: { oneIn: [1, 2] as const },
      choices: { role: ['log'] },
      always: true,
    })),
    {
      kind: 'slow-disk',
      targets: ['n2'],
      count: [2, 3],
      forUs: [800_000, 2_000_000],
      params: { meanUs: [10_000, 40_000], tailUs: [0, 100_000] },
      always: true,
    },
  ],
};

/** Half of the seeds each. */
export const redisPipelinesHinted: Scenario = { ...onlyCut, drawn: fc.constantFrom(onlyCut, oneRefuses) };
