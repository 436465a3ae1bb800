import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

import { beforeEach, expect, test } from 'vitest';
import { TestClock } from '../api/testing/test-io.fixture.ts';
import { Deferred } from '../base/deferred.ts';
import { LockstepError } from '../base/errors.ts';
import type { NodeId, Token } from '../base/ids.ts';
import { Ring } from '../cluster/ring/ring.ts';
import { SlowStore } from '../replica/replica-harness.fixture.ts';
import { roundPartsOf } from '../replication/round-parts.fixture.ts';
import { JobContext } from './job-context.ts';
import { MapReduceCounts } from './metrics.ts';
import { PhaseWorker } from './phase-worker.ts';

let context: JobContext;

beforeEach(() => {
  const clock = new TestClock();
  const store = new SlowStore();
  const self = { node: 'n1' as NodeId, datacenter: 'dc1', rack: 'r1', tokens: [0 as Token] };
  const plane = { request: () => expect.fail('no peer is asked') };
  const parts = roundPartsOf({ self, ring: new Ring([self]), plane, store, clock });
  const coverage = { keys: () => expect.fail('no bucket is listed') };
  const dispatcher = { get: () => expect.fail('no object is read') };
  const worker = new PhaseWorker(
    { tryRead: () => expect.fail('no object is read') },
    { find: () => undefined },
    clock,
  );
  const limits = { deadlineUs: 60_000_000, bytesMax: 1024, batchMax: 1000 };
  const counts = new MapReduceCounts();
  context = new JobContext({ ...parts, coverage, dispatcher }, worker, new Map(), counts, limits);
});

const late = new LockstepError('Timeout', 'timeout');

test('a running job holds no batch that its reader has taken', async () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const batchOf = (index: number): Promise<object> => Promise.resolve({ values: [index] });
  const first = await (async () => new WeakRef(await context.orEnd(batchOf(1))))();
  for (const index of [2, 3]) await context.orEnd(batchOf(index));
  // What a WeakRef returned stays until the turn ends.
  await new Promise((resolve) => setImmediate(resolve));
  collect();
  expect(first.deref()).toBeUndefined();
  expect(context.end).toBeUndefined();
});

test('the end of a job ends every wait that is under way, and each later one', async () => {
  const pending = new Deferred<number>();
  const waits = [context.orEnd(pending.promise), context.orEnd(pending.promise)];
  context.finish(late);
  context.finish(new LockstepError('ShuttingDown'));
  for (const wait of waits) await expect(wait).rejects.toBe(late);
  await expect(context.orEnd(pending.promise)).rejects.toBe(late);
});

test('a wait ends as its promise does if that comes before the end of the job', async () => {
  const failure = new Error('a peer has failed');
  await expect(context.orEnd(Promise.resolve(7))).resolves.toBe(7);
  await expect(context.orEnd(Promise.reject(failure))).rejects.toBe(failure);
  context.finish(late);
});
