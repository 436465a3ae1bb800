/** Tests single puts through a node that is not their primary, when the answer between the two nodes is lost. */
import { beforeEach, describe, expect, it } from 'vitest';

import type { HarnessAnswer } from '../../explore/transaction-harness.ts';
import { TransactionHarness, labNodes, put } from '../../explore/transaction-harness.ts';

const syncUs = 20_000;

describe('a single put through a node that is not its primary', () => {
  let room: TransactionHarness;
  let key: string;
  beforeEach(async () => {
    room = new TransactionHarness('asked puts');
    await room.start();
    key = room.key('n2');
  });

  const ask = (value: string, more: object = {}): Promise<HarnessAnswer | undefined> =>
    room.ask('n1', 'POST', '/transactions', { operations: [put(key, value)], ...more });

  async function answered(asked: Promise<HarnessAnswer | undefined>): Promise<HarnessAnswer | undefined> {
    await room.world.runUntil(asked, 20_000_000);
    return asked;
  }

  /** Every node reports the transaction's outcome, and n1 lists nothing in doubt. */
  async function expectKnown(answer: HarnessAnswer | undefined, outcome: string): Promise<void> {
    const id = String(answer?.body['transaction_id']);
    for (const node of labNodes) {
      expect(await room.call(node, 'GET', `/transactions/${id}`)).toMatchObject({
        status: 200,
        body: { outcome },
      });
    }
    const list = await room.call('n1', 'GET', '/transactions?state=in_doubt');
    expect(list?.body).toEqual({ transactions: [] });
  }

  function slowDisk(): void {
    const delay = { minUs: syncUs, meanUs: 1, tailOneIn: 1_000_000, tailUs: 1 };
    room.cluster.host('n2').disk.inject({ kind: 'slow-disk', operations: ['sync'], delay });
  }

  const applied = (): number =>
    room.steps.filter(({ name, host }) => name === 'xa.p.applied.synced' && host === 'n2').length;

  it('is committed there, and known by its name on every node', async () => {
    const answer = await answered(ask('1'));
    expect(answer).toMatchObject({ status: 200, body: { branches: [{ node: 'n2', vote: 'commit' }] } });
    await expectKnown(answer, 'committed');
    for (const node of labNodes) expect(await room.read(node, key)).toBe('1');
    expect(applied()).toBe(1);
  });

  it('whose answer is lost is said to be committed as soon as the primary can be asked', async () => {
    slowDisk();
    const asked = ask('1');
    await room.pass(syncUs / 2);
    const cut = room.world.network.partition(['n2'], ['n1', 'n3']);
    const answer = await answered(asked);
    expect(answer).toMatchObject({ status: 202, body: { outcome: 'in_doubt' } });
    const list = await room.call('n1', 'GET', '/transactions?state=in_doubt');
    expect(list?.body['transactions']).toMatchObject([{ state: 'doubted', branches: ['n2'] }]);
    const id = String(answer?.body['transaction_id']);
    expect((await room.call('n1', 'GET', `/transactions/${id}`))?.body).toMatchObject({
      outcome: 'in_doubt',
    });
    cut.lift();
    await room.pass(5_000_000);
    await expectKnown(answer, 'committed');
    expect(await room.read('n1', key)).toBe('1');
    expect(applied()).toBe(1);
  });

  it('that arrives late is carried out once, and said to be committed in the end', async () => {
    await answered(ask('1'));
    const cut = room.world.network.partition(['n2'], ['n1', 'n3']);
    const answer = await answered(ask('2'));
    expect(answer).toMatchObject({ status: 202, body: { outcome: 'in_doubt' } });
    expect(applied()).toBe(1);
    cut.lift();
    await room.pass(5_000_000);
    await expectKnown(answer, 'committed');
    expect(applied()).toBe(2);
    for (const node of labNodes) expect(await room.read(node, key)).toBe('2');
  });

  it('whose primary dies over it stays in doubt, which is said at once when that is certain', async () => {
    slowDisk();
    const asked = ask('1');
    await room.pass(syncUs / 2);
    room.cluster.crash('n2', 'dropAll', 'reset');
    room.cluster.start('n2');
    const answer = await answered(asked);
    expect(answer).toMatchObject({ status: 202, body: { outcome: 'in_doubt' } });
    await room.pass(3_000_000);
    await expectKnown(answer, 'in_doubt');
    // The other replicas had it before the primary died: no node reports it as missing.
    expect(await room.read('n1', key)).toBe('1');
    expect(await answered(ask('2'))).toMatchObject({ status: 200 });
  });

  it('is refused by name while another transaction holds its key', async () => {
    slowDisk();
    const both = { operations: [put(key, 'b'), put(room.key('n3'), 'b')] };
    const first = room.ask('n3', 'POST', '/transactions', both);
    await room.pass(syncUs / 2);
    const answer = await answered(ask('1'));
    expect(answer).toMatchObject({ status: 409, body: { reason: 'conflict' } });
    expect((await answered(first))?.status).toBe(200);
    await expectKnown(answer, 'aborted');
    expect(await room.read('n2', key)).toBe('b');
  });

  it('with an id stays refused, though its message comes once more when its key is free', async () => {
    slowDisk();
    const both = { operations: [put(key, 'b'), put(room.key('n3'), 'b')] };
    const first = room.ask('n3', 'POST', '/transactions', both);
    await room.pass(syncUs / 2);
    const doubling = { kind: 'message-duplication', oneIn: 1, delayUsMax: 3_000_000 } as const;
    const twice = room.world.network.meddle(['n1'], ['n2'], doubling);
    const answer = await answered(ask('1', { id: 'mine' }));
    twice.lift();
    expect(answer).toMatchObject({ status: 409, body: { reason: 'conflict' } });
    expect((await answered(first))?.status).toBe(200);
    await room.pass(4_000_000);
    await expectKnown(answer, 'aborted');
    expect(await room.read('n2', key)).toBe('b');
  });

  it('replayed in the next incarnation of its primary does nothing', async () => {
    // The network records messages only while it is told to meddle with them.
    const listening = room.world.network.meddle(['n1'], ['n2'], { kind: 'message-replay', oneIn: 1_000_000 });
    expect(await answered(ask('a'))).toMatchObject({ status: 200 });
    room.cluster.crash('n2', 'dropAll', 'reset');
    room.cluster.start('n2');
    await room.pass(1_500_000);
    listening.lift();
    const next = await answered(room.ask('n3', 'POST', '/transactions', { operations: [put(key, 'b')] }));
    expect(next).toMatchObject({ status: 200 });
    const replaying = room.world.network.meddle(['n1'], ['n2'], {
      kind: 'message-replay',
      oneIn: 1,
      delayUsMax: 1000,
    });
    await room.pass(4_000_000);
    replaying.lift();
    expect(applied()).toBe(2);
    expect(await room.read('n1', key)).toBe('b');
  });
});
