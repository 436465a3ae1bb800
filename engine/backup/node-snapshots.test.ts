import { expect, test } from 'vitest';

import { TestClock, TestLog } from '../api/testing/test-io.fixture.ts';
import type { SnapshotDependencies } from './node-snapshots.ts';
import { NodeSnapshots } from './node-snapshots.ts';

test('a node that stops holds no writes for a backup that asks late, and keeps no lease for it', async () => {
  let held = 0;
  const log = new TestLog();
  const clock = new TestClock();
  const store: SnapshotDependencies['store'] = {
    storeId: 's1',
    createdMs: 0,
    state: 'open',
    hold: () => Promise.resolve(void (held += 1)),
    resume: () => undefined,
    pin: never,
  };
  const facts = {
    ...{ node: 'n1', datacenter: 'dc1', rack: 'r1', clusterId: 'c1' },
    ...{ incarnation: () => 1, view: () => 'v1', members: () => ['n1'], transactions: () => [] },
  };
  const snapshots = new NodeSnapshots({ io: { clock, log, spawn: never }, store, facts });
  await expect(snapshots.hold('b1', 1_000)).resolves.toMatchObject({ node: 'n1' });
  await snapshots.stop();
  await expect(snapshots.hold('b2', 1_000)).rejects.toMatchObject({ code: 'ShuttingDown' });
  clock.advance(2_000_000);
  expect([held, log.names]).toEqual([1, ['backup.writes.held', 'backup.writes.resumed']]);
});

function never(): never {
  throw new Error('nothing is read here');
}
