/**
 * Tests that the next primary of a key knows its idempotency keys: a joined node, a replacement, a node with an empty
 * disk. A retry receives the first transaction's outcome, or is in doubt.
 */
import { describe, expect, it } from 'vitest';

import { requestKinds } from '../../../engine/peer/wire/kinds.ts';
import { constantLatency } from '../../world/core/latency.ts';
import type { Lasting } from '../../world/world.ts';
import type { HarnessAnswer } from '../../explore/transaction-harness.ts';
import { TransactionHarness, labNodes, put } from '../../explore/transaction-harness.ts';

const second = 1_000_000;
/** Only the ring change itself brings a node what it lacks. */
const alone = { hinted_handoff: false, aae_enabled: false };

function commit(
  room: TransactionHarness,
  node: string,
  key: string,
  more: object = {},
): Promise<HarnessAnswer | undefined> {
  return room.call(node, 'POST', '/transactions', { id: 'mine', operations: [put(key, '1')], ...more });
}

async function joinN4(room: TransactionHarness): Promise<void> {
  room.cluster.add({ name: 'n4', datacenter: 'dc1', rack: 'r1' }, { join: 'joining' });
  room.cluster.start('n4');
  await room.world.runUntil(() => room.cluster.serves('n4'), 10 * second);
  await room.pass(20 * second);
}

