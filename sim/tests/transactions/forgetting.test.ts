/** Tests that a branch record is removed once no node needs it any more, whatever crash came between. */
import { describe, expect, it } from 'vitest';

import { branchesOn } from '../../observe/branches-left.ts';
import type { HarnessNode } from '../../explore/transaction-harness.ts';
import { TransactionHarness, labNodes, put } from '../../explore/transaction-harness.ts';

/** Several intervals of inquiry, and the time to notify and to write, in virtual microseconds. */
const soonUs = 3_000_000;

const delay = { minUs: 3_000_000, meanUs: 1, tailOneIn: 1_000_000, tailUs: 1 };
const slowSyncs = { kind: 'slow-disk', operations: ['sync'], delay } as const;

async function started(
  label: string,
  settings: Readonly<Record<string, unknown>> = {},
): Promise<TransactionHarness> {
  const room = new TransactionHarness(label, settings);
  await room.start();
  return room;
}

/** Commits the puts of the keys as one transaction; resolves with its id. */
async function commit(room: TransactionHarness, keys: readonly string[], more: object = {}): Promise<string> {
  const operations = keys.map((key) => put(key, '1'));
  const answer = await room.call('n1', 'POST', '/transactions', { operations, ...more });
  expect(answer?.body['outcome']).toBe('committed');
  return String(answer?.body['transaction_id']);
}

function statesOn(room: TransactionHarness, node: HarnessNode): readonly string[] {
  return branchesOn(room.cluster.host(node).disk.durableFiles()).map(({ state }) => state);
}

async function restart(room: TransactionHarness, node: HarnessNode): Promise<void> {
  room.cluster.crash(node, 'dropAll', 'reset');
  room.cluster.start(node);
  await room.world.runUntil(() => room.cluster.serves(node), 20_000_000);
}

async function outcomeOf(room: TransactionHarness, node: HarnessNode, xid: string): Promise<unknown> {
  return (await room.call(node, 'GET', `/transactions/${xid}`))?.body['outcome'];
}

const twoOf = (room: TransactionHarness, node: HarnessNode): readonly string[] => [
  room.key(node, 0),
  room.key(node, 1),
];
const oneOfEach = (room: TransactionHarness): readonly string[] => labNodes.map((node) => room.key(node));

