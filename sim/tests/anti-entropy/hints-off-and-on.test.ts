/**
 * Tests that a node which starts without hinted handoff delivers no hint of an earlier incarnation later: the cluster may
 * have deleted the key, and forgotten the tombstone, in between.
 */
import { expect, test } from 'vitest';

import type { PlanNode } from '../../plan/plan-node.ts';
import { second, TreeHarness } from './tree-harness.ts';

const path = '/buckets/b/keys/k0';
const n1: PlanNode = { name: 'n1', datacenter: 'dc1', rack: 'r1' };

test('a hint from before hinted_handoff was off brings no deleted value back once it is on again', async () => {
  const room = new TreeHarness('off and on', 3, { tombstone_grace_seconds: 1, hint_drain_interval_ms: 100 });
  const setAside: unknown[] = [];
  room.world.trace.on('store.set.aside', ({ fields }) => setAside.push(fields['directory']));
  room.cluster.reconfigure(n1, { hinted_handoff: true });
  await room.start();
  const partition = room.world.network.partition(['n1', 'n2'], ['n3']);
  await room.put('n1', 'k', 1);
  const isHinted = (): boolean => room.countNow('n1', 'svc_hints_kept') === 1;
  expect(await room.until(isHinted, 30 * second)).toBe(true);

  await room.stop('n1');
  room.cluster.reconfigure(n1, { hinted_handoff: false });
  await room.start('n1');
  partition.lift();
  await room.pass(10 * second);
  expect((await room.http('n3', 'GET', path)).status).toBe(200);
  expect((await room.http('n1', 'DELETE', path)).status).toBe(204);
  await room.pass(20 * second);
  for (const name of room.cluster.names) await room.stop(name);
  for (const name of room.cluster.names) expect((await room.dump(name)).size).toBe(0);

  room.cluster.reconfigure(n1, { hinted_handoff: true });
  await room.start();
  await room.pass(10 * second);
  for (const dump of await room.dumps()) expect(dump.size).toBe(0);
  expect(setAside).toEqual(['hints']);
});
