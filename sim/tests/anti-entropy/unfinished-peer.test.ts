/** Peers with which no exchange finishes: the other pairs converge all the same. */
import { expect, test } from 'vitest';

import { second, TreeHarness } from './tree-harness.ts';

test('a node with anti-entropy off keeps no other pair from converging, in the middle of a sweep', async () => {
  const room = new TreeHarness('off at one node', 3, { aae_full_sweep_interval_seconds: 3600 });
  room.cluster.reconfigure({ name: 'n1', datacenter: 'dc1', rack: 'r1' }, { aae_enabled: false });
  await room.start();
  for (const node of ['n2', 'n3']) {
    expect((await room.http(node, 'POST', '/aae/sweep')).status).toBeLessThan(300);
  }
  await room.pass(10 * second);
  // The sweeps wait for n1, and no operator is refused another one for that.
  expect((await room.http('n2', 'GET', '/aae')).body).toContain('"sweep":"none"');
  await room.stop('n3');
  await room.put('n2', 'new', 40);
  await room.start('n3');
  await room.pass(30 * second);
  const [, kept, late] = await room.dumps();
  expect(late?.size).toBe(40);
  expect(late).toEqual(kept);
  expect(room.world.failures).toEqual([]);
});

test('a node that reads its values in a sweep for long keeps no other pair from converging', async () => {
  const room = new TreeHarness('a long sweep', 3, { read_repair_percent: 0 });
  room.cluster.reconfigure({ name: 'n1', datacenter: 'dc1', rack: 'r1' }, { aae_throttle: 10 });
  await room.start();
  await room.put('n1', 'old', 600);
  expect((await room.http('n1', 'POST', '/aae/sweep')).status).toBeLessThan(300);
  await room.stop('n3');
  await room.put('n2', 'new', 40);
  await room.start('n3');
  await room.pass(15 * second);
  const dumps = await room.dumps();
  expect(dumps[2]?.size).toBe(640);
  expect(room.world.failures).toEqual([]);
});
