/** The loads of a drawn scenario: clients of objects, transactions, Redis and jobs. */
import fc from 'fast-check';

import { integerIn } from '../arbitraries.ts';
import type { JobLoad, LoadShape, Range, RedisLoad, TransactionLoad } from '../scenario.ts';

/** Clients that read, write and delete objects. */
export function objectLoads(): fc.Arbitrary<LoadShape> {
  return fc.record({
    clients: integerIn([2, 6]),
    operations: integerIn([40, 160]).map((count): Range => [count, count]),
    keys: integerIn([4, 40]),
    siblingKeys: integerIn([0, 4]),
    thinkUs: pauses(),
    valueBytes: fc.constantFrom<Range>([16, 2_000], [16, 200], [16, 20_000]),
    kinds: fc.constantFrom(
      { get: 40, put: 54, delete: 6 },
      { get: 25, put: 45, delete: 30 },
      { get: 15, put: 80, delete: 5 },
    ),
    needs: fc.constantFrom<LoadShape['needs']>(
      { quorum: 90, one: 10 },
      { level: 1 },
      { level: 55, quorum: 35, one: 5, all: 5 },
    ),
    manners: fc.constantFrom(
      { httpPercent: 0, conditionalPercent: 0 },
      { httpPercent: 40, conditionalPercent: 30 },
      // A client that reads siblings over HTTP states a condition about one of them next.
      { httpPercent: 80, conditionalPercent: 60 },
    ),
    numbered: fc.constantFrom({ percent: 20, copiesMax: 3 }, { percent: 0, copiesMax: 1 }),
    readings: fc.constantFrom(
      { confirmedPercent: 40, ifChangedPercent: 25 },
      { confirmedPercent: 0, ifChangedPercent: 0 },
    ),
    malformedInput: fc.constantFrom<Range>([0, 0], [1, 4]),
    scrapes: fc.constant<Range>([1, 3]),
  });
}

/** Clients that run transactions. */
export function transactionLoads(): fc.Arbitrary<TransactionLoad> {
  return fc.record({
    clients: integerIn([2, 6]),
    count: integerIn([20, 90]).map((count): Range => [count, count]),
    thinkUs: pauses(),
    kinds: fc.constantFrom<TransactionLoad['kinds']>(
      { transfer: 25, append: 25, twin: 15, stamp: 12, erase: 3, put: 15, look: 20 },
      { transfer: 10, append: 10, stamp: 10, restamp: 10, erase: 10, put: 20, move: 10, bunch: 20, look: 10 },
      { transfer: 35, append: 35, twin: 15, stamp: 15, put: 10 },
    ),
    structures: fc.constantFrom(
      { accounts: 5, lists: 5, twins: 3, triples: 4 },
      { accounts: 3, lists: 4, twins: 1, triples: 2 },
    ),
    placesMax: integerIn([2, 4]),
    forcedPercent: fc.constantFrom(0, 5),
    namedPercent: fc.constantFrom(40, 95),
    onePercent: fc.constantFrom(0, 15, 50),
  });
}

/** Clients that speak Redis: counters, keys that expire, MULTI, pipelines, FLUSHDB. */
export function redisLoads(): fc.Arbitrary<RedisLoad> {
  return fc.record({
    clients: integerIn([2, 4]),
    operations: integerIn([20, 80]).map((count): Range => [count, count]),
    counters: integerIn([1, 3]),
    accounts: integerIn([2, 5]),
    expiring: integerIn([1, 3]),
    ttlMs: fc.constant<Range>([50, 2_000]),
    thinkUs: pauses(),
    kinds: fc.constantFrom<RedisLoad['kinds']>(
      {
        ...{ incr: 25, read: 10, mortal: 15, look: 15, transfer: 20, snapshot: 10, page: 5 },
        ...{ publish: 12, listen: 5, script: 5, watched: 10 },
      },
      // The SETs of a pipeline travel and are stored together.
      { incr: 15, read: 5, mortal: 10, look: 10, transfer: 10, snapshot: 5, page: 5, pipeline: 30, sets: 10 },
      // One database is flushed, again and again, while the others go on.
      { incr: 10, read: 5, transfer: 10, snapshot: 5, pipeline: 10, database: 60 },
    ),
  });
}

/** Clients that run MapReduce jobs. */
export function jobLoads(): fc.Arbitrary<JobLoad> {
  return fc.record({
    clients: integerIn([1, 2]),
    count: integerIn([2, 8]).map((count): Range => [count, count]),
    thinkUs: fc.constant<Range>([0, 500_000]),
    kinds: fc.constant<JobLoad['kinds']>({ objects: 60, count: 15, whole: 25 }),
    keysMax: integerIn([3, 12]),
  });
}

function pauses(): fc.Arbitrary<Range> {
  return fc.constantFrom<Range>([0, 40_000], [0, 150_000], [0, 5_000]);
}
