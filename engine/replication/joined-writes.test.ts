/** Plain writes that came together, as their dispatcher runs them. */
import { expect, test } from 'vitest';

import { TestClock } from '../api/testing/test-io.fixture.ts';
import { byteStringOf } from '../base/ids.ts';
import type { NodeId, Token } from '../base/ids.ts';
import { LockstepError } from '../base/errors.ts';
import { defaultType, objectKey } from '../base/object-key.ts';
import { epochRecord } from '../buckets/registers.ts';
import { Epochs } from '../buckets/epochs.ts';
import { defaultProperties } from '../buckets/properties.ts';
import { recordName } from '../buckets/property-codec.ts';
import { Router } from '../buckets/router.ts';
import { Ring } from '../cluster/ring/ring.ts';
import type { MemoryStore } from '../replica/key-slots.ts';
import { contentOf, nothingLost } from '../replica/replica-harness.fixture.ts';
import { ClusterDispatcher } from './cluster-dispatcher.ts';
import { roundPartsOf } from './round-parts.fixture.ts';

const ring = new Ring(
  ['n1', 'n2', 'n3'].map((node, index) => {
    return { node: node as NodeId, datacenter: 'dc1', rack: `r${index}`, tokens: [0 as Token] };
  }),
);

test('writes of a bucket that is flushed meanwhile, and whose replicas are silent, fail within their timeout', () => {
  const clock = new TestClock();
  const epochs = new Epochs();
  const [self] = ring.members;
  if (self === undefined) return expect.fail('a ring has members');
  const store: MemoryStore = {
    inMemory: () => undefined,
    tryRead: () => 'closed',
    tryReadDoubted: () => 'closed',
    ...nothingLost,
    tryWrite: () => 'ok',
  };
  const router = new Router(() => defaultProperties, undefined, epochs);
  const parts = roundPartsOf({ self, ring, plane: { request: () => 'ok' }, store, clock }, { router });
  const ended: string[] = [];
  const requests = ['k', 'l'].map((name) => ({
    key: objectKey(defaultType, byteStringOf('b'), byteStringOf(name)),
    content: contentOf('v'),
    timeoutMs: 1000,
    partOf: undefined,
    replaced: (error: unknown) => void ended.push(error instanceof LockstepError ? error.code : 'done'),
  }));
  new ClusterDispatcher(parts).replaceMany(requests);
  epochs.note([{ name: recordName(defaultType, byteStringOf('b')), record: epochRecord(7) }]);
  clock.advance(999_000);
  expect(ended).toEqual([]);
  clock.advance(1_000);
  expect(ended).toEqual(['Timeout', 'Timeout']);
});
