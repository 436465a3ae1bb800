/** Anti-entropy of a node whose disk refuses to read a part of its log, and its end in the middle of a sweep. */
import { expect, test } from 'vitest';

import { second, TreeHarness } from './tree-harness.ts';

test('a segment that the disk refuses to read keeps no other key from being repaired', async () => {
  const room = new TreeHarness('a refused segment', 2, {
    aae_full_sweep_interval_seconds: 3,
    store_cache_bytes_max: 0,
  });
  await room.start();
  await room.put('n1', 'old', 3);
  await room.pass(5 * second);
  await room.stop('n1');
  await room.start('n1');
  const refused = room.cluster
    .host('n1')
    .disk.inject({ kind: 'read-error', pathPrefix: 'store/00000001.log' });
  await room.pass(6 * second);
  // Only n1 has these, and n2 cannot ask it: it must tell n2 itself.
  await room.stop('n2');
  await room.put('n1', 'new', 60);
  await room.start('n2');
  await room.pass(20 * second);
  expect(room.world.ledger.total({ kind: 'read-error', effect: 'operationFailed' })).toBeGreaterThan(0);
  refused.lift();
  const [, other] = await room.dumps();
  expect(other?.size).toBe(63);
  expect(room.world.failures).toEqual([]);
});

test('a segment that the disk of the answering node refuses keeps no other key from being repaired', async () => {
  const room = new TreeHarness('a refused segment there', 2, { store_cache_bytes_max: 0 });
  // Only n2 begins exchanges.
  const n1 = { name: 'n1', datacenter: 'dc1', rack: 'r1' };
  room.cluster.reconfigure(n1, { aae_tick_interval_seconds: 3600 });
  await room.start();
  await room.put('n1', 'old', 40);
  await room.pass(5 * second);
  await room.stop('n1');
  await room.start('n1');
  const refused = room.cluster
    .host('n1')
    .disk.inject({ kind: 'read-error', pathPrefix: 'store/00000001.log' });
  await room.stop('n2');
  await room.put('n1', 'new', 60);
  await room.start('n2');
  await room.pass(20 * second);
  const aborted = await room.count('n2', 'svc_aae_exchanges_aborted_total');
  expect(aborted).toBeGreaterThan(10);
  expect(room.world.ledger.total({ kind: 'read-error', effect: 'operationFailed' })).toBeGreaterThan(0);
  // A new key beside an old one that cannot be read waits for the disk.
  await room.stop('n2');
  expect((await room.dump('n2')).size).toBeGreaterThan(80);
  await room.start('n2');
  refused.lift();
  await room.pass(5 * second);
  const [, other] = await room.dumps();
  expect(other?.size).toBe(100);
  expect(room.world.failures).toEqual([]);
});

test('a node stops in the middle of a sweep', async () => {
  const room = new TreeHarness('a stop in a sweep', 1, { aae_throttle: 1 });
  await room.start();
  await room.put('n1', 'k', 600);
  expect((await room.http('n1', 'POST', '/aae/sweep')).status).toBeLessThan(300);
  await room.pass(2 * second);
  await room.stop('n1');
  expect(room.world.failures).toEqual([]);
});
