/** What the scenarios of Redis clients share. */
import type { LoadShape, RedisLoad, Scenario } from '../sim/plan/scenario.ts';
import { everyday, invariants } from './shared.ts';

/** A light load of other clients beside the Redis clients. */
export const fewer: LoadShape = { ...everyday, clients: 2, operations: [30, 50], malformedInput: [0, 1] };

/** The load of the Redis clients. */
export const redisLoad: RedisLoad = {
  clients: 5,
  operations: [200, 300],
  counters: 1,
  accounts: 2,
  expiring: 1,
  ttlMs: [1, 1],
  thinkUs: [0, 40_000],
  kinds: { incr: 1 },
};

/** The invariants that hold beside the Redis ones. */
export const invariantsBesideRedis: Scenario['invariants'] = {
  ...invariants,
  durability: 10,
  'durable-before-ack': 2,
  convergence: 5,
  'input-robustness': 3,
  'quorum-intersection': 8,
  // There are few single-key operations beside the Redis commands.
  'session-guarantees': 0,
};
