/** Tests a node that leaves while transactions that it coordinates are not finished. */
import { describe, expect, it } from 'vitest';

import { present } from '../../../engine/base/assert.ts';
import { TransactionHarness, put } from '../../explore/transaction-harness.ts';

const second = 1_000_000;

/**
 * A cluster with a fourth node that has joined, and leaves right after it has decided a transaction whose outcome n2
 * never received.
 */
class Departure {
  readonly room: TransactionHarness;
  /** Errors and warnings of n4, and its departure, with their times. */
  readonly told: { readonly name: string; readonly atUs: number }[] = [];

  constructor(seed: string, settings: Readonly<Record<string, unknown>> = {}) {
    this.room = new TransactionHarness(seed, { gossip_interval_ms: 200, ...settings });
    for (const name of ['membership.left', 'transfer.drain.abandoned']) {
      this.room.world.trace.on(name, ({ atUs }) => void this.told.push({ name, atUs }));
    }
  }

  async begin(): Promise<void> {
    const { room } = this;
    await room.start();
    room.cluster.add({ name: 'n4', datacenter: 'dc1', rack: 'r1' }, { join: 'joining' });
    room.cluster.start('n4');
    await room.world.runUntil(() => room.cluster.serves('n4'), 10 * second);
    await room.pass(10 * second);
    const subscription = room.onStep('c.decision.synced', ({ host }) => {
      expect(host).toBe('n4');
      room.cluster.crash('n2', 'keepAll', 'silent');
    });
    const operations = [put(room.key('n2'), '1'), put(room.key('n3'), '1')];
    const cut = room.ask('n4', 'POST', '/transactions', { operations });
    await room.pass(3 * second);
    await cut;
    subscription.cancel();
    expect((await room.call('n4', 'POST', '/cluster/leave'))?.status).toBe(202);
  }

  names(): readonly string[] {
    return this.told.map(({ name }) => name);
  }
}

describe('a node that leaves', () => {
  it('stays until the branches of what it has decided have heard of it, and says what it waits for', async () => {
    const departure = new Departure('leaving');
    await departure.begin();
    const { room } = departure;
    await room.pass(30 * second);
    expect(departure.names()).toEqual([]);
    const view = (await room.call('n4', 'GET', '/cluster'))?.body;
    expect(view?.['transfer']).toMatchObject({ waits_for: { members: ['n2'], transactions: 1 } });
    const more = await room.call('n4', 'POST', '/transactions', { operations: [put(room.key('n3'), '2')] });
    expect(more?.body).toMatchObject({ code: 'ShuttingDown' });
    room.cluster.start('n2');
    await room.pass(30 * second);
    expect(departure.names()).toEqual(['membership.left']);
    for (const name of ['n2', 'n3'] as const) expect(await room.read('n1', room.key(name))).toBe('1');
    expect((await room.call('n2', 'GET', '/transactions?state=in_doubt'))?.body).toMatchObject({
      transactions: [],
    });
    expect(room.world.failures).toEqual([]);
  });

  it('goes when its patience is over, and says what it leaves behind', async () => {
    const departure = new Departure('impatient', { leave_patience_seconds: 20 });
    await departure.begin();
    await departure.room.pass(15 * second);
    expect(departure.names()).toEqual([]);
    await departure.room.pass(30 * second);
    expect(departure.names()).toEqual(['transfer.drain.abandoned', 'membership.left']);
    expect(present(departure.told[1], 'the leave').atUs).toBeGreaterThan(0);
    expect(departure.room.world.failures).toEqual([]);
  });
});
