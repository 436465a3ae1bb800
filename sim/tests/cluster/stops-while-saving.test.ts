/** A node that stops while it saves its members: another process, or the same one, may start on its disk afterwards. */
import { expect, test } from 'vitest';

import { constantLatency } from '../../world/core/latency.ts';
import { MemberHarness, second } from './member-harness.ts';

test('a stop waits for a save of the members that is under way', async () => {
  const room = new MemberHarness('stops while saving', 3);
  await room.startAll();
  const { disk } = room.cluster.host('n1');
  disk.inject({ kind: 'slow-disk', pathPrefix: 'members', delay: constantLatency(3 * second) });
  let isSaving = false;
  room.world.trace.on('membership.ring.changed', ({ host }) => {
    isSaving ||= host === 'n1';
  });
  room.cluster.add({ name: 'n4', datacenter: 'dc1', rack: 'r1' }, { join: 'joining' });
  room.cluster.start('n4');
  expect(await room.until(() => isSaving, 60 * second)).toBe(true);
  const left = await room.cluster.stop('n1', 60 * second);
  expect(left).toEqual({ timers: 0, connections: [], listeners: [], files: [], locks: [], tasks: [] });
  expect(room.world.failures).toEqual([]);
});
