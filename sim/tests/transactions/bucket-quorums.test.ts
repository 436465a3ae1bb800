/** Tests that a bucket's own quorums apply to transactions as they do to puts. */
import { describe, expect, it } from 'vitest';

import { TransactionHarness, put } from '../../explore/transaction-harness.ts';

describe('transactions on keys of a bucket that asks for every copy', () => {
  it('are aborted for want of targets while one is down, and committed once it is back', async () => {
    const room = new TransactionHarness('bucket-quorums');
    await room.start();
    const set = room.send('n1', 'PUT', '/buckets/b/props', { props: { pw: 3, w: 3 } });
    await room.world.runUntil(set, 5_000_000);
    expect((await set).status).toBe(204);
    await room.pass(1_000_000);
    room.cluster.crash('n3', 'keepAll', 'silent');
    await room.pass(40_000_000);
    const plain = room.send('n1', 'PUT', `/buckets/b/keys/${room.key('n2')}`, 'plain');
    await room.world.runUntil(plain, 20_000_000);
    expect((await plain).status).toBe(503);
    const batches = [
      { of: 'n1', operations: [put(room.key('n2'), 'x'), put(room.key('n1'), 'y')] },
      { of: 'n1', operations: [put(room.key('n2'), 'x')] },
      { of: 'n2', operations: [put(room.key('n2'), 'x')] },
      { of: 'n2', operations: [put(room.key('n2'), 'x'), put(room.key('n2', 1), 'x')] },
    ];
    for (const { of, operations } of batches) {
      const answer = await room.call(of, 'POST', '/transactions', { operations });
      expect(answer).toMatchObject({ status: 409, body: { outcome: 'aborted', reason: 'no_targets' } });
    }
    room.cluster.start('n3');
    await room.pass(15_000_000);
    for (const { of, operations } of batches) {
      const answer = await room.call(of, 'POST', '/transactions', { operations });
      expect(answer).toMatchObject({ status: 200, body: { outcome: 'committed' } });
    }
  });
});
