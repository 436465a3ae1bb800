/** Tests that the record of completed transactions is bounded: by time at any load, and by count. */
import { describe, expect, it } from 'vitest';

import type { HarnessAnswer } from '../../explore/transaction-harness.ts';
import { TransactionHarness, put } from '../../explore/transaction-harness.ts';

const retentionSeconds = 8;

async function started(
  label: string,
  settings: Readonly<Record<string, unknown>>,
): Promise<TransactionHarness> {
  const room = new TransactionHarness(label, settings, 1);
  await room.start();
  return room;
}

/**
 * Commits `count` transactions over keys of n1 and n2, each with its own keys, several at a time; resolves with their
 * ids.
 */
async function commitMany(room: TransactionHarness, count: number): Promise<readonly string[]> {
  const ids: string[] = [];
  const names = Array.from({ length: 8 * count }, (_, index) => `x${index}`);
  const lefts = names.filter((name) => room.primaryOf(name) === 'n1');
  const rights = names.filter((name) => room.primaryOf(name) === 'n2');
  for (let first = 0; first < count; first += 50) {
    const answers: Promise<HarnessAnswer | undefined>[] = [];
    for (let at = first; at < Math.min(count, first + 50); at++) {
      const operations = [put(lefts[at] ?? '', '1'), put(rights[at] ?? '', '1')];
      answers.push(room.ask('n1', 'POST', '/transactions', { operations }));
    }
    const all = Promise.all(answers);
    await room.world.runUntil(all, 20_000_000);
    for (const answer of await all) {
      expect(answer?.body['outcome']).toBe('committed');
      ids.push(String(answer?.body['transaction_id']));
    }
  }
  return ids;
}

async function knows(room: TransactionHarness, id: string | undefined): Promise<boolean> {
  const answer = await room.call('n1', 'GET', `/transactions/${id ?? ''}`);
  expect([200, 404]).toContain(answer?.status);
  return answer?.status === 200;
}

describe('transactions that are over', () => {
  it('are forgotten when their time is over, however many they are', async () => {
    const room = await started('retention', { transaction_retention_seconds: retentionSeconds });
    const ids = await commitMany(room, 2200);
    expect(room.world.nowUs).toBeLessThan(retentionSeconds * 1_000_000);
    expect(await knows(room, ids[0])).toBe(true);
    // At least one tick (250 ms) after the retention of the last one, and two at most: with 1,000 a tick some would
    // remain.
    await room.pass(retentionSeconds * 1_000_000 + 300_000);
    expect(await knows(room, ids[0])).toBe(false);
    expect(await knows(room, ids.at(-1))).toBe(false);
  });

  it('are dropped oldest first when there are more than the bound', async () => {
    const room = await started('count', { transaction_remembered_max: 20 });
    const ids = await commitMany(room, 70);
    await room.pass(600_000);
    expect(await knows(room, ids.at(-1))).toBe(true);
    expect(await knows(room, ids[0])).toBe(false);
    const known: boolean[] = [];
    for (const id of ids) known.push(await knows(room, id));
    expect(known.filter((is) => is)).toHaveLength(20);
  });
});

describe('ids of clients', () => {
  it('are refused at the bound, except for retries, until older ones expire', async () => {
    const room = await started('ids', { transaction_remembered_max: 2, transaction_retention_seconds: 2 });
    const commit = (id: string): Promise<HarnessAnswer | undefined> =>
      room.call('n1', 'POST', '/transactions', { id, operations: [put(room.key('n2'), id)] });
    const first = await commit('a');
    expect(await commit('b')).toMatchObject({ status: 200 });
    const refused = await commit('c');
    expect(JSON.stringify(refused?.body)).toContain('2 ids of clients are remembered, as many as may be');
    expect(refused?.body['outcome']).not.toBe('committed');
    expect((await commit('a'))?.body['transaction_id']).toBe(first?.body['transaction_id']);
    await room.pass(2_500_000);
    expect(await commit('c')).toMatchObject({ status: 200, body: { outcome: 'committed' } });
  });
});
