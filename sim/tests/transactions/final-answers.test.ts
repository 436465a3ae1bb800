/**
 * Tests that a definite answer under an idempotency key is final. After `aborted` nothing under the key becomes
 * visible, whichever attempt is still on its way or on a disk; what cannot be fenced in time is in doubt.
 */
import { describe, expect, it } from 'vitest';

import { constantLatency } from '../../world/core/latency.ts';
import type { HarnessAnswer, HarnessNode } from '../../explore/transaction-harness.ts';
import { TransactionHarness, labNodes, put } from '../../explore/transaction-harness.ts';

const second = 1_000_000;
/** Only the transactions themselves move data. */
const alone = { hinted_handoff: false, aae_enabled: false };

async function started(seed: string, settings: object = {}): Promise<TransactionHarness> {
  const room = new TransactionHarness(seed, { ...alone, ...settings });
  await room.start();
  return room;
}

function asking(
  room: TransactionHarness,
  operations: readonly object[],
): (node: string) => Promise<HarnessAnswer | undefined> {
  return (node) => room.ask(node, 'POST', '/transactions', { id: 'X', operations });
}

async function answered(
  room: TransactionHarness,
  answer: Promise<HarnessAnswer | undefined>,
): Promise<Readonly<Record<string, unknown>> | undefined> {
  await room.world.runUntil(answer, 20 * second);
  return (await answer)?.body;
}

/** Asks every node until none is in doubt any more; resolves with the outcome, on which all agree. */
async function settled(
  room: TransactionHarness,
  ask: (node: string) => Promise<HarnessAnswer | undefined>,
): Promise<string> {
  const outcomes = new Set<string>();
  for (const node of labNodes) {
    let outcome = 'in_doubt';
    for (let left = 20; outcome === 'in_doubt' && left > 0; left--) {
      await room.pass(500_000);
      outcome = String((await answered(room, ask(node)))?.['outcome']);
    }
    outcomes.add(outcome);
  }
  return [...outcomes].join(' ');
}

describe('an answer under an id (way i: its coordinator dies)', () => {
  for (const step of [
    'c.vote.recv',
    'c.decision.beforeLog',
    'c.decision.written',
    'c.decision.synced',
    'c.ack.recv',
  ]) {
    it(`is not "aborted" through another node when the first attempt may commit: killed at ${step}`, async () => {
      const room = await started(`way i ${step}`);
      const operations = [put(room.key('n3'), 'X'), put(room.key('n2'), 'X')];
      const ask = asking(room, operations);
      const killed = room.onStep(step, ({ host }) => {
        if (host !== 'n3') return;
        killed.cancel();
        room.cluster.crash('n3', 'keepAll', 'silent');
      });
      expect(await answered(room, ask('n3'))).toBeUndefined();
      const heard: unknown[] = [];
      for (const node of ['n1', 'n2', 'n1']) heard.push((await answered(room, ask(node)))?.['outcome']);
      room.cluster.start('n3');
      await room.world.runUntil(() => room.cluster.serves('n3'), 20 * second);
      const last = await settled(room, ask);
      expect(['committed', 'aborted']).toContain(last);
      for (const one of heard) expect(['in_doubt', last]).toContain(one);
      const value = last === 'committed' ? 'X' : '';
      for (const key of [room.key('n3'), room.key('n2')]) {
        for (const node of labNodes) expect(await room.read(node, key, 'primary')).toBe(value);
      }
      expect(room.world.failures).toEqual([]);
    });
  }

  it('is not "aborted" when its only primary alone has the batch, on its disk', async () => {
    const room = await started('way i alone');
    const key = room.key('n3');
    const ask = asking(room, [put(key, 'X')]);
    const killed = room.onStep('p.applied.synced', ({ host }) => {
      killed.cancel();
      room.cluster.crash(host, 'keepAll', 'silent');
    });
    expect(await answered(room, ask('n3'))).toBeUndefined();
    for (const node of ['n1', 'n2'])
      expect((await answered(room, ask(node)))?.['outcome'], node).toBe('in_doubt');
    room.cluster.start('n3');
    await room.world.runUntil(() => room.cluster.serves('n3'), 20 * second);
    expect(await settled(room, ask)).toBe('committed');
    expect(await room.read('n1', key, 'primary')).toBe('X');
  });

  it('is not "aborted" either when the owners that its primary had asked have been restarted since', async () => {
    const room = await started('way i restarted');
    const key = room.key('n3');
    const ask = asking(room, [put(key, 'X')]);
    const killed = room.onStep('p.applied.synced', ({ host }) => {
      killed.cancel();
      room.cluster.crash(host, 'keepAll', 'silent');
    });
    expect(await answered(room, ask('n3'))).toBeUndefined();
    for (const node of ['n1', 'n2'] as const) {
      room.cluster.crash(node, 'keepAll', 'silent');
      room.cluster.start(node);
    }
    await room.pass(10 * second);
    for (const node of ['n1', 'n2'])
      expect((await answered(room, ask(node)))?.['outcome'], node).toBe('in_doubt');
    room.cluster.start('n3');
    await room.world.runUntil(() => room.cluster.serves('n3'), 20 * second);
    expect(await settled(room, ask)).toBe('committed');
  });

  it('is "aborted" at once where its primary is down and nothing was claimed', async () => {
    const room = await started('way i unused');
    room.cluster.crash('n3', 'keepAll', 'silent');
    await room.pass(10 * second);
    const ask = asking(room, [put(room.key('n3'), 'X'), put(room.key('n2'), 'X')]);
    expect((await answered(room, ask('n1')))?.['outcome']).toBe('aborted');
    room.cluster.start('n3');
    await room.world.runUntil(() => room.cluster.serves('n3'), 20 * second);
    expect(await settled(room, ask)).toBe('aborted');
  });
});

