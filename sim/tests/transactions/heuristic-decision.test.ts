/** Tests heuristic decisions of operators, and how the coordinator and the other branches treat them. */
import { describe, expect, it } from 'vitest';

import { checkAtomicity } from '../../check/transactions/transactions.ts';
import { stepOf } from '../../explore/crash-points.ts';
import type { HarnessAnswer } from '../../explore/transaction-harness.ts';
import { TransactionHarness, put } from '../../explore/transaction-harness.ts';

type Decision = 'commit' | 'rollback';

interface Entry {
  readonly transaction_id: string;
}

async function openAt(room: TransactionHarness, node: string): Promise<readonly Entry[]> {
  const list = await room.call(node, 'GET', '/transactions?state=in_doubt');
  return list?.body['transactions'] as Entry[];
}

/** Resolves the one transaction that waits on `node`; returns its id. */
async function decideAt(room: TransactionHarness, node: string, heuristic: Decision): Promise<string> {
  const [entry] = await openAt(room, node);
  const xid = String(entry?.transaction_id);
  const resolved = await room.call(node, 'POST', `/transactions/${xid}/resolve`, { heuristic });
  expect(resolved).toMatchObject({ status: 200, body: { heuristic } });
  return xid;
}

/** Cuts n2 off once the commit of `n1` is durable, for a while. */
async function cutOffAtDecision(
  room: TransactionHarness,
  forUs: number,
  then = (): void => undefined,
): Promise<void> {
  let armed = true;
  room.onStep('c.decision.synced', ({ host }) => {
    if (!armed || host !== 'n1') return;
    armed = false;
    const cut = room.world.network.partition(['n2'], ['n1', 'n3']);
    room.world.after(forUs, 'heal', () => cut.lift());
    then();
  });
  const operations = [put(room.key('n2'), 'after'), put(room.key('n3'), 'after')];
  const answer = room.ask('n1', 'POST', '/transactions', { operations, timeout_ms: 800 });
  await room.world.runUntil(answer, 30_000_000);
  await room.pass(300_000);
}

describe('a heuristic decision that is compared with the coordinator’s', () => {
  let room: TransactionHarness;
  let told: string[];
  const begin = async (seed: string): Promise<void> => {
    room = new TransactionHarness(seed);
    told = [];
    room.world.trace.on('xa.branch.mixed', ({ host }) => told.push(host));
    await room.start();
  };

  it('is counted and reported as mixed once, although the commit is resent and another branch is away', async () => {
    await begin('mixed-once');
    await cutOffAtDecision(room, 2_000_000, () => room.cluster.crash('n3', 'keepAll', 'silent'));
    await decideAt(room, 'n2', 'rollback');
    await room.pass(8_000_000);
    expect(told).toEqual(['n2']);
    room.cluster.start('n3');
    await room.pass(5_000_000);
    expect(told).toEqual(['n2']);
    expect(await openAt(room, 'n2')).toEqual([]);
  });

  it('is not counted once more after a restart', async () => {
    await begin('mixed-restart');
    await cutOffAtDecision(room, 2_000_000, () => room.cluster.crash('n3', 'keepAll', 'silent'));
    await decideAt(room, 'n2', 'rollback');
    await room.pass(5_000_000);
    room.cluster.crash('n2', 'dropAll', 'silent');
    room.cluster.start('n2');
    await room.pass(5_000_000);
    expect(told).toEqual(['n2']);
    room.cluster.start('n3');
    await room.pass(5_000_000);
    expect(await openAt(room, 'n2')).toEqual([]);
  });

  it('goes although its node crashed before the drop of its record was durable', async () => {
    await begin('mixed-drop-lost');
    await cutOffAtDecision(room, 2_000_000);
    await decideAt(room, 'n2', 'rollback');
    while ((await openAt(room, 'n2')).length > 0) await room.pass(20_000);
    room.cluster.crash('n2', 'dropAll', 'silent');
    room.cluster.start('n2');
    await room.pass(200_000);
    expect(await openAt(room, 'n2')).toMatchObject([{ state: 'heuristicMixed' }]);
    await room.pass(5_000_000);
    expect(await openAt(room, 'n2')).toEqual([]);
    expect(told).toEqual(['n2']);
  });

  it.each([0, 60_000, 120_000, 180_000])('is not mixed where both commit, %i µs later', async (laterUs) => {
    await begin(`agreed${laterUs}`);
    await cutOffAtDecision(room, 2_500_000 + laterUs);
    await decideAt(room, 'n2', 'commit');
    await room.pass(5_000_000);
    expect(told).toEqual([]);
    expect(await openAt(room, 'n2')).toEqual([]);
    expect(await room.read('n2', room.key('n2'), 'primary')).toBe('after');
  });
});

