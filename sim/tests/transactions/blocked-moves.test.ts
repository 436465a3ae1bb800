/**
 * Tests that a join waits in the step before its last one while the vote of a branch on a key that it takes over waits for
 * a coordinator that is away: in its last step it would keep that coordinator from being replaced.
 */
import { expect, it } from 'vitest';

import { put, TransactionHarness } from '../../explore/transaction-harness.ts';

const second = 1_000_000;

it('a join lets the replacement of a dead coordinator go first, although it has begun to copy', async () => {
  const room = new TransactionHarness('blocked', { phi_threshold_milli: 3_000, gossip_interval_ms: 200 });
  await room.start();
  room.cluster.add({ name: 'n4', datacenter: 'dc1', rack: 'r2' }, { join: 'joining', replace: 'n2' });
  room.cluster.add({ name: 'n5', datacenter: 'dc1', rack: 'r1' }, { join: 'joining' });
  const moves: string[] = [];
  room.world.trace.on('membership.move.declared', ({ host, fields }) => {
    moves.push(`${host} ${String(fields['state'])} ${String(fields['move'])}`);
  });
  room.onStep('c.decision.beforeLog', ({ host }) => {
    if (host === 'n2') room.cluster.lose('n2');
  });
  const keys = [room.keyTakenBy('n5'), room.key('n3')];
  const operations = keys.map((key) => put(key, 'decided'));
  const answer = room.ask('n2', 'POST', '/transactions', { operations });
  await room.pass(10 * second);
  room.cluster.start('n5');
  await room.pass(10 * second);
  expect(moves).toEqual(['n5 JOINING copying']);
  room.cluster.start('n4');
  await room.pass(30 * second);
  // n1 and n3 know no decision, and ask an operator; until then n5 waits in its last step.
  const list = await room.call('n1', 'GET', '/transactions?state=in_doubt');
  const [open] = list?.body['transactions'] as readonly Readonly<Record<string, unknown>>[];
  for (const node of ['n1', 'n3']) {
    const path = `/transactions/${String(open?.['transaction_id'])}/resolve`;
    expect((await room.call(node, 'POST', path, { heuristic: 'rollback' }))?.status).toBe(200);
  }
  await room.pass(10 * second);
  expect(moves.filter((one) => !one.includes('queued'))).toEqual([
    'n5 JOINING copying',
    'n4 JOINING copying',
    'n4 NORMAL switching',
    'n4 NORMAL none',
    'n5 JOINING copying',
    'n5 NORMAL switching',
    'n5 NORMAL none',
  ]);
  await room.world.runUntil(answer, 30 * second);
  expect(room.world.failures).toEqual([]);
});
