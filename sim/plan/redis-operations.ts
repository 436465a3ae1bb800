/** What Redis clients do in a plan: its form, its generation, its validation. */
import fc from 'fast-check';

import type { RedisKind } from '../redis-history.ts';
import { redisKinds } from '../redis-history.ts';
import { integerIn, listOf, weighted } from './arbitraries.ts';
import type { Range, Weights } from '../scenario/scenario.ts';
import type { Field } from './fields.ts';
import { readChoice, readInteger, readObject, readText } from './fields.ts';
import { planLimits } from './plan-limits.ts';

/** One operation of a Redis client; the clients `r0`, `r1`, … are others than those of `PlanOperation`. */
export interface PlanRedisOperation {
  /** Stable through shrinking: `q17`. */
  readonly id: string;
  readonly client: number;
  readonly thinkUs: number;
  readonly kind: RedisKind;
  /** Number of the counter, the mortal value, or the account that pays. */
  readonly key: number;
  /** The account that is paid. */
  readonly other: number;
  /** What is paid, or the milliseconds that a mortal value lives. */
  readonly amount: number;
}

/** What a scenario wants of Redis clients. */
export interface RedisLoad {
  readonly clients: number;
  readonly operations: Range;
  readonly counters: number;
  /** At least two. */
  readonly accounts: number;
  /** Keys of values that expire, and how long they live in milliseconds. */
  readonly mortals: number;
  readonly lifeMs: Range;
  readonly thinkUs: Range;
  readonly kinds: Weights<RedisKind>;
}

export function redisOperationsOf(load: RedisLoad): fc.Arbitrary<readonly PlanRedisOperation[]> {
  const { clients, counters, accounts, mortals } = load;
  const upTo = (count: number): fc.Arbitrary<number> => fc.integer({ min: 0, max: count - 1 });
  const keyCounts: Readonly<Record<RedisKind, number>> = {
    ...{ incr: counters, read: counters, mortal: mortals, look: mortals, snapshot: 1, transfer: accounts },
  };
  const operation = weighted(load.kinds).chain((kind) =>
    fc
      .record({
        client: upTo(clients),
        thinkUs: integerIn(load.thinkUs),
        key: upTo(keyCounts[kind]),
        step: fc.integer({ min: 1, max: accounts - 1 }),
        amount: integerIn(kind === 'mortal' ? load.lifeMs : [1, 100]),
      })
      .map(({ step, ...drawn }) => ({ ...drawn, kind, other: (drawn.key + step) % accounts })),
  );
  return listOf(load.operations, operation).map((list) =>
    list.map((drawn, index) => ({ id: `q${index}`, ...drawn })),
  );
}

export function readRedisOperation(field: Field): PlanRedisOperation {
  const fields = readObject(field, ['id', 'client', 'thinkUs', 'kind', 'key', 'other', 'amount']);
  return {
    id: readText(fields.id, 32),
    client: readInteger(fields.client, 0, planLimits.clientsMax - 1),
    thinkUs: readInteger(fields.thinkUs, 0, planLimits.durationUsMax),
    kind: readChoice(fields.kind, redisKinds),
    key: readInteger(fields.key, 0, planLimits.keysMax - 1),
    other: readInteger(fields.other, 0, planLimits.keysMax - 1),
    amount: readInteger(fields.amount, 0, 1_000_000_000),
  };
}