describe('a heuristic decision over one branch', () => {
  it.each(['commit', 'rollback'] as const)('is no word for the others: %s', async (decision) => {
    const room = new TransactionHarness(`alone-${decision}`);
    await room.start();
    let armed = true;
    room.onStep('c.decision.beforeLog', ({ host }) => {
      if (!armed || host !== 'n1') return;
      armed = false;
      room.cluster.crash('n1', 'dropAll', 'silent');
      room.world.after(6_000_000, 'restart', () => room.cluster.start('n1'));
    });
    room.world.trace.on('xa.branch.decided', (event) => room.steps.push(event));
    const learned: string[] = [];
    room.world.trace.on('xa.branch.learned', ({ host, fields }) => {
      learned.push(`${host} ${String(fields['outcome'])}`);
    });
    const operations = [put(room.key('n2'), 'after'), put(room.key('n3'), 'after')];
    const answer = room.ask('n1', 'POST', '/transactions', { operations, timeout_ms: 800 });
    await room.pass(1_500_000);
    const xid = await decideAt(room, 'n2', decision);
    await room.pass(2_500_000);
    expect(learned).toEqual([]);
    expect((await room.call('n3', 'GET', `/transactions/${xid}`))?.body).toMatchObject({
      outcome: 'in_doubt',
    });
    await room.pass(6_000_000);
    expect(await answer).toBeUndefined();
    expect(learned).toEqual(['n3 aborted']);
    expect(await openAt(room, 'n3')).toEqual([]);
    expect(checkAtomicity(room.steps.map(stepOf))).toMatchObject({ ok: true, skipped: 1 });
  });
});

describe('a heuristic decision for a coordinator that has lost its disk', () => {
  it('may be abandoned once that has said so', async () => {
    const room = new TransactionHarness('forgotten');
    await room.start();
    room.onStep('c.decision.beforeLog', ({ host }) => {
      if (host !== 'n1') return;
      room.cluster.crash('n1', 'dropAll', 'silent');
      room.cluster.host('n1').disk.wipe();
      room.world.after(3_000_000, 'restart', () => room.cluster.start('n1'));
    });
    const operations = [put(room.key('n2'), 'after'), put(room.key('n3'), 'after')];
    const answer = room.ask('n1', 'POST', '/transactions', { operations, timeout_ms: 800 });
    await room.pass(1_500_000);
    const xid = await decideAt(room, 'n2', 'rollback');
    const abandoned = (): Promise<HarnessAnswer | undefined> =>
      room.call('n2', 'POST', `/transactions/${xid}/resolve`, { heuristic: 'abandon' });
    expect((await abandoned())?.status).toBe(409);
    await room.pass(6_000_000);
    expect(await openAt(room, 'n2')).toMatchObject([{ state: 'heuristicRolledBack' }]);
    // The branch of n3 waits, and would take the missing record for an abort.
    expect((await abandoned())?.status).toBe(409);
    await decideAt(room, 'n3', 'rollback');
    expect((await abandoned())?.status).toBe(200);
    expect(await openAt(room, 'n2')).toEqual([]);
    await room.world.runUntil(answer, 30_000_000);
  });
});

describe('a heuristic decision that the store does not take', () => {
  it.each(['commit', 'rollback'] as const)(
    'leaves the branch as it was, to be resolved again: %s',
    async (decision) => {
      const room = new TransactionHarness(`full-${decision}`, { store_queue_count_max: 4 });
      await room.start();
      let armed = true;
      room.onStep('c.decision.beforeLog', ({ host }) => {
        if (!armed || host !== 'n1') return;
        armed = false;
        room.cluster.crash('n1', 'dropAll', 'silent');
      });
      let decided = 0;
      room.world.trace.on('xa.branch.decided', () => (decided += 1));
      const operations = [put(room.key('n2'), 'after'), put(room.key('n3'), 'after')];
      const answer = room.ask('n1', 'POST', '/transactions', { operations, timeout_ms: 800 });
      await room.pass(1_500_000);
      const [{ transaction_id: xid = '' } = {}] = await openAt(room, 'n2');
      const path = `/transactions/${xid}/resolve`;
      const fill = (from: number): readonly Promise<unknown>[] =>
        Array.from({ length: 40 }, (_, at) =>
          room.send('n2', 'PUT', `/buckets/c/keys/u${from + at}?w=1`, 'x'.repeat(2000)),
        );
      const before = fill(0);
      const refused = room.ask('n2', 'POST', path, { heuristic: decision });
      const all = Promise.allSettled([...before, refused, ...fill(40)]);
      await room.world.runUntil(all, 30_000_000);
      expect((await refused)?.status).toBe(503);
      expect(decided).toBe(0);
      const [open] = await openAt(room, 'n2');
      expect(open).toMatchObject({ transaction_id: xid, state: 'prepared' });
      await room.pass(2_000_000);
      const resolved = await room.call('n2', 'POST', path, { heuristic: decision });
      expect(resolved).toMatchObject({ status: 200, body: { heuristic: decision } });
      expect(decided).toBe(1);
      // Its key is free again.
      const next = { operations: [put(room.key('n2'), 'next'), put(room.key('n2', 1), 'next')] };
      expect((await room.call('n2', 'POST', '/transactions', next))?.status).toBe(200);
      await room.world.runUntil(answer, 30_000_000);
    },
  );
});
