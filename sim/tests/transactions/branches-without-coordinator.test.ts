/**
 * Tests transactions whose coordinator has left for good, or has lost its disk: a branch in doubt learns the outcome
 * from the other branches, and none of these lets go of what it knows before.
 */
import { describe, expect, it } from 'vitest';

import { requestKinds } from '../../../engine/peer/wire/kinds.ts';
import { checkAtomicity } from '../../check/transactions/transactions.ts';
import { stepOf } from '../../explore/crash-points.ts';
import type { HarnessAnswer } from '../../explore/transaction-harness.ts';
import { TransactionHarness, put } from '../../explore/transaction-harness.ts';
import { branchesOn } from '../../observe/branches-left.ts';
import type { Lasting } from '../../world/world.ts';

const second = 1_000_000;

let room: TransactionHarness;
let keys: readonly string[];

async function begin(seed: string, settings: Readonly<Record<string, unknown>> = {}): Promise<void> {
  room = new TransactionHarness(seed, { phi_threshold_milli: 3_000, gossip_interval_ms: 200, ...settings });
  await room.start();
  const n4 = { name: 'n4', datacenter: 'dc1', rack: 'r2', replaces: 'n2' };
  room.cluster.add(n4, { join: 'joining', replace: 'n2' });
  keys = [room.key('n1'), room.key('n3')];
}

/** A transaction over n1 and n3 that n2 coordinates. */
function transfer(value: string): Promise<HarnessAnswer | undefined> {
  const operations = keys.map((key) => put(key, value));
  return room.call('n2', 'POST', '/transactions', { operations, timeout_ms: 800 });
}

/**
 * What n3 and n1 or n2 say to each other of transactions is lost from the decision of n2 on. What `lift` gets may be
 * heard from then on.
 */
async function committedWithout3(): Promise<{ lift(...nodes: readonly string[]): void }> {
  const lost = new Map<string, Lasting>();
  room.onStep('c.decision.synced', ({ host }) => {
    if (host !== 'n2' || lost.size > 0) return;
    for (const node of ['n1', 'n2']) lost.set(node, room.losing('n3', [node], [requestKinds.transact]));
  });
  expect((await transfer('decided'))?.body).toMatchObject({ outcome: 'committed' });
  await room.pass(second / 2);
  return { lift: (...nodes) => nodes.forEach((node) => lost.get(node)?.lift()) };
}

async function replaced(): Promise<void> {
  await room.pass(3 * second);
  room.cluster.start('n4');
  await room.world.runUntil(() => room.cluster.serves('n4'), 10 * second);
  await room.pass(10 * second);
  const seen = await room.call('n1', 'GET', '/cluster');
  expect(seen?.body['members']).toMatchObject([{ node: 'n1' }, { node: 'n3' }, { node: 'n4' }]);
}

async function restart(node: string): Promise<void> {
  room.cluster.crash(node, 'keepAll', 'silent');
  room.cluster.start(node);
  await room.world.runUntil(() => room.cluster.serves(node), 10 * second);
}

const statesOn = (node: string): readonly string[] =>
  branchesOn(room.cluster.host(node).disk.durableFiles()).map(({ state }) => state);

async function expectWhole(value: string): Promise<void> {
  for (const key of keys) expect(await room.read('n3', key, 'primary')).toBe(value);
  expect(checkAtomicity(room.steps.map(stepOf), ['n2'], new Map([['n2', 'n4']]))).toMatchObject({ ok: true });
  expect(['n1', 'n3'].map(statesOn)).toEqual([[], []]);
  expect(room.world.failures).toEqual([]);
}

describe('an applied branch whose coordinator was replaced', () => {
  it('keeps its record through a restart while another branch is in doubt', async () => {
    await begin('applied-restart');
    const lost = await committedWithout3();
    room.cluster.lose('n2');
    await replaced();
    await restart('n1');
    await room.pass(5 * second);
    expect(['n1', 'n3'].map(statesOn)).toEqual([['applied'], ['prepared']]);
    lost.lift('n1', 'n2');
    await room.pass(5 * second);
    await expectWhole('decided');
  });
});

describe('an applied branch whose coordinator has lost its disk', () => {
  it('keeps its record for longer than outcomes are kept, while another branch is in doubt', async () => {
    await begin('applied-lost', { transaction_retention_seconds: 3 });
    const lost = await committedWithout3();
    room.cluster.crash('n2', 'dropAll', 'silent');
    room.cluster.host('n2').disk.wipe();
    lost.lift('n2');
    room.cluster.start('n2');
    await room.pass(15 * second);
    expect(['n1', 'n3'].map(statesOn)).toEqual([['applied'], ['prepared']]);
    lost.lift('n1');
    await room.pass(5 * second);
    await expectWhole('decided');
  });
});

describe('a heuristic decision whose coordinator was replaced', () => {
  const resolve = async (node: string, xid: string, heuristic: string): Promise<HarnessAnswer | undefined> =>
    room.call(node, 'POST', `/transactions/${xid}/resolve`, { heuristic });

  async function openAt(node: string): Promise<readonly Readonly<Record<string, unknown>>[]> {
    const list = await room.call(node, 'GET', '/transactions?state=in_doubt');
    return list?.body['transactions'] as readonly Readonly<Record<string, unknown>>[];
  }

  it.each(['commit', 'rollback'])('is not abandoned while another branch waits: %s', async (decision) => {
    await begin(`abandoned-${decision}`);
    room.onStep('c.decision.beforeLog', ({ host }) => {
      if (host === 'n2') room.cluster.lose('n2');
    });
    await transfer('decided');
    await replaced();
    const xid = String((await openAt('n1'))[0]?.['transaction_id']);
    expect(await resolve('n1', xid, decision)).toMatchObject({ status: 200 });
    const refused = await resolve('n1', xid, 'abandon');
    expect(refused).toMatchObject({ status: 409 });
    expect(String(refused?.body['detail'])).toContain('n3 waits for the outcome');
    await room.pass(2 * second);
    expect(await openAt('n3')).toMatchObject([{ state: 'prepared' }]);
    room.cluster.crash('n3', 'keepAll', 'silent');
    expect(String((await resolve('n1', xid, 'abandon'))?.body['detail'])).toContain('does not answer');
    room.cluster.start('n3');
    await room.world.runUntil(() => room.cluster.serves('n3'), 10 * second);
    expect(await resolve('n3', xid, decision)).toMatchObject({ status: 200 });
    await room.pass(2 * second);
    for (const node of ['n1', 'n3'])
      expect((await resolve(node, xid, 'abandon'))?.body).toMatchObject({ heuristic: 'abandon' });
    await room.pass(second);
    expect(['n1', 'n3'].map(statesOn)).toEqual([[], []]);
    const value = decision === 'commit' ? 'decided' : '';
    for (const key of keys) expect(await room.read('n3', key, 'primary')).toBe(value);
  });
});