describe('an answer under an id (way ii: an order is on its way)', () => {
  it('"aborted" stands, though the first order arrives long after it', async () => {
    // Branches wait for a while before they inquire for their outcome.
    const room = await started('way ii', { transaction_inquiry_ms: 1500 });
    const key = room.key('n2');
    const ask = asking(room, [put(key, 'X')]);
    const slow = room.world.network.slow(['n1'], ['n2'], constantLatency(5_000_000));
    const first = ask('n1');
    await room.pass(50_000);
    slow.lift();
    // Another transaction holds the key: its coordinator dies between its votes and its decision.
    let isHeld = false;
    const holding = room.onStep('c.decision.beforeLog', ({ host }) => {
      holding.cancel();
      room.cluster.crash(host, 'keepAll', 'silent');
      isHeld = true;
    });
    const held = room.ask('n3', 'POST', '/transactions', {
      operations: [put(key, 'held'), put(room.key('n3'), 'held')],
    });
    await room.world.runUntil(() => isHeld, 20 * second);
    room.cluster.start('n3');
    await room.world.runUntil(() => room.cluster.serves('n3'), 20 * second);
    const again = await answered(room, ask('n3'));
    expect(again).toMatchObject({ outcome: 'aborted', reason: 'conflict' });
    await room.pass(3.5 * second);
    const later = await room.call('n3', 'POST', '/transactions', { operations: [put(key, 'later')] });
    expect(later?.body).toMatchObject({ outcome: 'committed' });
    const refused: unknown[] = [];
    room.world.trace.on('xa.branch.refused', ({ fields }) => refused.push(fields['xid']));
    await room.pass(5 * second);
    expect(await answered(room, held)).toBeUndefined();
    expect(refused).toHaveLength(1);
    expect((await answered(room, first))?.['outcome']).not.toBe('committed');
    expect(await settled(room, ask)).toBe('aborted');
    for (const node of labNodes) expect(await room.read(node, key, 'primary')).toBe('later');
  });

  it('a fence outlives the restart of every node that has it', async () => {
    const room = await started('fence restarts');
    const key = room.key('n2');
    const ask = asking(room, [put(key, 'X', { if_absent: true })]);
    await room.call('n1', 'POST', '/transactions', { operations: [put(key, 'there')] });
    expect(await answered(room, ask('n1'))).toMatchObject({ outcome: 'aborted' });
    await room.call('n1', 'POST', '/transactions', { operations: [{ op: 'delete', bucket: 'b', key }] });
    for (const node of labNodes) room.cluster.crash(node, 'dropAll', 'silent');
    for (const node of labNodes) room.cluster.start(node);
    await room.world.runUntil(
      () => labNodes.every((node: HarnessNode) => room.cluster.serves(node)),
      20 * second,
    );
    await room.pass(second);
    expect(await settled(room, ask)).toBe('aborted');
    expect(await room.read('n1', key, 'primary')).toBe('');
  });
});