describe('the record of a branch that was carried out', () => {
  it('goes although the coordinator of a batch with one primary has crashed', async () => {
    const room = await started('one primary');
    await commit(room, twoOf(room, 'n2'));
    expect(statesOn(room, 'n2')).toEqual(['applied']);
    await restart(room, 'n1');
    await room.pass(soonUs);
    expect(statesOn(room, 'n2')).toEqual([]);
    expect(await room.read('n3', room.key('n2', 1))).toBe('1');
  });

  it.each(labNodes)('goes whenever %s crashes between the commit and the end', async (victim) => {
    for (let afterUs = 0; afterUs <= 900_000; afterUs += 75_000) {
      const room = await started(`crash of ${victim} after ${afterUs}`);
      await commit(room, twoOf(room, 'n2'));
      await commit(room, oneOfEach(room));
      await room.pass(afterUs);
      await restart(room, victim);
      await room.pass(soonUs);
      expect([afterUs, ...labNodes.map((node) => statesOn(room, node))]).toEqual([afterUs, [], [], []]);
    }
  });

  it('goes without a crash, and the outcome is remembered', async () => {
    const room = await started('calm');
    const xid = await commit(room, oneOfEach(room));
    await room.pass(soonUs);
    expect(labNodes.map((node) => statesOn(room, node))).toEqual([[], [], []]);
    expect(await outcomeOf(room, 'n1', xid)).toBe('committed');
  });

  it('goes of a batch with a client’s id on its own node; the id is remembered', async () => {
    const room = await started('with an id');
    const xid = await commit(room, twoOf(room, 'n1'), { id: 'mine' });
    await room.pass(soonUs);
    expect(statesOn(room, 'n1')).toEqual([]);
    await restart(room, 'n1');
    expect(await commit(room, twoOf(room, 'n1'), { id: 'mine' })).toBe(xid);
  });

  it('stays while its coordinator is away, and while that one still asks what became of it', async () => {
    const room = await started('away');
    let armed = true;
    // The answer is lost: the coordinator is cut off, and inquires when it is back. The other node's start waits for it.
    room.onStep('p.applied.synced', ({ host }) => {
      if (host !== 'n2' || !armed) return;
      armed = false;
      const cut = room.world.network.partition(['n1'], ['n2', 'n3']);
      room.world.after(8_000_000, 'heal', () => cut.lift());
    });
    const operations = twoOf(room, 'n2').map((key) => put(key, '1'));
    const asked = await room.call('n1', 'POST', '/transactions', { operations, timeout_ms: 800 });
    expect(asked?.body['outcome']).toBe('in_doubt');
    await room.pass(2_000_000);
    await restart(room, 'n2');
    await room.pass(1_500_000);
    expect(statesOn(room, 'n2')).toEqual(['applied']);
    await room.pass(8_000_000);
    expect(statesOn(room, 'n2')).toEqual([]);
    expect(await outcomeOf(room, 'n1', String(asked?.body['transaction_id']))).toBe('committed');
  });

  it('stays while its answer to the coordinator is not there, and may be lost', async () => {
    const room = await started('late answer', { transaction_inquiry_ms: 50 });
    let armed = true;
    // No other replica has it in time: the node learns so only at the end of its patience, and dies before.
    const cut = room.world.network.partition(['n3'], ['n1', 'n2']);
    room.cluster.host('n1').disk.inject(slowSyncs);
    room.onStep('p.applied.synced', ({ host }) => {
      if (host !== 'n2' || !armed) return;
      armed = false;
      room.world.after(800_000, 'crash', () => room.cluster.crash('n2', 'dropAll', 'reset'));
      room.world.after(1_000_000, 'restart', () => room.cluster.start('n2'));
    });
    const operations = twoOf(room, 'n2').map((key) => put(key, '1'));
    const asked = room.ask('n1', 'POST', '/transactions', { operations, timeout_ms: 9000 });
    await room.pass(4_000_000);
    cut.lift();
    expect((await asked)?.body['outcome']).toBe('committed');
    await room.pass(soonUs);
    expect(statesOn(room, 'n2')).toEqual([]);
  });

  it('stays while the end is not durable at the coordinator', async () => {
    const room = await started('late end');
    const lost: string[] = [];
    room.world.trace.on('xa.branch.lost', ({ host }) => void lost.push(host));
    let acknowledgements = 0;
    let slow: { lift(): void } | undefined;
    room.onStep('c.ack.recv', ({ host }) => {
      acknowledgements += 1;
      if (host !== 'n1' || acknowledgements !== 3) return;
      slow = room.cluster.host('n1').disk.inject(slowSyncs);
    });
    await commit(room, oneOfEach(room));
    await room.pass(2_500_000);
    expect([acknowledgements, statesOn(room, 'n2')]).toEqual([3, ['applied']]);
    slow?.lift();
    await restart(room, 'n1');
    await room.pass(soonUs);
    expect(lost).toEqual([]);
    expect(labNodes.map((node) => statesOn(room, node))).toEqual([[], [], []]);
  });

  it('stays while another branch has not acknowledged', async () => {
    const room = await started('slow other');
    let armed = true;
    room.onStep('p.decision.recv', ({ host }) => {
      if (host !== 'n3' || !armed) return;
      armed = false;
      room.cluster.crash('n3', 'dropAll', 'reset');
      room.world.after(6_000_000, 'restart', () => room.cluster.start('n3'));
    });
    await commit(room, oneOfEach(room));
    await room.pass(4_000_000);
    expect(statesOn(room, 'n2')).toEqual(['applied']);
    await room.pass(8_000_000);
    expect(labNodes.map((node) => statesOn(room, node))).toEqual([[], [], []]);
    expect(await room.read('n1', room.key('n3'))).toBe('1');
  });
});
