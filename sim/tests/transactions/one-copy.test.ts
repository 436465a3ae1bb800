/**
 * Tests transactions over keys with one copy each: they are answered once decided, and later operations follow them.
 */
import { beforeEach, describe, expect, it } from 'vitest';

import { TransactionHarness, bucket, labNodes, put } from '../../explore/transaction-harness.ts';

describe('a transaction over keys with one copy each', () => {
  let room: TransactionHarness;
  let keys: { readonly a: string; readonly b: string; readonly c: string };
  beforeEach(async () => {
    room = new TransactionHarness('one copy', {}, 1);
    await room.start();
    keys = { a: room.key('n1'), b: room.key('n2'), c: room.key('n3') };
  });

  const batch = (value: string, ...names: string[]): object => ({
    operations: names.map((key) => put(key, value)),
  });

  const slowLink = (): void => {
    room.world.network.slow(['n1'], ['n2'], { minUs: 30_000, meanUs: 1, tailOneIn: 1000, tailUs: 1 });
  };

  it('precedes the reads and writes of every client that knows that it is committed', async () => {
    slowLink();
    for (const round of ['1', '2', '3']) {
      const answer = await room.call('n1', 'POST', '/transactions', batch(round, keys.a, keys.b));
      expect(answer).toMatchObject({ status: 200, body: { outcome: 'committed' } });
      const applied = room.steps.filter(({ name, host }) => name === 'xa.p.applied' && host === 'n2');
      expect(applied).toHaveLength(Number(round) - 1);
      if (round === '2') expect(await room.read('n3', keys.b, 1)).toBe('2');
      const later = room.send('n2', 'PUT', `/buckets/${bucket}/keys/${keys.b}`, `later ${round}`);
      await room.world.runUntil(later, 20_000_000);
      expect((await later).status).toBe(204);
      await room.pass(500_000);
      for (const node of labNodes) expect(await room.read(node, keys.b, 1)).toBe(`"later ${round}"`);
    }
    expect(room.world.failures).toEqual([]);
  });

  it('releases its keys as soon as it is on disk', async () => {
    const delay = { minUs: 20_000, meanUs: 1, tailOneIn: 1_000_000, tailUs: 1 };
    for (const node of labNodes)
      room.cluster.host(node).disk.inject({ kind: 'slow-disk', operations: ['sync'], delay });
    for (const value of ['1', '2', '3', '4']) {
      const answer = await room.call('n1', 'POST', '/transactions', batch(value, keys.a, keys.b));
      expect(answer).toMatchObject({ status: 200, body: { outcome: 'committed' } });
      const single = await room.call('n1', 'POST', '/transactions', batch(value, keys.b));
      expect(single).toMatchObject({ status: 200, body: { outcome: 'committed' } });
    }
    expect(await room.read('n3', keys.a, 1)).toBe('4');
  });

  it('is carried out after a crash of a node that had not heard of the decision', async () => {
    slowLink();
    const answer = await room.call('n1', 'POST', '/transactions', batch('1', keys.a, keys.b, keys.c));
    expect(answer).toMatchObject({ status: 200, body: { outcome: 'committed' } });
    for (const node of labNodes) room.cluster.crash(node, 'dropAll', 'silent');
    await room.pass(1_000_000);
    for (const node of labNodes) room.cluster.start(node);
    await room.pass(4_000_000);
    for (const key of Object.values(keys)) expect(await room.read('n3', key, 1)).toBe('1');
    expect(room.world.failures).toEqual([]);
  });
});
