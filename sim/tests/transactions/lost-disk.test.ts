/** Tests a branch whose disk is lost, and its coordinator's reaction: nothing is acknowledged that is not there. */
import { beforeEach, describe, expect, it } from 'vitest';

import type { HarnessAnswer } from '../../explore/transaction-harness.ts';
import { TransactionHarness, labNodes, put } from '../../explore/transaction-harness.ts';

describe('a primary that returns with an empty disk', () => {
  let room: TransactionHarness;
  let keys: readonly string[];
  beforeEach(async () => {
    room = new TransactionHarness('amnesia');
    await room.start();
    keys = labNodes.map((node) => room.key(node));
  });

  const batch = (value: string): Promise<HarnessAnswer | undefined> =>
    room.ask('n1', 'POST', '/transactions', {
      operations: keys.map((key) => put(key, value)),
      timeout_ms: 800,
    });

  /** n2 loses its power and its disk when n1 has received its vote, and returns after a while. */
  function wipeOnceVoted(): void {
    let armed = true;
    room.onStep('c.vote.recv', ({ host, fields }) => {
      if (!armed || host !== 'n1' || fields['from'] !== 'n2') return;
      armed = false;
      room.cluster.crash('n2', 'dropAll', 'silent');
      room.cluster.host('n2').disk.wipe();
      room.world.after(300_000, 'restart', () => room.cluster.start('n2'));
    });
  }

  /** From a step on, delays the messages between n1 and n2. */
  function cutAt(step: string, forUs: number): void {
    let armed = true;
    room.onStep(step, ({ host }) => {
      if (!armed || host !== 'n1') return;
      armed = false;
      const cut = room.world.network.partition(['n2'], ['n1', 'n3']);
      room.world.after(forUs, 'heal', () => cut.lift());
    });
  }

  async function expectAll(value: string): Promise<void> {
    for (const key of keys) for (const node of labNodes) expect(await room.read(node, key)).toBe(value);
    expect(room.world.failures).toEqual([]);
  }

  async function untilCertain(): Promise<void> {
    for (let tries = 0; tries < 60; tries++) {
      const lists = [];
      for (const node of labNodes) lists.push(await room.call(node, 'GET', '/transactions?state=in_doubt'));
      if (
        lists.every(
          (list) => Array.isArray(list?.body['transactions']) && list.body['transactions'].length === 0,
        )
      )
        return;
      await room.pass(250_000);
    }
    throw new Error('something stays in doubt');
  }

  const told = (name: string): number => room.steps.filter((step) => step.name === name).length;

  it('between its vote and the decision is given its branch again, and carries it out', async () => {
    await settled(batch('before'));
    await room.pass(500_000);
    wipeOnceVoted();
    const answer = batch('after');
    expect((await settled(answer))?.body).toMatchObject({ outcome: 'committed' });
    await untilCertain();
    await expectAll('after');
  });

  it('receives its branch once, however often it inquires', async () => {
    wipeOnceVoted();
    const answer = batch('after');
    expect((await settled(answer))?.body).toMatchObject({ outcome: 'committed' });
    await room.pass(3_000_000);
    await untilCertain();
    const applied = room.steps.filter(({ name, host }) => name === 'xa.p.applied.synced' && host === 'n2');
    expect(applied).toHaveLength(1);
  });

  it('is not acknowledged: the coordinator stays in doubt while it has no prepare request to resend', async () => {
    wipeOnceVoted();
    const answer = batch('after');
    let armed = true;
    room.onStep('c.decision.synced', () => {
      if (!armed) return;
      armed = false;
      room.cluster.crash('n1', 'keepAll', 'reset');
      room.world.after(200_000, 'restart', () => room.cluster.start('n1'));
    });
    await room.pass(5_000_000);
    expect(await settled(answer)).toBeUndefined();
    const list = await room.call('n1', 'GET', '/transactions?state=in_doubt');
    const [open] = list?.body['transactions'] as [Readonly<Record<string, unknown>>];
    expect(open).toMatchObject({ role: 'coordinator', state: 'committing', lost: ['n2'] });
    expect(told('xa.c.forget')).toBe(0);
    const path = `/transactions/${String(open['transaction_id'])}/resolve`;
    const resolved = (heuristic: string): Promise<HarnessAnswer | undefined> =>
      room.call('n1', 'POST', path, { heuristic });
    expect((await resolved('commit'))?.status).toBe(404);
    expect(await resolved('abandon')).toMatchObject({ status: 200, body: { heuristic: 'abandon' } });
    await untilCertain();
    await room.pass(1_000_000);
    expect(told('xa.c.forget')).toBe(1);
    expect((await resolved('abandon'))?.status).toBe(404);
  });

  it('after it has acknowledged gets its part from the replicas', async () => {
    expect((await settled(batch('before')))?.body).toMatchObject({ outcome: 'committed' });
    await room.pass(500_000);
    room.cluster.crash('n2', 'dropAll', 'silent');
    room.cluster.host('n2').disk.wipe();
    room.cluster.start('n2');
    await room.pass(3_000_000);
    await untilCertain();
    await expectAll('before');
  });

  it('after it has acknowledged, while another branch is away, loses nothing and hides nothing', async () => {
    cutAt('c.decision.synced', 1_500_000);
    expect((await settled(batch('after')))?.body).toMatchObject({ outcome: 'committed' });
    await room.pass(4_000_000);
    await untilCertain();
    await expectAll('after');
  });

  it('does not take back what was decided: that it knows nothing of it proves nothing', async () => {
    await settled(batch('before'));
    await room.pass(500_000);
    // n2 never receives the decision, n1 dies with it, and n3, which has applied it, returns with an empty disk.
    cutAt('c.decision.synced', 700_000);
    let armed = true;
    room.onStep('c.ack.recv', ({ host, fields }) => {
      if (!armed || host !== 'n1' || fields['from'] !== 'n3') return;
      armed = false;
      room.cluster.crash('n1', 'dropAll', 'silent');
      room.cluster.crash('n3', 'dropAll', 'silent');
      room.cluster.host('n3').disk.wipe();
      room.world.after(300_000, 'restart', () => room.cluster.start('n3'));
      room.world.after(6_000_000, 'restart', () => room.cluster.start('n1'));
    });
    const answer = batch('after');
    await room.pass(4_000_000);
    const list = await room.call('n2', 'GET', '/transactions?state=in_doubt');
    expect(list?.body['transactions']).toMatchObject([{ role: 'branch', state: 'prepared' }]);
    expect(await settled(answer)).toBeUndefined();
    await room.pass(4_000_000);
    expect(await room.read('n2', keys[1] ?? '', 'primary')).toBe('after');
  });

  async function settled(answer: Promise<HarnessAnswer | undefined>): Promise<HarnessAnswer | undefined> {
    await room.world.runUntil(answer, 20_000_000);
    return answer;
  }
});
