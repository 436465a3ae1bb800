/** Tests a leaving node that loses its power at its last step: the others learn that it has left, and it stops. */
import { describe, expect, test } from 'vitest';

import { MemberHarness, second } from './member-harness.ts';

async function roomOf(seed: string): Promise<MemberHarness> {
  const room = new MemberHarness(seed, 6, { gossip_interval_ms: 200 }, 3);
  await room.startAll();
  for (let key = 0; key < 12; key++)
    expect((await room.ask('n1', 'PUT', `/buckets/b/keys/k${key}`, 'v')).status).toBe(204);
  return room;
}

/**
 * The node loses its power each time it logs `event`, for a second each, three times at most. Returns the count so far.
 */
function losesPowerAt(room: MemberHarness, name: string, event: string): () => number {
  let losses = 0;
  room.world.trace.on(event, ({ host }) => {
    if (host !== name || losses === 3) return;
    losses += 1;
    room.world.after(0, 'power', () => {
      room.cluster.crash(name, 'dropAll', 'silent');
      room.world.after(second, 'power', () => room.cluster.start(name));
    });
  });
  return () => losses;
}

async function membersAt(room: MemberHarness, by: string): Promise<readonly string[]> {
  const { body } = await room.ask(by, 'GET', '/cluster');
  const { members } = JSON.parse(body.toString()) as { members: { node: string; move: string }[] };
  return members.map(({ node, move }) => `${node} ${move}`).toSorted();
}

async function expectGone(room: MemberHarness): Promise<void> {
  expect(await room.until(() => !room.cluster.members.includes('n4'), 120 * second)).toBe(true);
  await room.pass(10 * second);
  for (const by of ['n1', 'n2', 'n3', 'n5', 'n6'])
    expect(await membersAt(room, by), by).toEqual(
      ['n1', 'n2', 'n3', 'n5', 'n6'].map((node) => `${node} none`),
    );
  expect(room.world.failures).toEqual([]);
}

describe('a node that leaves', () => {
  test.each(['membership.move.declared', 'membership.left', 'membership.departed'])(
    'is gone for all members, though its power goes at %s',
    async (event) => {
      const room = await roomOf(event);
      const losses = losesPowerAt(room, 'n4', event);
      expect(room.cluster.change('n4')).toBe(true);
      await expectGone(room);
      expect(losses()).toBeGreaterThan(0);
    },
  );

  test('repeats its announcement in its next incarnation, if no member had received it, and then starts no more', async () => {
    const room = await roomOf('unheard');
    const said: string[] = [];
    for (const name of ['membership.left', 'membership.departed', 'membership.started'])
      room.world.trace.on(name, ({ host }) => void (host === 'n4' && said.push(name)));
    room.world.trace.on('membership.left', ({ host }) => {
      if (host === 'n4') room.cluster.crash('n4', 'dropAll', 'silent');
    });
    expect(room.cluster.change('n4')).toBe(true);
    expect(await room.until(() => said.includes('membership.left'), 60 * second)).toBe(true);
    await room.pass(5 * second);
    expect(await membersAt(room, 'n1')).toContain('n4 switching');
    room.cluster.start('n4');
    await expectGone(room);
    expect(said).toEqual(['membership.left', 'membership.started', 'membership.departed']);
    expect(room.cluster.returns('n4', 'joining')).toBe('left');
    await room.pass(second);
    expect(room.cluster.refusedStarts).toMatchObject([{ node: 'n4', code: 'StoreForeign', departed: true }]);
  });

  test('waits for the disks of most members, and one that was away hears of it from them', async () => {
    const room = await roomOf('away');
    room.cluster.crash('n3', 'keepAll', 'silent');
    await room.pass(60 * second);
    expect(room.cluster.change('n4')).toBe(true);
    expect(await room.until(() => !room.cluster.members.includes('n4'), 120 * second)).toBe(true);
    room.cluster.start('n3');
    await expectGone(room);
  });
});
