/** Tests leaves that take away a rack: only by force, and not before every former primary has handed over. */
import { expect, test } from 'vitest';

import { MemberHarness, second } from './member-harness.ts';

/** The members that a node shows, with their states. */
async function members(room: MemberHarness, by: string): Promise<Readonly<Record<string, string>>> {
  const { body } = await room.ask(by, 'GET', '/cluster');
  const { members } = JSON.parse(body.toString()) as {
    members: { node: string; state: string; move: string }[];
  };
  return Object.fromEntries(members.map(({ node, state, move }) => [node, `${state} ${move}`]));
}

async function leaves(room: MemberHarness, name: string, force: boolean): Promise<number> {
  return (await room.ask(name, 'POST', `/cluster/leave${force ? '?force=true' : ''}`, '')).status;
}

/** Puts a key and reads it from all that hold it. */
async function serves(room: MemberHarness, by: string): Promise<void> {
  expect((await room.ask(by, 'PUT', '/buckets/b/keys/k', 'value')).status).toBe(204);
  expect((await room.ask(by, 'GET', '/buckets/b/keys/k?r=all')).status).toBe(200);
}

test('of two nodes of a rack that are told to leave at once one stays, because it would take the rack away', async () => {
  const room = new MemberHarness('two-leave', 4, {}, 3);
  const givenUp: string[] = [];
  room.world.trace.on('membership.leave.given-up', ({ host }) => givenUp.push(host));
  await room.startAll();
  await serves(room, 'n2');
  const told = [await leaves(room, 'n1', false), await leaves(room, 'n4', false)];
  expect(told.every((status) => status < 300)).toBe(true);
  await room.pass(30 * second);
  expect(givenUp).toHaveLength(1);
  const [stays = ''] = givenUp;
  expect(await members(room, 'n2')).toEqual({ n2: 'NORMAL none', n3: 'NORMAL none', [stays]: 'NORMAL none' });
  expect(room.state('n2', stays)).toBe('NORMAL');
  await serves(room, stays);
  expect(room.world.failures).toEqual([]);
});

test('of all nodes that are forced to leave at once one stays, because nobody else has the data', async () => {
  const room = new MemberHarness('all-leave', 2, {}, 1);
  await room.startAll();
  await serves(room, 'n1');
  const told = [await leaves(room, 'n1', true), await leaves(room, 'n2', true)];
  expect(told.every((status) => status < 300)).toBe(true);
  await room.pass(30 * second);
  const left = ['n1', 'n2'].filter((name) => room.cluster.serves(name));
  expect(left).toHaveLength(1);
  const [stays = ''] = left;
  expect(await members(room, stays)).toEqual({ [stays]: 'NORMAL none' });
  await serves(room, stays);
  expect(room.world.failures).toEqual([]);
});

test('the forced leave of a rack waits for every former primary, or for the replacement of one', async () => {
  const room = new MemberHarness('rack-leaves', 4, {}, 4);
  await room.startAll();
  await serves(room, 'n1');
  room.cluster.crash('n2', 'keepAll', 'silent');
  expect(await room.until(() => room.allAre('DOWN', ['n2'], ['n1', 'n3', 'n4']), 60 * second)).toBe(true);
  expect(await leaves(room, 'n1', true)).toBeLessThan(300);
  await room.pass(60 * second);
  expect((await members(room, 'n3'))['n1']).toBe('LEAVING switching');
  await room.start('n2');
  await room.pass(30 * second);
  expect(room.cluster.serves('n1')).toBe(false);
  expect(Object.keys(await members(room, 'n3')).sort()).toEqual(['n2', 'n3', 'n4']);
  await serves(room, 'n3');
  expect(room.world.failures).toEqual([]);
});

test('a forced leave lets the dead former primary that it waits for be replaced', async () => {
  const room = new MemberHarness('rack-leaves-replaced', 4, {}, 4);
  await room.startAll();
  room.cluster.lose('n2');
  expect(await room.until(() => room.allAre('DOWN', ['n2'], ['n1', 'n3', 'n4']), 60 * second)).toBe(true);
  expect(await leaves(room, 'n1', true)).toBeLessThan(300);
  await room.pass(10 * second);
  room.cluster.add(
    { name: 'n7', datacenter: 'dc1', rack: 'r2', replaces: 'n2' },
    { join: 'joining', replace: 'n2' },
  );
  await room.start('n7');
  await room.pass(60 * second);
  expect(Object.keys(await members(room, 'n3')).sort()).toEqual(['n3', 'n4', 'n7']);
  await serves(room, 'n3');
  expect(room.world.failures).toEqual([]);
});
