import type { Scenario } from '../sim/plan/scenario.ts';
import { oneReplicaSilent } from './one-replica-silent.ts';
import { pipelinesFrame } from './redis-pipelines.ts';
import { fewer, redisLoad } from './redis-shared.ts';

export const redisOneReplicaSilent: Scenario = {
  ...oneReplicaSilent,
  name: 'redis-one-replica-silent',
  description:
    'one replica is silent, late, cut off or fails to read again and again, and the others work: they answer every GET of a Redis client in time',
  load: { ...fewer, operations: [40, 60], thinkUs: [0, 400_000] },
  redis: {
    ...redisLoad,
    clients: 8,
    operations: [300, 340],
    thinkUs: [0, 300_000],
    kinds: { sets: 1 },
  },
  settings: {
    ...oneReplicaSilent.settings,
    request_timeout_ms: 600,
    // What is read is on the disk.
    store_cache_bytes_max: 0,
  },
  invariants: { ...pipelinesFrame.invariants, 'quorum-intersection': 200 },
};
