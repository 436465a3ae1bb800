/**
 * Tests that a node which lost its disk does not know what it decided or applied before: it says so, and no node takes
 * that for an abort.
 */
import { beforeEach, describe, expect, it } from 'vitest';

import { checkAtomicity } from '../../check/transactions/transactions.ts';
import { stepOf } from '../../explore/crash-points.ts';
import type { HarnessAnswer, HarnessNode } from '../../explore/transaction-harness.ts';
import { TransactionHarness, labNodes, put } from '../../explore/transaction-harness.ts';

type Entry = Readonly<Record<string, unknown>>;

let room: TransactionHarness;
beforeEach(async () => {
  room = new TransactionHarness('lost memory');
  await room.start();
});

const batch = (keys: readonly string[], value: string): Promise<HarnessAnswer | undefined> =>
  room.ask('n1', 'POST', '/transactions', {
    operations: keys.map((key) => put(key, value)),
    timeout_ms: 800,
  });

async function settled<T>(answer: Promise<T>): Promise<T> {
  await room.world.runUntil(answer, 20_000_000);
  return answer;
}

async function inDoubtAt(node: HarnessNode): Promise<readonly Entry[]> {
  const list = await room.call(node, 'GET', '/transactions?state=in_doubt');
  return list?.body['transactions'] as readonly Entry[];
}

async function expectCertain(): Promise<void> {
  for (const node of labNodes) expect(await inDoubtAt(node), node).toEqual([]);
}

const resolved = (node: HarnessNode, xid: unknown, heuristic: string): Promise<HarnessAnswer | undefined> =>
  room.call(node, 'POST', `/transactions/${String(xid)}/resolve`, { heuristic });

/** The node loses its power, and with `wiped` its disk; it returns after a while. */
function strike(node: HarnessNode, wiped: boolean): void {
  room.cluster.crash(node, 'dropAll', 'silent');
  if (wiped) room.cluster.host(node).disk.wipe();
  room.world.after(300_000, 'restart', () => room.cluster.start(node));
}

/** Calls `act` once, when `node` traces the step. */
function onceAt(step: string, node: HarnessNode, act: () => void, where: Entry = {}): void {
  let armed = true;
  room.onStep(step, ({ host, fields }) => {
    const meant = host === node && Object.entries(where).every(([name, value]) => fields[name] === value);
    if (!armed || !meant) return;
    armed = false;
    act();
  });
}

describe('a coordinator that returns with an empty disk', () => {
  let keys: readonly string[];
  beforeEach(async () => {
    keys = [room.key('n2'), room.key('n3')];
    await settled(batch(keys, 'before'));
    await room.pass(500_000);
  });

  /**
   * n2 does not receive the decision, n3 has acknowledged it, n1 has lost it; n2 and n3 can communicate again later.
   */
  function loseTheDecision(then: () => void): void {
    onceAt('c.decision.synced', 'n1', () => {
      const cuts = (['n1', 'n3'] as const).map((other) => room.world.network.partition(['n2'], [other]));
      for (const [index, cut] of cuts.entries())
        room.world.after(1_500_000 + index * 3_000_000, 'heal', () => cut.lift());
    });
    onceAt('c.ack.recv', 'n1', then, { from: 'n3' });
  }

  function expectWhole(): void {
    expect(checkAtomicity(room.steps.map(stepOf)).reasons).toEqual([]);
    expect(room.world.failures).toEqual([]);
  }

  it('does not say that what it has decided was aborted: the branch hears it from another one', async () => {
    loseTheDecision(() => room.world.after(50_000, 'strike', () => strike('n1', true)));
    const answer = batch(keys, 'after');
    await room.pass(10_000_000);
    await settled(answer);
    for (const key of keys) expect(await room.read('n1', key, 'primary')).toBe('after');
    await expectCertain();
    expectWhole();
  });

  it('leaves in doubt what no other branch knows either, until one that does is there again', async () => {
    loseTheDecision(() => {
      room.world.after(50_000, 'strike', () => {
        strike('n1', true);
        room.cluster.crash('n3', 'keepAll', 'silent');
        room.world.after(6_000_000, 'restart', () => room.cluster.start('n3'));
      });
    });
    const answer = batch(keys, 'after');
    await room.pass(5_000_000);
    expect(await inDoubtAt('n2')).toMatchObject([{ role: 'branch', state: 'prepared' }]);
    await room.pass(6_000_000);
    await settled(answer);
    for (const key of keys) expect(await room.read('n1', key, 'primary')).toBe('after');
    await expectCertain();
    expectWhole();
  });

  it('leaves an undecided transaction to an operator, and does not answer inquiries about it', async () => {
    onceAt('c.decision.beforeLog', 'n1', () => strike('n1', true));
    const answer = batch(keys, 'after');
    await room.pass(4_000_000);
    await settled(answer);
    const [open] = await inDoubtAt('n2');
    expect(open).toMatchObject({ role: 'branch', state: 'prepared', coordinator: 'n1' });
    for (const node of ['n2', 'n3'] as const)
      expect((await resolved(node, open?.['transaction_id'], 'rollback'))?.status).toBe(200);
    for (const key of keys) expect(await room.read('n1', key, 'primary')).toBe('before');
    expect((await settled(batch(keys, 'next')))?.body).toMatchObject({ outcome: 'committed' });
  });

  it('releases keys that were only checked, because the outcome no longer affects them', async () => {
    onceAt('c.decision.beforeLog', 'n1', () => strike('n1', true));
    const checked = { op: 'delete', bucket: 'b', key: room.key('n3', 1) };
    const operations = [put(keys[0] ?? '', 'after'), checked];
    const answer = room.ask('n1', 'POST', '/transactions', { operations, timeout_ms: 800 });
    await room.pass(4_000_000);
    await settled(answer);
    expect(await inDoubtAt('n2')).toHaveLength(1);
    expect(await inDoubtAt('n3')).toEqual([]);
  });
});