describe('an id of a client', () => {
  for (const copies of [1, 3] as const) {
    it(`is known to a joined node that becomes the primary of its key, with ${copies} of each key`, async () => {
      const room = new TransactionHarness('names', alone, copies);
      await room.start();
      const key = room.keyTakenBy('n4');
      const first = await commit(room, 'n2', key);
      expect(first?.body).toMatchObject({ outcome: 'committed', branches: [{ node: 'n1' }] });
      await joinN4(room);
      const other = await room.call('n3', 'POST', '/transactions', { operations: [put(key, '2')] });
      expect(other?.body).toMatchObject({ outcome: 'committed', branches: [{ node: 'n4' }] });
      for (const node of ['n3', 'n4']) {
        const again = await commit(room, node, key);
        expect(again?.body).toMatchObject({ outcome: 'committed' });
        expect(again?.body['transaction_id']).toBe(first?.body['transaction_id']);
      }
      expect(await room.read('n3', key, 'primary')).toBe('2');
      const misused = await room.call('n3', 'POST', '/transactions', {
        id: 'mine',
        operations: [put(key, '3')],
      });
      expect(misused).toMatchObject({ status: 409, body: { reason: 'conflict' } });
      expect(room.world.failures).toEqual([]);
    });
  }

  it('reaches the next primary before that leads anything, though the batch that tells it is lost', async () => {
    // No further notification for a while.
    const room = new TransactionHarness('names', { ...alone, transaction_inquiry_ms: 60_000 });
    await room.start();
    const key = room.keyTakenBy('n4');
    const losing = (frames: readonly number[]): Lasting => room.losing('n1', ['n2', 'n3', 'n4'], frames);
    let first: Promise<HarnessAnswer | undefined> | undefined;
    let gossip: Lasting | undefined;
    room.world.trace.on('membership.move.declared', ({ host, fields }) => {
      if (host !== 'n4' || fields['move'] !== 'switching') return;
      // n1 does not learn of it yet, and its writes reach no other node.
      gossip = losing([requestKinds.gossip]);
      losing([requestKinds.mergeObject, requestKinds.mergeBatch]);
      const operations = [put(key, '1')];
      first = room.ask('n1', 'POST', '/transactions', { id: 'mine', operations, consistency: 'DC_ONE' });
    });
    room.cluster.add({ name: 'n4', datacenter: 'dc1', rack: 'r1' }, { join: 'joining' });
    room.cluster.start('n4');
    await room.world.runUntil(() => gossip !== undefined, 20 * second);
    await room.pass(200_000);
    gossip?.lift();
    await room.pass(5 * second);
    const again = await commit(room, 'n4', key, { consistency: 'DC_ONE' });
    expect(again?.body['outcome']).toBe('committed');
    expect(again?.body['transaction_id']).toBe((await first)?.body['transaction_id']);
  });

  it('is known to the new owners when the primary of its key has left', async () => {
    const room = new TransactionHarness('names', alone, 1);
    await room.start();
    const key = room.key('n1');
    const first = await commit(room, 'n2', key);
    await room.call('n1', 'POST', '/cluster/leave');
    await room.pass(30 * second);
    const again = await commit(room, 'n3', key);
    expect(again?.body).toMatchObject({ outcome: 'committed' });
    expect(again?.body['transaction_id']).toBe(first?.body['transaction_id']);
  });

  it('is known to its primary when that has lost its disk, and restarted since', async () => {
    const room = new TransactionHarness('names', alone);
    await room.start();
    const key = room.key('n1');
    const first = await commit(room, 'n2', key);
    await room.pass(second);
    room.cluster.crash('n1', 'dropAll', 'silent');
    room.cluster.host('n1').disk.wipe();
    for (const how of ['filled', 'restarted'] as const) {
      room.cluster.start('n1');
      await room.world.runUntil(() => room.cluster.serves('n1'), 20 * second);
      await room.pass(3 * second);
      const again = await commit(room, 'n1', key);
      expect(again?.body['transaction_id'], how).toBe(first?.body['transaction_id']);
      room.cluster.crash('n1', 'keepAll', 'silent');
    }
  });

  for (const copies of [1, 3] as const) {
    it(`is known while one of its primaries is away, with ${copies} of each key`, async () => {
      const room = new TransactionHarness('names', alone, copies);
      await room.start();
      const operations = [put(room.key('n1'), '1'), put(room.key('n2'), '1')];
      const ask = (): Promise<HarnessAnswer | undefined> =>
        room.call('n3', 'POST', '/transactions', { id: 'mine', operations });
      const other = { id: 'another', operations };
      const first = await ask();
      expect(first?.body).toMatchObject({ outcome: 'committed' });
      await room.pass(second);
      room.cluster.crash('n1', 'keepAll', 'silent');
      // Its peers consider it up, and then they do not.
      for (const waitUs of [0, 30 * second]) {
        await room.pass(waitUs);
        const again = await ask();
        expect(again?.body).toMatchObject({ outcome: 'committed' });
        expect(again?.body['transaction_id']).toBe(first?.body['transaction_id']);
        const fresh = await room.call('n3', 'POST', '/transactions', other);
        expect(fresh?.body).toMatchObject({ outcome: 'aborted' });
      }
      expect(room.world.failures).toEqual([]);
    });
  }

  it('that too few can tell of is in doubt, and comes to nothing for good once they can', async () => {
    const room = new TransactionHarness('names', alone);
    await room.start();
    const key = room.key('n1');
    const others = labNodes.filter((node) => node !== 'n1');
    const cut = room.world.network.partition(['n1'], others);
    // Its link is not known to be down yet.
    const unsure = await commit(room, 'n1', key, { consistency: 'DC_ONE' });
    expect(unsure).toMatchObject({ status: 202, body: { outcome: 'in_doubt' } });
    cut.lift();
    await room.pass(3 * second);
    for (const node of labNodes)
      expect((await commit(room, node, key))?.body, node).toMatchObject({ outcome: 'aborted' });
    const xid = String(unsure?.body['transaction_id']);
    const known = await room.call('n1', 'GET', `/transactions/${xid}`);
    expect(known?.body).toMatchObject({ outcome: 'aborted' });
    expect(await room.read('n2', key, 'primary')).toBe('');
  });

  it('of a transaction under way is answered with that one, not with the locks that it holds', async () => {
    const room = new TransactionHarness('names', alone);
    await room.start();
    const operations = [put(room.key('n1'), '1'), put(room.key('n2'), '1')];
    const ask = (node: string): Promise<HarnessAnswer | undefined> =>
      room.call(node, 'POST', '/transactions', { id: 'mine', operations });
    const began: unknown[] = [];
    room.onStep('c.decision.beforeLog', ({ host, fields }) => {
      if (began.length > 0) return;
      began.push(fields['xid']);
      room.cluster.crash(host, 'dropAll', 'silent');
    });
    expect(await ask('n3')).toBeUndefined();
    const again = await ask('n1');
    expect(again).toMatchObject({ status: 202, body: { outcome: 'in_doubt', transaction_id: began[0] } });
    // Its coordinator had not decided: it aborts, and the idempotency key is free.
    room.cluster.start('n3');
    await room.pass(20 * second);
    const last = await ask('n1');
    expect(last?.body).toMatchObject({ outcome: 'committed' });
    expect(last?.body['transaction_id']).not.toBe(began[0]);
  });

  it('is known where its primary has forgotten it, and another transaction holds the key', async () => {
    const room = new TransactionHarness('names', alone);
    await room.start();
    const key = room.key('n1');
    const old = room.cluster.host('n1').disk.durableCopy();
    const first = await commit(room, 'n2', key);
    await room.pass(second);
    room.cluster.crash('n1', 'dropAll', 'silent');
    room.cluster.host('n1').disk.mount('disk-rollback', old);
    room.cluster.start('n1');
    await room.world.runUntil(() => room.cluster.serves('n1'), 20 * second);
    await room.pass(3 * second);
    const holding = room.onStep('c.decision.beforeLog', ({ host }) => {
      holding.cancel();
      room.cluster.crash(host, 'dropAll', 'silent');
    });
    await room.call('n3', 'POST', '/transactions', { operations: [put(key, '2'), put(room.key('n2'), '2')] });
    const fresh = await room.call('n2', 'POST', '/transactions', {
      id: 'other',
      operations: [put(key, '3')],
    });
    expect(fresh).toMatchObject({ status: 409, body: { outcome: 'aborted', reason: 'conflict' } });
    for (const node of ['n1', 'n2']) {
      const again = await commit(room, node, key);
      expect(again?.body, node).toMatchObject({ outcome: 'committed' });
      expect(again?.body['transaction_id']).toBe(first?.body['transaction_id']);
    }
  });

  it('is known where its primary has forgotten it, although a replica that missed it answers first', async () => {
    const room = new TransactionHarness('names', alone);
    await room.start();
    const key = room.key('n1');
    const old = room.cluster.host('n1').disk.durableCopy();
    const cut = room.world.network.partition(['n3'], ['n1', 'n2']);
    await room.pass(5 * second);
    const first = await commit(room, 'n1', key);
    expect(first?.body).toMatchObject({ outcome: 'committed' });
    room.cluster.crash('n1', 'dropAll', 'silent');
    cut.lift();
    room.cluster.host('n1').disk.mount('disk-rollback', old);
    room.cluster.start('n1');
    await room.world.runUntil(() => room.cluster.serves('n1'), 20 * second);
    await room.pass(3 * second);
    room.world.network.slow(['n2'], ['n1'], constantLatency(2_000));
    const again = await commit(room, 'n1', key);
    expect(again?.body['transaction_id']).toBe(first?.body['transaction_id']);
  });

  it('is refused for other operations, though one of its primaries is away', async () => {
    const room = new TransactionHarness('names', alone);
    await room.start();
    const mine = (values: readonly string[]): object => ({
      id: 'mine',
      operations: values.map((value, index) => put(room.key(index === 0 ? 'n1' : 'n2'), value)),
    });
    const first = await room.call('n3', 'POST', '/transactions', mine(['1', '1']));
    expect(first?.body).toMatchObject({ outcome: 'committed' });
    room.cluster.crash('n1', 'keepAll', 'silent');
    await room.pass(30 * second);
    const other = await room.call('n3', 'POST', '/transactions', mine(['2', '1']));
    expect(other).toMatchObject({ status: 409, body: { outcome: 'aborted', reason: 'conflict' } });
    expect(other?.body['detail']).toContain('for other operations');
  });

  it('may be an earlier one when too few can be asked, and is in doubt then', async () => {
    const room = new TransactionHarness('names', alone);
    await room.start();
    const key = room.key('n1');
    room.cluster.crash('n3', 'keepAll', 'silent');
    await room.pass(30 * second);
    expect((await commit(room, 'n2', key))?.body).toMatchObject({ outcome: 'committed' });
    for (const node of ['n1', 'n2']) room.cluster.crash(node, 'keepAll', 'silent');
    room.cluster.start('n3');
    await room.pass(30 * second);
    const unsure = await commit(room, 'n3', key);
    expect(unsure).toMatchObject({ status: 202, body: { outcome: 'in_doubt' } });
  });
});
