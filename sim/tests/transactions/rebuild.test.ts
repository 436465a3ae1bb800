/**
 * Tests that a primary which lost its disk is not ready until its contents are rebuilt and the transactions that it had
 * voted for are finished.
 */
import { beforeEach, describe, expect, it } from 'vitest';

import { put } from '../../explore/transaction-harness.ts';
import type { HarnessAnswer, HarnessNode } from '../../explore/transaction-harness.ts';
import { TransactionHarness, labNodes } from '../../explore/transaction-harness.ts';

/** Only the rebuild itself brings a replica what it lacks; reminders are slow. */
const alone = { hinted_handoff: false, aae_enabled: false, transaction_inquiry_ms: 2_000 };

let room: TransactionHarness;
beforeEach(async () => {
  room = new TransactionHarness('rebuild', alone);
  await room.start();
});

async function settled<T>(answer: Promise<T>): Promise<T> {
  await room.world.runUntil(answer, 20_000_000);
  return answer;
}

const transact = (
  node: HarnessNode,
  operations: readonly object[],
  more: Readonly<Record<string, unknown>> = {},
): Promise<HarnessAnswer | undefined> =>
  settled(room.ask(node, 'POST', '/transactions', { operations, timeout_ms: 800, ...more }));

function wipe(node: HarnessNode): void {
  room.cluster.crash(node, 'dropAll', 'silent');
  room.cluster.host(node).disk.wipe();
}

function cutOff(node: HarnessNode): { lift(): void } {
  return room.world.network.partition(
    [node],
    labNodes.filter((other) => other !== node),
  );
}

async function untilServing(node: HarnessNode): Promise<void> {
  room.cluster.start(node);
  await room.world.runUntil(() => room.cluster.serves(node), 20_000_000);
}

/** n2 was the primary of a write of the key, lost its disk, and is back while n3 cannot be reached. */
async function waitingForN3(): Promise<{ readonly key: string; readonly cut: { lift(): void } }> {
  const key = room.key('n2');
  expect((await transact('n2', [put(key, 'first')]))?.status).toBe(200);
  await room.pass(500_000);
  const cut = cutOff('n3');
  wipe('n2');
  await untilServing('n2');
  return { key, cut };
}

const waits = async (node: HarnessNode): Promise<unknown> =>
  (await room.call(node, 'GET', '/cluster'))?.body['transfer'];

