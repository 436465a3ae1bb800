import type { Scenario } from '../sim/plan/scenario.ts';
import { redisExpiry } from './redis-expiry.ts';
import { fewer, invariantsBesideRedis, redisLoad } from './redis-shared.ts';

export const redisExpiryMissedWrites: Scenario = {
  ...redisExpiry,
  name: 'redis-expiry-missed-writes',
  description:
    'one node after the other crashes and is away for a moment, and nothing brings it the values that replace those it holds: when these expire, it removes no value that it has missed',
  load: { ...fewer, operations: [50, 70], thinkUs: [0, 250_000] },
  redis: {
    ...redisLoad,
    clients: 8,
    operations: [600, 700],
    thinkUs: [0, 220_000],
    expiring: 60,
    // A value that was missed often outlives the one before it.
    ttlMs: [200, 6_000],
    kinds: { mortal: 35, look: 65 },
  },
  faults: [
    ...(['n1', 'n2', 'n3', 'n2', 'n1', 'n3'] as const).map((target, round) => ({
      kind: 'process-crash' as const,
      targets: [target],
      count: [1, 1] as const,
      atUs: [round * 1_300_000 + 100_000, round * 1_300_000 + 300_000] as const,
      forUs: [400_000, 700_000] as const,
      always: true,
    })),
    { kind: 'connection-reset', count: [0, 4] },
  ],
  stormMs: 8_000,
  settings: {
    hinted_handoff: false,
    aae_tick_interval_seconds: 60,
    read_repair_percent: 0,
    request_timeout_ms: 700,
  },
  invariants: { ...invariantsBesideRedis, 'session-guarantees': 60 },
};
