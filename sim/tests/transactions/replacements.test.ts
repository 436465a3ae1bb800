/** Tests a node that dies for good with a commit vote on its disk: its replacement applies what was decided. */
import { beforeEach, describe, expect, it } from 'vitest';

import { requestKinds } from '../../../engine/peer/wire/kinds.ts';
import { checkLocks } from '../../check/transactions/locks.ts';
import { checkAtomicity } from '../../check/transactions/transactions.ts';
import type { Lasting } from '../../world/world.ts';
import { stepOf } from '../../explore/crash-points.ts';
import type { HarnessAnswer } from '../../explore/transaction-harness.ts';
import { TransactionHarness, put } from '../../explore/transaction-harness.ts';

const second = 1_000_000;
/** The replacements, by the node that they replace. */
const replacements = new Map([['n2', 'n4']]);

let room: TransactionHarness;
let keys: readonly string[];
beforeEach(async () => {
  room = new TransactionHarness('heirs', { phi_threshold_milli: 3_000, gossip_interval_ms: 200 });
  await room.start();
  const n4 = { name: 'n4', datacenter: 'dc1', rack: 'r2', replaces: 'n2' };
  room.cluster.add(n4, { join: 'joining', replace: 'n2' });
  keys = [room.key('n2'), room.key('n3')];
  await transfer('before');
  await room.pass(second);
});

function transfer(value: string, by = 'n1', some = keys): Promise<HarnessAnswer | undefined> {
  const operations = some.map((key) => put(key, value));
  return room.call(by, 'POST', '/transactions', { operations, timeout_ms: 800 });
}

/** n2 dies for good when its vote is received: n1 decides, and n2's part is only on n2's disk. */
async function diesAfterItsVote(): Promise<HarnessAnswer | undefined> {
  room.onStep('c.vote.recv', ({ host, fields }) => {
    if (host === 'n1' && fields['from'] === 'n2') room.cluster.lose('n2');
  });
  const answer = await transfer('decided');
  expect(answer?.body).toMatchObject({ outcome: 'committed' });
  return answer;
}

async function replaced(): Promise<void> {
  room.cluster.start('n4');
  await room.world.runUntil(() => room.cluster.serves('n4'), 10 * second);
  await room.pass(15 * second);
}

async function inDoubtAt(node: string): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const list = await room.call(node, 'GET', '/transactions?state=in_doubt');
  return list?.body['transactions'] as readonly Readonly<Record<string, unknown>>[];
}

async function expectWhole(value: string): Promise<void> {
  for (const key of keys) expect(await room.read('n3', key, 'primary')).toBe(value);
  for (const node of ['n1', 'n3', 'n4']) expect(await inDoubtAt(node), node).toEqual([]);
  const steps = room.steps.map(stepOf);
  expect(checkAtomicity(steps, ['n2'], replacements)).toMatchObject({ ok: true, skipped: 0 });
  expect(checkLocks(steps, replacements).reasons).toEqual([]);
  expect(room.world.failures).toEqual([]);
}

describe('a heuristic decision for a coordinator that died', () => {
  it('is kept for as long as that may come back, and until an operator abandons it', async () => {
    room.onStep('c.decision.beforeLog', ({ host }) => {
      if (host === 'n2') room.cluster.lose('n2');
    });
    keys = [room.key('n1'), room.key('n3')];
    const answer = room.ask('n2', 'POST', '/transactions', {
      operations: keys.map((key) => put(key, 'decided')),
    });
    await room.pass(2 * second);
    const [open] = await inDoubtAt('n1');
    const path = `/transactions/${String(open?.['transaction_id'])}/resolve`;
    const resolve = (node: string, heuristic: string) => room.call(node, 'POST', path, { heuristic });
    for (const node of ['n1', 'n3']) expect((await resolve(node, 'commit'))?.status).toBe(200);
    expect(await inDoubtAt('n1')).toMatchObject([{ state: 'heuristicCommitted', coordinator: 'n2' }]);
    const refused = await resolve('n1', 'abandon');
    expect(refused).toMatchObject({ status: 409 });
    expect(String(refused?.body['detail'])).toContain('n2 coordinates the transaction and is a member');
    await room.pass(3 * second);
    await replaced();
    for (const node of ['n1', 'n3']) {
      expect(await resolve(node, 'abandon')).toMatchObject({ status: 200, body: { heuristic: 'abandon' } });
      expect((await resolve(node, 'abandon'))?.status).toBe(404);
    }
    await room.world.runUntil(answer, 30 * second);
    await room.pass(second);
    room.cluster.crash('n1', 'dropAll', 'silent');
    room.cluster.start('n1');
    await room.pass(3 * second);
    for (const node of ['n1', 'n3', 'n4']) expect(await inDoubtAt(node), node).toEqual([]);
    for (const key of keys) expect(await room.read('n4', key, 'primary')).toBe('decided');
    expect(room.world.failures).toEqual([]);
  });
});

describe('what a dead node had voted for', () => {
  it('is applied by its replacement', async () => {
    await diesAfterItsVote();
    await room.pass(5 * second);
    await replaced();
    await expectWhole('decided');
    expect((await transfer('next', 'n4'))?.body).toMatchObject({ outcome: 'committed' });
  });

  it('is awaited by its replacement, which is not ready meanwhile', async () => {
    await diesAfterItsVote();
    await room.pass(5 * second);
    let lost: Lasting | undefined;
    room.world.trace.on('membership.move.declared', ({ host, fields }) => {
      if (host === 'n4' && fields['move'] === 'switching')
        lost = room.losing('n1', ['n4'], [requestKinds.transact]);
    });
    await replaced();
    const refused = await transfer('between', 'n3', [room.key('n2')]);
    expect(refused?.body).toMatchObject({ outcome: 'aborted', reason: 'no_targets' });
    expect(String(refused?.body['detail'])).toContain('n4 replaces n2 and leads nothing');
    const seen = await room.call('n4', 'GET', '/cluster');
    expect(seen?.body['transfer']).toMatchObject({ waits_for: { members: ['n1'] } });
    lost?.lift();
    await room.pass(3 * second);
    await expectWhole('decided');
  });

  it('stays lost where its coordinator was restarted, and blocks no other transaction', async () => {
    await diesAfterItsVote();
    room.cluster.crash('n1', 'keepAll', 'silent');
    await room.pass(second);
    room.cluster.start('n1');
    await room.pass(4 * second);
    await replaced();
    expect((await transfer('next', 'n3'))?.body).toMatchObject({ outcome: 'committed' });
    expect(await inDoubtAt('n1')).toMatchObject([{ state: 'committing', lost: ['n2'] }]);
  });

  it('is applied by its replacement, even one that crashes during the takeover', async () => {
    await diesAfterItsVote();
    await room.pass(5 * second);
    let crashes = 0;
    room.onStep('p.applied', ({ host }) => {
      if (host !== 'n4' || crashes++ > 0) return;
      room.cluster.crash('n4', 'dropAll', 'silent');
      room.world.after(second, 'restart', () => room.cluster.start('n4'));
    });
    await replaced();
    expect(crashes).toBeGreaterThan(0);
    await expectWhole('decided');
  });
});