describe('a primary that returns with an empty disk', () => {
  for (const behind of ['n1', 'n3'] as const) {
    it(`reads so many others that one has it, though ${behind} does not`, async () => {
      const key = room.key('n2');
      const cut = cutOff(behind);
      await room.pass(3_000_000);
      expect((await transact('n2', [put(key, 'first')]))?.status).toBe(200);
      cut.lift();
      await room.pass(2_000_000);
      wipe('n2');
      await untilServing('n2');
      await room.pass(1_000_000);
      expect(await room.read('n2', key, 'primary')).toBe('first');
      const second = await transact('n2', [put(key, 'second', { if_absent: true })]);
      expect(second).toMatchObject({ status: 409, body: { reason: 'precondition_failed' } });
    });
  }

  it('waits for a member that may have what it lacks, and says so; the other keys are served', async () => {
    const { key, cut } = await waitingForN3();
    const refused = await transact('n1', [put(key, 'second', { if_absent: true })]);
    expect(refused).toMatchObject({ status: 409, body: { reason: 'no_targets' } });
    expect(refused?.body['detail']).toContain('it waits for n3');
    expect(await room.read('n1', key, 'primary')).toBeUndefined();
    // One complete copy and an empty one are no quorum.
    expect(await room.read('n1', key, 2)).toBeUndefined();
    expect(await room.read('n2', key, 2)).toBeUndefined();
    expect(await room.read('n1', key, 1)).toBe('first');
    expect(await waits('n2')).toMatchObject({ waits_for: { members: ['n3'] } });
    expect((await transact('n1', [put(room.key('n1'), 'elsewhere')]))?.status).toBe(200);
    cut.lift();
    await room.pass(3_000_000);
    expect(await waits('n2')).toMatchObject({ waits_for: { members: [] } });
    const again = await transact('n1', [put(key, 'second', { if_absent: true })]);
    expect(again).toMatchObject({ status: 409, body: { reason: 'precondition_failed' } });
  });

  it('waits for one that was there before all were restarted', async () => {
    const key = room.key('n2');
    const cut = cutOff('n1');
    await room.pass(3_000_000);
    expect((await transact('n2', [put(key, 'first')]))?.status).toBe(200);
    for (const node of labNodes) room.cluster.crash(node, 'dropAll', 'silent');
    cut.lift();
    room.cluster.host('n2').disk.wipe();
    await untilServing('n1');
    await untilServing('n2');
    await room.pass(3_000_000);
    const second = [put(key, 'second', { if_absent: true })];
    const refused = await transact('n2', second);
    expect(refused?.body['detail']).toContain('it waits for n3');
    await untilServing('n3');
    await room.pass(3_000_000);
    expect((await transact('n2', second))?.body).toMatchObject({ reason: 'precondition_failed' });
  });

  it('is not made to write again what it had written, and others have replaced since', async () => {
    const [here, there] = [room.key('n1'), room.key('n2')];
    let cut: { lift(): void } | undefined;
    room.onStep('p.applied.synced', ({ host }) => {
      if (host === 'n2') cut ??= cutOff('n1');
    });
    const first = await transact('n1', [put(here, 'first'), put(there, 'first')]);
    expect(first?.body).toMatchObject({ outcome: 'committed' });
    await room.pass(2_000_000);
    expect((await transact('n3', [put(there, 'second')]))?.body).toMatchObject({ outcome: 'committed' });
    wipe('n2');
    cut?.lift();
    await untilServing('n2');
    await room.pass(6_000_000);
    expect(await room.read('n2', there, 'primary')).toBe('second');
    expect((await room.call('n1', 'GET', '/transactions?state=in_doubt'))?.body).toEqual({
      transactions: [],
    });
  });

  it('does not leave before it is filled', async () => {
    await waitingForN3();
    expect(await room.call('n2', 'POST', '/cluster/leave?force=true')).toMatchObject({ status: 409 });
  });

  it('is not filled because it crashed over it', async () => {
    const { key, cut } = await waitingForN3();
    expect(
      await settled(room.send('n2', 'PUT', `/buckets/b/keys/${room.key('n2', 1)}`, 'beside')),
    ).toMatchObject({
      status: 204,
    });
    room.cluster.crash('n2', 'keepAll', 'reset');
    await untilServing('n2');
    expect(await transact('n1', [put(key, 'second', { if_absent: true })])).toMatchObject({
      status: 409,
      body: { reason: 'no_targets' },
    });
    cut.lift();
    await room.pass(3_000_000);
    expect(await room.read('n2', key, 'primary')).toBe('first');
  });

  it('keeps the keys of a transaction that it had voted for locked until it has applied it again', async () => {
    const keys = labNodes.map((node) => room.key(node));
    const batch = (value: string): readonly object[] => keys.map((key) => put(key, value));
    let armed = true;
    room.onStep('c.vote.recv', ({ host, fields }) => {
      if (!armed || host !== 'n1' || fields['from'] !== 'n2') return;
      armed = false;
      wipe('n2');
      room.world.after(50_000, 'restart', () => room.cluster.start('n2'));
    });
    const first = room.ask('n1', 'POST', '/transactions', { operations: batch('first'), timeout_ms: 800 });
    await room.pass(100_000);
    let answer: HarnessAnswer | undefined;
    for (let tries = 0; tries < 200 && answer?.status !== 200; tries++) {
      answer = await transact('n3', batch('second'));
      await room.pass(20_000);
    }
    expect((await settled(first))?.body).toMatchObject({ outcome: 'committed' });
    expect(answer?.body).toMatchObject({ outcome: 'committed' });
    await room.pass(3_000_000);
    for (const key of keys) expect(await room.read('n1', key, 3), key).toBe('second');
  });
});

describe('a new cluster', () => {
  it('has nothing to wait for, not even a member that no node has ever heard of', async () => {
    const fresh = new TransactionHarness('fresh', alone);
    await fresh.start(['n1', 'n2']);
    const operations = [put(fresh.key('n1'), 'first'), put(fresh.key('n2'), 'first')];
    const answer = await fresh.call('n1', 'POST', '/transactions', { operations });
    expect(answer?.body).toMatchObject({ outcome: 'committed' });
  });

  it('is not assumed by a node that meets no peer', async () => {
    const fresh = new TransactionHarness('fresh', alone);
    await fresh.start(['n1']);
    const body = { operations: [put(fresh.key('n1'), 'first')], consistency: 'DC_ONE' };
    const answer = await fresh.call('n1', 'POST', '/transactions', body);
    expect(answer?.body).toMatchObject({ outcome: 'aborted', reason: 'no_targets' });
    expect(answer?.body['detail']).toContain('it waits for n2, n3');
  });
});
