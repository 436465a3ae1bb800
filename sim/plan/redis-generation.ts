/** Generates the Redis operations of a plan from the ranges of a scenario's load. */
import fc from 'fast-check';

import { pageCount } from '../evidence/redis-pages.ts';
import type { RedisKind } from '../evidence/redis.ts';
import type { RedisLoad } from './scenario.ts';
import { integerIn, listOf, weighted } from './arbitraries.ts';
import type { PlanRedisOperation } from './plan.ts';

/** The Redis operations of a plan, with ids `q0`, `q1`, …. */
export function redisOperationsOf(load: RedisLoad): fc.Arbitrary<readonly PlanRedisOperation[]> {
  const { clients, counters, accounts, expiring } = load;
  const upTo = (count: number): fc.Arbitrary<number> => fc.integer({ min: 0, max: count - 1 });
  const keyCounts: Readonly<Record<RedisKind, number>> = {
    ...{ incr: counters, read: counters, mortal: expiring, look: expiring, snapshot: 1, transfer: accounts },
    page: pageCount,
    script: counters,
  };
  const operation = weighted(load.kinds).chain((kind) =>
    fc
      .record({
        client: upTo(clients),
        thinkUs: integerIn(load.thinkUs),
        key: upTo(keyCounts[kind]),
        step: fc.integer({ min: 1, max: accounts - 1 }),
        amount: integerIn(kind === 'mortal' ? load.ttlMs : [1, 100]),
      })
      .map(({ step, ...drawn }) => ({ ...drawn, kind, other: (drawn.key + step) % accounts })),
  );
  return listOf(load.operations, operation).map((list) =>
    list.map((drawn, index) => ({ id: `q${index}`, ...drawn })),
  );
}
