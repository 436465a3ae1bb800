/** Tests transactions with a node in STANDBY: it begins none, finishes its own, and remains the primary of its keys. */
import { expect, it } from 'vitest';

import { TransactionHarness, put } from '../../explore/transaction-harness.ts';

it('a node in STANDBY begins no transaction, and is the primary of its keys for those of others', async () => {
  const lab = new TransactionHarness('standby');
  await lab.start();
  expect((await lab.call('n1', 'POST', '/cluster/standby'))?.status).toBe(200);
  const operations = [put(lab.key('n1'), '1'), put(lab.key('n2'), '1')];
  const refused = await lab.call('n1', 'POST', '/transactions', { operations });
  expect(refused).toMatchObject({ status: 503, body: { code: 'Standby' } });
  const done = await lab.call('n3', 'POST', '/transactions', { operations });
  expect(done).toMatchObject({ status: 200, body: { outcome: 'committed' } });
  const voted = lab.steps.filter(({ name }) => name === 'xa.p.vote.sent').map(({ host }) => host);
  expect([...voted].sort()).toEqual(['n1', 'n2']);
  for (const key of [lab.key('n1'), lab.key('n2')]) {
    expect(await lab.read('n2', key)).toBe('1');
    // Only the primary can answer this.
    expect(await lab.read('n2', key, 'primary')).toBe('1');
  }
});

it('a transaction that the node coordinates when it goes into STANDBY ends as it would have', async () => {
  const lab = new TransactionHarness('standby amid');
  await lab.start();
  let going: ReturnType<TransactionHarness['ask']> | undefined;
  const amid = lab.onStep('c.decision.synced', ({ host }) => {
    expect(host).toBe('n1');
    going = lab.ask('n1', 'POST', '/cluster/standby');
  });
  const operations = [put(lab.key('n1'), '1'), put(lab.key('n3'), '1')];
  const done = await lab.call('n1', 'POST', '/transactions', { operations });
  amid.cancel();
  expect(done).toMatchObject({ status: 200, body: { outcome: 'committed' } });
  await lab.pass(1_000_000);
  expect((await going)?.status).toBe(200);
  expect(await lab.call('n1', 'GET', '/cluster')).toMatchObject({
    body: { members: [{ node: 'n1', state: 'STANDBY' }, {}, {}] },
  });
  for (const name of ['n1', 'n3'] as const) expect(await lab.read('n2', lab.key(name))).toBe('1');
});
