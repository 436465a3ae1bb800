/**
 * Tests that a node which dies between its commit and its replication sends the writes to the other replicas when it is
 * back.
 */
import { describe, expect, it } from 'vitest';

import { TransactionHarness, bucket, put } from '../../explore/transaction-harness.ts';

describe('what a start finds applied and not spread', () => {
  // No other mechanism would replicate it in that time: no anti-entropy exchange, no hint delivery.
  const settings = { aae_enabled: false, hint_drain_interval_ms: 3_600_000 };

  it.each([0, 400_000])('reaches the other replicas at once, syncs taking %i us', async (syncUs) => {
    const room = new TransactionHarness('restart spread', settings);
    await room.start();
    // In a bucket with siblings nothing is sent before it is durable.
    const set = room.send('n1', 'PUT', `/buckets/${bucket}/props`, { props: { allow_mult: true } });
    await room.world.runUntil(set, 20_000_000);
    await room.pass(1_000_000);
    const [here, there] = [room.key('n1'), room.key('n2')];
    let died = false;
    room.onStep('p.applied.synced', ({ host }) => {
      if (host !== 'n2' || died) return;
      died = true;
      room.cluster.crash('n2', 'dropAll', 'reset');
    });
    const asked = room.ask('n1', 'POST', '/transactions', { operations: [put(here, '1'), put(there, '1')] });
    await room.pass(2_000_000);
    for (const node of ['n1', 'n3']) expect(await room.read(node, there, 1)).toBe('');
    const delay = { minUs: syncUs, meanUs: 1, tailOneIn: 1_000_000, tailUs: 1 };
    room.cluster.start('n2');
    if (syncUs > 0) room.cluster.host('n2').disk.inject({ kind: 'slow-disk', operations: ['sync'], delay });
    await room.world.runUntil(() => room.cluster.serves('n2'), 20_000_000);
    await room.pass(1_500_000);
    for (const node of ['n1', 'n3']) expect(await room.read(node, there, 1)).toBe('1');
    expect(await asked).toMatchObject({ status: 200, body: { outcome: 'committed' } });
    expect(room.world.failures).toEqual([]);
  });
});
