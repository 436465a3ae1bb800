/** A node whose store takes no writes coordinates nothing: it could never say how that ended. */
import { beforeEach, describe, expect, it } from 'vitest';

import { Deferred } from '../../engine/base/deferred.ts';
import type { LabAnswer, LabNode } from './lab.ts';
import { Lab, labNodes, put } from './lab.ts';

const second = 1_000_000;

let room: Lab;
beforeEach(async () => {
  room = new Lab('full disk');
  await room.start();
});

const batch = (through: LabNode, value: string, more: object = {}): Promise<LabAnswer | undefined> =>
  room.call(through, 'POST', '/transactions', {
    operations: [put(room.key('n2'), value), put(room.key('n3'), value)],
    timeout_ms: 800,
    ...more,
  });

/** n1's disk is full, and its store finds that out by a value that does not fit. */
function fillFirst(): Promise<unknown> {
  leaveRoom(0);
  return room.send('n1', 'PUT', `/buckets/b/keys/${room.key('n1')}`, 'x'.repeat(3 << 20));
}

async function full(): Promise<void> {
  await settled(fillFirst());
  const cluster = await room.call('n1', 'GET', '/cluster');
  expect(cluster?.body['store']).toBe('failed');
}

async function settled(answer: Promise<unknown>): Promise<void> {
  await room.world.runUntil(answer, 20 * second);
}

function leaveRoom(bytes: number): void {
  const { disk } = room.cluster.host('n1');
  disk.setCapacity(disk.usedBytes + bytes);
}

const giveRoom = (): void => room.cluster.host('n1').disk.setCapacity(undefined);

async function inDoubt(): Promise<readonly unknown[]> {
  const lists = [];
  for (const node of labNodes) lists.push(await room.call(node, 'GET', '/transactions?state=in_doubt'));
  return lists.flatMap((list) => list?.body['transactions'] as readonly unknown[]);
}

describe('a node whose disk is full', () => {
  it('refuses to coordinate at once, and no branch is asked to wait for it', async () => {
    await full();
    const beganUs = room.world.nowUs;
    const answer = await batch('n1', 'refused');
    expect(room.world.nowUs - beganUs).toBeLessThan(100_000);
    expect(answer).toMatchObject({ status: 409, body: { outcome: 'aborted', reason: 'no_targets' } });
    expect(answer?.body['detail']).toContain('n1');
    expect(await inDoubt()).toEqual([]);
    expect(await batch('n2', 'through another')).toMatchObject({ body: { outcome: 'committed' } });
  });

  it('is asked for nothing that it could not say the end of', async () => {
    await full();
    const kinds = [[put(room.key('n1'), 'one')], [0, 1].map((index) => put(room.key('n1', index), 'two'))];
    kinds.push([put(room.key('n1'), 'three'), put(room.key('n2'), 'three')]);
    for (const through of labNodes) {
      for (const operations of kinds) {
        const answer = await room.call(through, 'POST', '/transactions', { operations, timeout_ms: 800 });
        expect(answer, `${through} ${operations.length}`).toMatchObject({
          status: 409,
          body: { outcome: 'aborted', reason: 'no_targets' },
        });
      }
    }
    expect(await inDoubt()).toEqual([]);
  });

  it('still prepares what is to be aborted anyway', async () => {
    await full();
    const answer = await batch('n1', 'never', { force_abort: true });
    expect(answer).toMatchObject({ status: 200, body: { outcome: 'aborted', reason: 'force_abort' } });
    expect(await inDoubt()).toEqual([]);
  });

  it('aborts what it has prepared when its store gives up before the decision', async () => {
    const filling = new Deferred<unknown>();
    const listening = room.onStep('c.prepare.sent', () => {
      listening.cancel();
      room.cluster.host('n3').pause();
      room.world.after(200_000, 'resume', () => room.cluster.host('n3').resume());
      filling.resolve(fillFirst());
    });
    expect(await batch('n1', 'overtaken')).toMatchObject({
      status: 409,
      body: { outcome: 'aborted', reason: 'prepare_failed' },
    });
    await settled(filling.promise);
    await room.pass(second);
    expect(await inDoubt()).toEqual([]);
    giveRoom();
    await room.pass(10 * second);
    expect(await inDoubt()).toEqual([]);
    expect(await batch('n1', 'with room')).toMatchObject({ body: { outcome: 'committed' } });
  });

  // Between a start that is refused and one that has room for all there are some that find out as they begin to write.
  it('that starts on it leaves nothing in doubt, however little room it has', async () => {
    const outcomes = new Map<string, number>();
    for (let bytes = 0; bytes <= 8_000; bytes += 200) {
      room = new Lab(`start ${bytes}`);
      await room.start();
      await full();
      room.cluster.crash('n1', 'keepAll', 'silent');
      leaveRoom(bytes);
      room.cluster.start('n1');
      await room.pass(second);
      const answer = room.cluster.serves('n1') ? await batch('n1', 'starting') : undefined;
      const outcome = String(answer?.body['reason'] ?? answer?.body['outcome']);
      outcomes.set(outcome, 1 + (outcomes.get(outcome) ?? 0));
      giveRoom();
      if (answer === undefined) room.cluster.start('n1');
      await room.pass(10 * second);
      expect(await inDoubt(), `${bytes}`).toEqual([]);
      expect(await batch('n1', 'with room')).toMatchObject({ body: { outcome: 'committed' } });
      expect(room.world.failures).toEqual([]);
    }
    expect([...outcomes.keys()].sort()).toEqual(['committed', 'no_targets', 'undefined']);
  }, 60_000);
});
