/**
 * Tests an interrupted join that continues after the copied keys were deleted and their tombstones reaped by all
 * members.
 */
import { expect, test } from 'vitest';

import { MemberHarness, second } from './member-harness.ts';

const keys = Array.from({ length: 60 }, (_, key) => `k${key}`);

test('keys that a joining node copied in an earlier incarnation do not return once it is a member', async () => {
  const room = new MemberHarness('joins-again', 3, {
    transfer_bytes_per_second: 1_024,
    transfer_batch_bytes: 1_024,
    tombstone_grace_seconds: 1,
    aae_enabled: false,
    phi_threshold_milli: 3_000,
  });
  const ask = async (method: 'PUT' | 'GET' | 'DELETE', key: string): Promise<number> => {
    const path = `/buckets/b/keys/${key}${method === 'GET' ? '?r=all' : ''}`;
    return (await room.ask('n1', method, path, method === 'PUT' ? 'v'.repeat(500) : undefined)).status;
  };
  await room.startAll();
  for (const key of keys) expect(await ask('PUT', key)).toBe(204);
  room.cluster.add({ name: 'n4', datacenter: 'dc1', rack: 'r1' }, { join: 'joining' });
  await room.start('n4');
  const copied = async (): Promise<number> =>
    room.count('n4', 'svc_transfer_keys_total', { direction: 'in' });
  for (let tries = 0; tries < 20 && (await copied()) < 5; tries++) await room.pass(second / 4);
  expect(await copied()).toBeGreaterThanOrEqual(5);
  // The node starts again and waits for another joining node, which was to wait for it.
  room.cluster.add({ name: 'n5', datacenter: 'dc1', rack: 'r2' }, { join: 'joining' });
  await room.start('n5');
  room.cluster.crash('n4', 'keepAll', 'silent');
  await room.start('n4');
  for (const key of keys) expect(await ask('DELETE', key)).toBe(204);
  expect(await room.until(() => room.allAre('NORMAL'), 300 * second)).toBe(true);
  await room.pass(5 * second);
  for (const key of keys) expect(await ask('GET', key)).toBe(404);
  expect(room.world.failures).toEqual([]);
});