it('a coordinator that kept its disk through several incarnations still answers that an undecided transaction is aborted', async () => {
  const keys = [room.key('n2'), room.key('n3')];
  onceAt('c.decision.beforeLog', 'n1', () => {
    const cut = room.world.network.partition(['n1'], ['n2', 'n3']);
    strike('n1', false);
    room.world.after(2_000_000, 'again', () => strike('n1', false));
    room.world.after(4_000_000, 'heal', () => cut.lift());
  });
  const answer = batch(keys, 'after');
  await room.pass(3_900_000);
  expect(await inDoubtAt('n2')).toHaveLength(1);
  await room.pass(4_000_000);
  await settled(answer);
  await expectCertain();
  for (const key of keys) expect(await room.read('n2', key, 'primary')).toBe('');
});

describe('a batch of one primary', () => {
  let keys: readonly string[];
  beforeEach(() => {
    keys = [room.key('n2', 0), room.key('n2', 1)];
  });

  async function expectUnknown(answer: HarnessAnswer | undefined): Promise<void> {
    const id = String(answer?.body['transaction_id']);
    for (const node of labNodes) {
      const known = await room.call(node, 'GET', `/transactions/${id}`);
      expect(known, node).toMatchObject({ status: 200, body: { outcome: 'in_doubt' } });
    }
    await expectCertain();
  }

  it('that has lost it, with its answer, stays in doubt, which is said once that is certain', async () => {
    onceAt('p.applied.synced', 'n2', () => strike('n2', true));
    const answer = await settled(batch(keys, '1'));
    expect(answer).toMatchObject({ status: 202, body: { outcome: 'in_doubt' } });
    await room.pass(5_000_000);
    await expectUnknown(answer);
    expect((await settled(batch(keys, '2')))?.body).toMatchObject({ outcome: 'committed' });
  });

  it('that is dead for good is waited for until an operator abandons it', async () => {
    onceAt('p.applied.synced', 'n2', () => room.cluster.crash('n2', 'dropAll', 'silent'));
    const answer = await settled(batch(keys, '1'));
    await room.pass(30_000_000);
    expect(await inDoubtAt('n1')).toMatchObject([{ state: 'doubted', branches: ['n2'] }]);
    const id = answer?.body['transaction_id'];
    expect((await resolved('n1', id, 'rollback'))?.status).toBe(404);
    expect(await resolved('n1', id, 'abandon')).toMatchObject({
      status: 200,
      body: { heuristic: 'abandon' },
    });
    expect(await inDoubtAt('n1')).toEqual([]);
    const known = await room.call('n1', 'GET', `/transactions/${String(id)}`);
    expect(known).toMatchObject({ status: 200, body: { outcome: 'in_doubt' } });
    expect((await resolved('n1', id, 'abandon'))?.status).toBe(404);
  });

  it('that was abandoned too soon is carried out all the same', async () => {
    onceAt('p.applied.synced', 'n2', () => {
      const cut = room.world.network.partition(['n2'], ['n1', 'n3']);
      room.world.after(3_000_000, 'heal', () => cut.lift());
    });
    const answer = await settled(batch(keys, '1'));
    const id = answer?.body['transaction_id'];
    await resolved('n1', id, 'abandon');
    await room.pass(6_000_000);
    for (const key of keys) expect(await room.read('n1', key, 'primary')).toBe('1');
    expect(room.world.failures).toEqual([]);
  });
});
