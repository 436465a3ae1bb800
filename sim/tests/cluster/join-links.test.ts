/** Tests that a joining node begins once the members have links to it, or after two seconds without some. */
import { expect, test } from 'vitest';

import { MemberHarness, second } from './member-harness.ts';

/** A cluster of three of which `members` run; when n4 began to copy, and who had a link to it by then. */
interface Join {
  readonly room: MemberHarness;
  readonly linked: string[];
  readonly begun: { atUs: number; linked: readonly string[] }[];
}

async function joinOf(seed: string, members: readonly string[] = ['n1', 'n2', 'n3']): Promise<Join> {
  const room = new MemberHarness(seed, 3, { gossip_interval_ms: 200 });
  const join: Join = { room, linked: [], begun: [] };
  room.world.trace.on('peer.link.connected', ({ host, fields }) => {
    if (fields['peer'] === 'n4') join.linked.push(host);
  });
  room.world.trace.on('membership.move.declared', ({ host, atUs, fields }) => {
    if (host === 'n4' && fields['move'] === 'copying')
      join.begun.push({ atUs, linked: join.linked.toSorted() });
  });
  await room.start(...members);
  await room.pass(second);
  room.cluster.add({ name: 'n4', datacenter: 'dc1', rack: 'r1' }, { join: 'joining' });
  return join;
}

test.each(['a', 'b', 'c', 'd', 'e'])(
  'every member has a link to a node that begins to copy (%s)',
  async (seed) => {
    const { room, begun } = await joinOf(seed);
    await room.start('n4');
    expect(await room.until(() => room.allAre('NORMAL'), 60 * second)).toBe(true);
    expect(begun.map(({ linked }) => linked)).toEqual([['n1', 'n2', 'n3']]);
    expect(room.world.failures).toEqual([]);
  },
);

test('a member that was never heard holds the join up for two seconds', async () => {
  const { room, begun } = await joinOf('absent', ['n1', 'n2']);
  const startUs = room.world.nowUs;
  await room.start('n4');
  expect(await room.until(() => begun.length > 0, 20 * second)).toBe(true);
  const [{ atUs, linked } = { atUs: 0, linked: [] }] = begun;
  expect(linked).toEqual(['n1', 'n2']);
  expect(atUs - startUs).toBeGreaterThan(2 * second);
  expect(atUs - startUs).toBeLessThan(5 * second);
  const names = ['n1', 'n2', 'n4'];
  expect(await room.until(() => room.allAre('NORMAL', names, names), 60 * second)).toBe(true);
  expect(room.world.failures).toEqual([]);
});
