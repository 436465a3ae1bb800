/** Tests transactions on keys whose primary changes meanwhile: a joining node takes keys over from another one. */
import { beforeEach, describe, expect, it } from 'vitest';

import { present } from '../../../engine/base/assert.ts';
import type { NodeId } from '../../../engine/base/ids.ts';
import { tokensOfNode } from '../../../engine/cluster/ring/token.ts';
import { requestKinds } from '../../../engine/peer/wire/kinds.ts';
import type { Lasting } from '../../world/world.ts';
import type { HarnessAnswer } from '../../explore/transaction-harness.ts';
import { TransactionHarness, put } from '../../explore/transaction-harness.ts';

const second = 1_000_000;

describe('a key that gets another primary', () => {
  let room: TransactionHarness;
  /** A key whose primary is n1, and n4 once that has joined. */
  let moving: string;

  beforeEach(async () => {
    // Only the ring change itself brings a node what it lacks.
    room = new TransactionHarness('moving', {
      hinted_handoff: false,
      aae_enabled: false,
      phi_threshold_milli: 3_000,
      gossip_interval_ms: 200,
    });
    await room.start();
    moving = room.keyTakenBy('n4');
  });

  async function joinN4(): Promise<void> {
    room.cluster.add({ name: 'n4', datacenter: 'dc1', rack: 'r1' }, { join: 'joining' });
    room.cluster.start('n4');
    await room.world.runUntil(() => room.cluster.serves('n4'), 10 * second);
  }

  async function moveOf(name: string): Promise<unknown> {
    const view = await room.call(name, 'GET', '/cluster');
    const members = view?.body['members'] as readonly { readonly node: string; readonly move: string }[];
    return members.find(({ node }) => node === name)?.move;
  }

  const moveOfN4 = (): Promise<unknown> => moveOf('n4');

  /** n1 dies when n3 has received its vote and decides: n1's part is only on n1's disk. */
  async function votesAndDies(die: () => void): Promise<void> {
    const subscription = room.onStep('c.vote.recv', ({ host, fields }) => {
      if (host === 'n3' && fields['from'] === 'n1') die();
    });
    const operations = [put(moving, 'decided'), put(room.key('n2'), 'decided')];
    const answer = await room.call('n3', 'POST', '/transactions', { operations });
    expect(answer?.body).toMatchObject({ outcome: 'committed' });
    subscription.cancel();
    await room.pass(5 * second);
  }

  function write(value: string, key = moving): Promise<HarnessAnswer | undefined> {
    return room.call('n4', 'POST', '/transactions', { operations: [put(key, value)] });
  }

  it('stays with the one that it has while a transaction holds it there, and moves then', async () => {
    // Both branches have voted when their coordinator dies: they wait for it.
    const votes: string[] = [];
    const subscription = room.onStep('p.vote.sent', ({ host }) => {
      votes.push(host);
      if (votes.length === 2) room.cluster.crash('n3', 'keepAll', 'silent');
    });
    const operations = [put(moving, '1'), put(room.key('n2'), '1')];
    const cut = room.ask('n3', 'POST', '/transactions', { operations });
    await room.pass(100_000);
    expect(votes).toHaveLength(2);
    subscription.cancel();
    const warned: unknown[] = [];
    room.world.trace.on('membership.ring.held', ({ host, fields }) => {
      if (host === 'n1' && fields['transactions'] !== undefined) warned.push(fields['transactions']);
    });
    await joinN4();
    await room.pass(40 * second);
    // In its last step it would keep the coordinator from being replaced.
    expect(await moveOfN4()).toBe('copying');
    // The waiting node names the node that it waits for, and that node names the reason.
    const joining = await room.call('n4', 'GET', '/cluster');
    const holding = await room.call('n1', 'GET', '/cluster');
    expect(joining?.body['transfer']).toMatchObject({
      waits_for: { members: expect.arrayContaining(['n1']) },
    });
    expect(holding?.body['held']).toMatchObject({ transactions: [expect.stringMatching(/^n3/)] });
    expect(warned.length).toBeGreaterThan(0);
    expect((await write('2'))?.body).toMatchObject({ outcome: 'aborted' });
    room.cluster.start('n3');
    await room.pass(5 * second);
    await cut;
    expect(await moveOfN4()).toBe('none');
    const after = await room.call('n1', 'GET', '/cluster');
    expect(after?.body['held']).toEqual({ seconds: 0, transactions: [] });
    expect((await write('3'))?.body).toMatchObject({ outcome: 'committed', branches: [{ node: 'n4' }] });
    expect(await room.read('n2', moving, 'primary')).toBe('3');
    expect(room.world.failures).toEqual([]);
  });

  it('is locked by the new primary only once the old one knows that it is primary no longer', async () => {
    let cut: Lasting | undefined;
    room.world.trace.on('membership.move.declared', ({ host, fields }) => {
      if (host !== 'n4' || fields['move'] !== 'switching') return;
      // n1 does not learn of it.
      cut ??= room.world.network.partition(['n1'], ['n2', 'n3', 'n4']);
    });
    await joinN4();
    await room.world.runUntil(() => cut !== undefined, 20 * second);
    await room.pass(500_000);
    const early = await write('1');
    expect(early?.body).toMatchObject({ outcome: 'aborted', reason: 'no_targets' });
    expect(String(early?.body['detail'])).toContain('changing hands');
    present(cut, 'the cut').lift();
    await room.pass(5 * second);
    expect((await write('2'))?.body).toMatchObject({ outcome: 'committed', branches: [{ node: 'n4' }] });
    expect(room.world.failures).toEqual([]);
  });

  it('has no primary while the old one is away with a vote on it, and the new one after that', async () => {
    await votesAndDies(() => room.cluster.crash('n1', 'dropAll', 'silent'));
    await joinN4();
    await room.pass(30 * second);
    expect(await moveOfN4()).toBe('switching');
    const joining = await room.call('n4', 'GET', '/cluster');
    expect(joining?.body['transfer']).toMatchObject({ waits_for: { members: ['n1'] } });
    expect((await write('early'))?.body).toMatchObject({ outcome: 'aborted', reason: 'no_targets' });
    room.cluster.start('n1');
    await room.pass(10 * second);
    expect(await moveOfN4()).toBe('none');
    expect(await room.read('n2', moving, 'primary')).toBe('decided');
    expect((await write('next'))?.body).toMatchObject({ outcome: 'committed', branches: [{ node: 'n4' }] });
    expect(await room.read('n2', moving, 'primary')).toBe('next');
    expect(room.world.failures).toEqual([]);
  });

  it('is handed over by the replacement of the last one, when that one has died with a vote on it', async () => {
    await votesAndDies(() => room.cluster.lose('n1'));
    await joinN4();
    await room.pass(20 * second);
    expect(await moveOfN4()).toBe('switching');
    const n5 = { name: 'n5', datacenter: 'dc1', rack: 'r1', replaces: 'n1' };
    const tokens = tokensOfNode('n1' as NodeId, 16);
    room.cluster.add(n5, { join: 'joining', replace: 'n1', tokens });
    room.cluster.start('n5');
    await room.world.runUntil(() => room.cluster.serves('n5'), 10 * second);
    await room.pass(30 * second);
    expect(await moveOfN4()).toBe('none');
    expect(await moveOf('n5')).toBe('none');
    expect(await room.read('n2', moving, 'primary')).toBe('decided');
    for (const node of ['n2', 'n3', 'n4', 'n5'])
      expect((await room.call(node, 'GET', '/transactions?state=in_doubt'))?.body).toMatchObject({
        transactions: [],
      });
    expect((await write('next'))?.body).toMatchObject({ outcome: 'committed', branches: [{ node: 'n4' }] });
    expect(await room.read('n2', moving, 'primary')).toBe('next');
    expect(room.world.failures).toEqual([]);
  });

  it.each(['refused', 'lost'] as const)(
    'is led by the next one with what the last one wrote, though that was %s',
    async (how) => {
      const losing = (frames: readonly number[]): Lasting => room.losing('n1', ['n2', 'n3', 'n4'], frames);
      let gossip: Lasting | undefined;
      let first: Promise<HarnessAnswer | undefined> | undefined;
      room.world.trace.on('membership.move.declared', ({ host, fields }) => {
        if (host !== 'n4' || fields['move'] !== 'switching') return;
        // n1 does not learn of it, and writes by the old ring: the others refuse those writes after a second, or never
        // receive them.
        gossip = losing([requestKinds.gossip]);
        if (how === 'lost') losing([requestKinds.mergeObject, requestKinds.mergeBatch]);
        const operations = [put(moving, 'written')];
        first = room.ask('n1', 'POST', '/transactions', { operations, consistency: 'DC_ONE' });
      });
      await joinN4();
      await room.world.runUntil(() => gossip !== undefined, 20 * second);
      await room.pass(how === 'refused' ? 1_300_000 : 200_000);
      gossip?.lift();
      await room.world.runUntil(() => false, 4 * second);
      expect((await first)?.body).toMatchObject({ outcome: 'committed', branches: [{ node: 'n1' }] });
      expect(await room.read('n4', moving, 'primary')).toBe('written');
      const next = { operations: [put(moving, 'next', { if_absent: true })] };
      expect((await room.call('n3', 'POST', '/transactions', next))?.body).toMatchObject({
        outcome: 'aborted',
        reason: 'precondition_failed',
      });
      expect(room.world.failures).toEqual([]);
    },
  );
});
