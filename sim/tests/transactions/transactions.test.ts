import { beforeEach, describe, expect, it } from 'vitest';

import { TransactionHarness, bucket, labNodes, put } from '../../explore/transaction-harness.ts';

describe('transactions', () => {
  let room: TransactionHarness;
  let keys: { readonly a: string; readonly b: string; readonly c: string };
  beforeEach(async () => {
    room = new TransactionHarness('transactions');
    await room.start();
    keys = { a: room.key('n1'), b: room.key('n2'), c: room.key('n3') };
  });

  const all = (value: string, more: object = {}): object => ({
    operations: [keys.a, keys.b, keys.c].map((key) => put(key, value)),
    ...more,
  });

  async function expectValues(value: string): Promise<void> {
    for (const key of Object.values(keys)) {
      for (const node of labNodes) expect(await room.read(node, key)).toBe(value);
    }
    expect(room.world.failures).toEqual([]);
  }

  it('over three primaries commit everywhere, and are known by their names on every node', async () => {
    const answer = await room.call('n1', 'POST', '/transactions', all('1'));
    expect(answer).toMatchObject({ status: 200, body: { outcome: 'committed', operations: 3 } });
    await expectValues('1');
    for (const node of labNodes) {
      const known = await room.call(node, 'GET', `/transactions/${String(answer?.body['transaction_id'])}`);
      expect(known).toMatchObject({ status: 200, body: { outcome: 'committed' } });
      const list = await room.call(node, 'GET', '/transactions?state=in_doubt');
      expect(list).toMatchObject({ status: 200, body: { transactions: [] } });
    }
  });

  it('leave no record behind once every branch has forgotten', async () => {
    await room.call('n1', 'POST', '/transactions', all('1'));
    await room.pass(500_000);
    const steps = room.steps.map(({ name }) => name);
    expect(steps).toContain('xa.c.forget');
    const list = await room.call('n2', 'GET', '/transactions?state=in_doubt');
    expect(list?.body).toEqual({ transactions: [] });
  });

  it('on one primary take no two-phase commit, from whichever node', async () => {
    for (const node of labNodes) {
      const operations = [put(room.key('n2', 0), node), put(room.key('n2', 1), node)];
      const answer = await room.call(node, 'POST', `/buckets/${bucket}/transactions`, { operations });
      expect(answer).toMatchObject({ status: 200, body: { branches: [{ node: 'n2', vote: 'commit' }] } });
      expect(await room.read('n3', room.key('n2', 1))).toBe(node);
    }
    expect(room.steps.map(({ name }) => name)).not.toContain('xa.c.prepare.sent');
  });

  it('on one primary are nowhere when it dies before they are durable there', async () => {
    const pair = [room.key('n2', 0), room.key('n2', 1)];
    const operations = (value: string, ...names: string[]): object => ({
      operations: names.map((key) => put(key, value)),
    });
    await room.call('n1', 'POST', '/transactions', operations('1', ...pair));
    const delay = { minUs: 20_000, meanUs: 1, tailOneIn: 1_000_000, tailUs: 1 };
    room.cluster.host('n2').disk.inject({ kind: 'slow-disk', operations: ['sync'], delay });
    const cut = room.ask('n1', 'POST', '/transactions', operations('2', ...pair));
    await room.pass(10_000);
    expect(room.steps.filter(({ name }) => name === 'xa.p.applied')).toHaveLength(2);
    for (const node of ['n1', 'n3'] as const) {
      for (const key of pair) expect(await room.read(node, key, 1)).toBe('1');
    }
    room.cluster.crash('n2', 'dropAll', 'silent');
    await room.pass(2_000_000);
    room.cluster.start('n2');
    await cut;
    await room.pass(2_000_000);
    for (const node of labNodes) {
      for (const key of pair) expect(await room.read(node, key)).toBe('1');
    }
  });

  it('of one put on condition are nowhere when the primary dies before it is durable there', async () => {
    const key = room.key('n2');
    await room.call('n2', 'POST', '/transactions', { operations: [put(key, '1')] });
    const response = room.send('n2', 'GET', `/buckets/${bucket}/keys/${key}?r=primary`);
    await room.world.runUntil(response, 20_000_000);
    const seen = (await response).headers['x-riak-vclock'];
    const delay = { minUs: 20_000, meanUs: 1, tailOneIn: 1_000_000, tailUs: 1 };
    room.cluster.host('n2').disk.inject({ kind: 'slow-disk', operations: ['sync'], delay });
    const swap = (value: string): object => ({ operations: [put(key, value, { if_match: seen })] });
    const cut = room.ask('n2', 'POST', '/transactions', swap('2'));
    await room.pass(10_000);
    expect(room.steps.filter(({ name }) => name === 'xa.p.applied')).toHaveLength(2);
    for (const node of ['n1', 'n3'] as const) expect(await room.read(node, key, 1)).toBe('1');
    room.cluster.crash('n2', 'dropAll', 'silent');
    await room.pass(2_000_000);
    room.cluster.start('n2');
    await room.world.runUntil(cut, 20_000_000);
    await room.pass(2_000_000);
    // The condition holds, and the transaction applies only what it allows.
    expect((await room.call('n2', 'POST', '/transactions', swap('3')))?.status).toBe(200);
    await room.pass(2_000_000);
    for (const node of labNodes) expect(await room.read(node, key)).toBe('3');
  });

  it('whose coordinator dies before its decision is durable are nowhere, its own part neither', async () => {
    const pair = [keys.a, keys.b];
    const operations = (value: string): object => ({ operations: pair.map((key) => put(key, value)) });
    await room.call('n1', 'POST', '/transactions', operations('1'));
    await room.pass(500_000);
    const delay = { minUs: 20_000, meanUs: 1, tailOneIn: 1_000_000, tailUs: 1 };
    room.cluster.host('n1').disk.inject({ kind: 'slow-disk', operations: ['sync'], delay });
    const cut = room.ask('n1', 'POST', '/transactions', operations('2'));
    await room.pass(10_000);
    const handed = room.steps.filter(({ name, host }) => name === 'xa.p.applied' && host === 'n1');
    expect(handed).toHaveLength(2);
    room.cluster.crash('n1', 'dropAll', 'silent');
    await room.pass(2_000_000);
    for (const node of ['n2', 'n3'] as const) expect(await room.read(node, keys.a, 1)).toBe('1');
    room.cluster.start('n1');
    await room.world.runUntil(cut, 20_000_000);
    await room.pass(3_000_000);
    for (const node of labNodes) for (const key of pair) expect(await room.read(node, key)).toBe('1');
  });

  it('that are told to abort roll every branch back', async () => {
    await room.call('n1', 'POST', '/transactions', all('1'));
    const answer = await room.call('n1', 'POST', '/transactions', all('2', { force_abort: true }));
    expect(answer).toMatchObject({ status: 200, body: { outcome: 'aborted', reason: 'force_abort' } });
    // The coordinator learns its own branch's vote at once; that vote becomes durable with the decision, which does not
    // exist here.
    const heard = room.steps.filter(({ name }) => name === 'xa.c.vote.recv').slice(3);
    expect(heard.map(({ fields }) => fields['vote'])).toEqual(['commit', 'commit', 'commit']);
    const given = room.steps.filter(({ name }) => name === 'xa.p.vote.sent').slice(3);
    expect(given.map(({ host }) => host).sort()).toEqual(['n2', 'n3']);
    await expectValues('1');
    const again = await room.call('n2', 'POST', '/transactions', all('3'));
    expect(again?.status).toBe(200);
    await expectValues('3');
  });

  it('that meet on a key abort one another at once, and never both commit halves', async () => {
    const first = room.ask('n1', 'POST', '/transactions', all('first'));
    const second = room.ask('n2', 'POST', '/transactions', all('second'));
    await room.world.runUntil(Promise.all([first, second]), 20_000_000);
    const answers = [await first, await second];
    const committed = answers.filter((answer) => answer?.status === 200);
    const aborted = answers.filter((answer) => answer?.body['reason'] === 'conflict');
    expect(committed.length + aborted.length).toBe(2);
    const values = new Set<string | undefined>();
    for (const key of Object.values(keys)) values.add(await room.read('n3', key));
    expect(values.size).toBe(1);
  });

  it('hold their preconditions: absent, unchanged', async () => {
    const fresh = all('1');
    const absent = { operations: [put(keys.a, 'x', { if_absent: true }), put(keys.b, 'x')] };
    expect((await room.call('n1', 'POST', '/transactions', absent))?.status).toBe(200);
    const refused = await room.call('n1', 'POST', '/transactions', absent);
    expect(refused).toMatchObject({ status: 409, body: { reason: 'precondition_failed' } });
    const response = room.send('n1', 'GET', `/buckets/${bucket}/keys/${keys.a}`);
    await room.world.runUntil(response, 20_000_000);
    const context = (await response).headers['x-riak-vclock'];
    const swap = { operations: [put(keys.a, 'y', { if_match: context }), put(keys.c, 'y')] };
    expect((await room.call('n2', 'POST', '/transactions', swap))?.status).toBe(200);
    expect(await room.call('n2', 'POST', '/transactions', swap)).toMatchObject({
      status: 409,
      body: { reason: 'precondition_failed' },
    });
    expect(await room.read('n1', keys.c)).toBe('y');
    expect((await room.call('n3', 'POST', '/transactions', fresh))?.status).toBe(200);
  });

  it('that delete nothing vote read-only and are left out of the rest', async () => {
    const operations = [put(keys.a, '1'), { op: 'delete', bucket, key: keys.b }];
    const answer = await room.call('n1', 'POST', '/transactions', { operations });
    expect(answer?.body['branches']).toEqual([
      { node: 'n1', vote: 'commit' },
      { node: 'n2', vote: 'read_only' },
    ]);
    const both = { operations: [keys.a, keys.b].map((key) => ({ op: 'delete', bucket, key })) };
    expect((await room.call('n3', 'POST', '/transactions', both))?.status).toBe(200);
    expect(await room.read('n2', keys.a)).toBe('');
  });

  it('with one id are carried out once, through whichever node they come', async () => {
    const id = { id: 'order-17' };
    const first = await room.call('n1', 'POST', '/transactions', all('1', id));
    await room.call('n1', 'POST', '/transactions', all('2'));
    for (const node of labNodes) {
      const again = await room.call(node, 'POST', '/transactions', all('1', id));
      expect(again?.body).toMatchObject({
        outcome: 'committed',
        transaction_id: first?.body['transaction_id'],
      });
    }
    await expectValues('2');
    const single = { operations: [put(keys.b, 's')], id: 'single' };
    const one = await room.call('n1', 'POST', '/transactions', single);
    const two = await room.call('n3', 'POST', '/transactions', single);
    expect(two?.body['transaction_id']).toBe(one?.body['transaction_id']);
  });

  it('with an id that was used for other operations are refused, also after a restart', async () => {
    const id = { id: 'order-17' };
    const first = await room.call('n1', 'POST', '/transactions', all('1', id));
    const refused = {
      status: 409,
      body: {
        outcome: 'aborted',
        reason: 'conflict',
        detail: expect.stringMatching(
          /was used before, for other operations, by the transaction n1-/,
        ) as string,
      },
    };
    expect(await room.call('n2', 'POST', '/transactions', all('2', id))).toMatchObject(refused);
    const part = { operations: [put(keys.c, '1')], ...id };
    expect(await room.call('n3', 'POST', '/transactions', part)).toMatchObject(refused);
    for (const node of labNodes) room.cluster.crash(node, 'dropAll', 'reset');
    for (const node of labNodes) room.cluster.start(node);
    await room.pass(3_000_000);
    expect(await room.call('n2', 'POST', '/transactions', all('2', id))).toMatchObject(refused);
    const again = await room.call('n2', 'POST', '/transactions', all('1', id));
    expect(again?.body['transaction_id']).toBe(first?.body['transaction_id']);
    await expectValues('1');
  });

  it('committed at DC_ONE are seen by reads of the primary at once, from whichever node', async () => {
    room.world.network.slow(['n1'], ['n2', 'n3'], { minUs: 30_000, meanUs: 1, tailOneIn: 1000, tailUs: 1 });
    for (const value of ['1', '2', '3']) {
      const answer = await room.call('n1', 'POST', '/transactions', all(value, { consistency: 'DC_ONE' }));
      expect(answer).toMatchObject({ status: 200, body: { outcome: 'committed' } });
      for (const node of labNodes) {
        for (const key of Object.values(keys)) expect(await room.read(node, key, 'primary')).toBe(value);
      }
    }
    room.cluster.crash('n2', 'dropAll', 'reset');
    await room.pass(3_000_000);
    expect(await room.read('n1', keys.b, 'primary')).toBe(undefined);
    expect(await room.read('n1', keys.b)).toBe('3');
  });

  it('without their primary are refused before anything happens', async () => {
    room.cluster.crash('n2', 'dropAll', 'reset');
    await room.pass(3_000_000);
    const answer = await room.call('n1', 'POST', '/transactions', all('1'));
    expect(answer).toMatchObject({ status: 409, body: { outcome: 'aborted', reason: 'no_targets' } });
    expect(await room.read('n1', keys.a)).toBe('');
  });

  it('whose coordinator does not return can be resolved by an operator, and the decision is on record', async () => {
    let crashed = false;
    room.onStep('c.decision.beforeLog', () => {
      if (crashed) return;
      crashed = true;
      room.cluster.crash('n1', 'dropAll', 'silent');
    });
    const lost = room.ask('n1', 'POST', '/transactions', all('1'));
    await room.pass(3_000_000);
    const list = await room.call('n2', 'GET', '/transactions?state=in_doubt');
    const [entry] = list?.body['transactions'] as { transaction_id: string; state: string }[];
    expect(entry).toMatchObject({ role: 'branch', state: 'prepared', coordinator: 'n1' });
    const path = `/transactions/${String(entry?.transaction_id)}`;
    expect(await room.call('n2', 'GET', path)).toMatchObject({ body: { outcome: 'in_doubt' } });
    for (const node of ['n2', 'n3'] as const) {
      const resolved = await room.call(node, 'POST', `${path}/resolve`, { heuristic: 'rollback' });
      expect(resolved).toMatchObject({ status: 200, body: { heuristic: 'rollback' } });
    }
    expect(await room.call('n2', 'GET', path)).toMatchObject({ body: { outcome: 'heuristic' } });
    expect((await room.call('n2', 'POST', `${path}/resolve`, {}))?.status).toBe(400);
    const again = { operations: [put(keys.b, '2'), put(keys.c, '2')] };
    expect((await room.call('n3', 'POST', '/transactions', again))?.status).toBe(200);
    room.cluster.start('n1');
    await room.pass(3_000_000);
    const left = await room.call('n2', 'GET', '/transactions?state=in_doubt');
    expect(left?.body['transactions']).toEqual([]);
    await room.world.runUntil(lost, 20_000_000);
    expect(await lost).toBe(undefined);
    expect(room.world.failures).toEqual([]);
  });

  it('refuse what makes no sense, naming the operation and the rule', async () => {
    const good = put('k', 'v');
    const cases: readonly [body: object, status: number, rule: string, operation?: number][] = [
      [{}, 400, 'operations'],
      [{ operations: [] }, 400, 'empty'],
      [{ operations: [good, good] }, 400, 'duplicate_key', 1],
      [{ operations: [good, { ...good, op: 'move' }] }, 400, 'op', 1],
      [{ operations: [{ ...good, value: '%', encoding: 'base64' }] }, 400, 'base64', 0],
      [{ operations: [{ ...good, context: 'AAAA' }] }, 400, 'context', 0],
      [{ operations: [{ ...good, color: 'red' }] }, 400, 'unknown_field', 0],
      [{ operations: [good], consistency: 'ALL' }, 400, 'consistency'],
      [{ operations: Array.from({ length: 1001 }, (_, key) => put(`k${key}`, '')) }, 413, 'operation_count'],
    ];
    for (const [body, status, rule, operation] of cases) {
      const answer = await room.call('n1', 'POST', '/transactions', body);
      expect(answer).toMatchObject({
        status,
        body: operation === undefined ? { rule } : { rule, operation },
      });
    }
    const elsewhere = { operations: [{ ...good, bucket: 'other' }] };
    const answer = await room.call('n1', 'POST', `/buckets/${bucket}/transactions`, elsewhere);
    expect(answer).toMatchObject({ status: 400, body: { rule: 'bucket', operation: 0 } });
    expect(room.steps).toEqual([]);
  });
});
