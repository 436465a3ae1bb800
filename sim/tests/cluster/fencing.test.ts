/**
 * Tests fencing: a node that the cluster does not know as a member answers no client, whatever its own configuration
 * claims.
 */
import { expect, test } from 'vitest';

import type { HostDisk } from '../../world/disk/disk.ts';
import { MemberHarness, second } from './member-harness.ts';

async function statusOf(
  room: MemberHarness,
  name: string,
  method: 'PUT' | 'GET',
  query: string,
): Promise<number> {
  const path = `/buckets/b/keys/k${query}`;
  return (await room.ask(name, method, path, method === 'PUT' ? 'v' : undefined)).status;
}

test('a node that falsely claims to be a member answers no client, not even at the lowest level', async () => {
  const room = new MemberHarness('claims', 3);
  await room.startAll();
  expect(await statusOf(room, 'n1', 'PUT', '?w=1')).toBe(204);
  room.cluster.add({ name: 'n4', datacenter: 'dc1', rack: 'r4' }, {});
  await room.start('n4');
  await room.pass(2 * second);
  for (const query of ['?w=1', '?w=1&pw=1']) expect(await statusOf(room, 'n4', 'PUT', query)).toBe(503);
  expect(await statusOf(room, 'n4', 'GET', '?r=1')).toBe(503);
  expect(await statusOf(room, 'n1', 'GET', '?r=all')).toBe(200);
  expect(room.world.failures).toEqual([]);
});

test('a node that was replaced during a pause answers no client afterwards', async () => {
  const room = new MemberHarness('replaced', 3);
  await room.startAll();
  const host = room.cluster.host('n3');
  host.pause();
  await room.pass(25 * second);
  room.cluster.add(
    { name: 'n4', datacenter: 'dc1', rack: 'r3', replaces: 'n3' },
    { join: 'joining', replace: 'n3' },
  );
  await room.start('n4');
  expect(await room.until(() => room.allAre('NORMAL', ['n4'], ['n1', 'n2']), 60 * second)).toBe(true);
  host.resume();
  await room.pass(2 * second);
  expect(await statusOf(room, 'n3', 'PUT', '?w=1')).toBe(503);
  expect(await statusOf(room, 'n4', 'PUT', '?w=1')).toBe(204);
  expect(room.world.failures).toEqual([]);
});

test('a node that has left does not start again on what it held then', async () => {
  const room = new MemberHarness('left', 3);
  await room.startAll();
  const refused: string[] = [];
  room.cluster.onStartRefused(({ node, code }) => refused.push(`${node} ${code}`));
  room.cluster.add({ name: 'n4', datacenter: 'dc1', rack: 'r1' }, { join: 'joining' });
  await room.start('n4');
  // Until its move is over.
  await room.pass(10 * second);
  expect(room.cluster.change('n4')).toBe(true);
  expect(await room.until(() => !room.cluster.isUp('n4'), 60 * second)).toBe(true);
  expect(room.cluster.returns('n4', 'joining')).toBe('left');
  await room.pass(5 * second);
  expect(refused).toEqual(['n4 StoreForeign']);
  expect(room.cluster.serves('n4')).toBe(false);
});

test('a joining node must be empty: one with keys from a forgotten membership refuses to start', async () => {
  const room = new MemberHarness('leftovers', 3);
  await room.startAll();
  const refused: string[] = [];
  room.cluster.onStartRefused(({ node, code }) => refused.push(`${node} ${code}`));
  expect(await statusOf(room, 'n1', 'PUT', '?w=all')).toBe(204);
  room.cluster.crash('n3', 'keepAll', 'silent');
  const { disk } = room.cluster.host('n3');
  expect(disk.rot('members', 0, 0)).toBe(true);
  expect(forgetMembers(disk)).toBeGreaterThan(0);
  room.cluster.reconfigure({ name: 'n3', datacenter: 'dc1', rack: 'r3' }, { join: 'joining' });
  room.cluster.start('n3');
  await room.pass(5 * second);
  expect(refused).toEqual(['n3 StoreForeign']);
  room.cluster.reconfigure({ name: 'n3', datacenter: 'dc1', rack: 'r3' }, {});
  room.cluster.start('n3');
  await room.pass(5 * second);
  expect(room.cluster.serves('n3')).toBe(true);
});

/** Damages the store's record of the members; returns the number of places. */
function forgetMembers(disk: HostDisk): number {
  let places = 0;
  for (const [path, bytes] of disk.durableFiles()) {
    if (!path.startsWith('store/') || !path.endsWith('.log')) continue;
    for (let at = bytes.indexOf('nodefiles'); at >= 0; at = bytes.indexOf('nodefiles', at + 1))
      places += disk.rot(path, at, 0) ? 1 : 0;
  }
  return places;
}

test('a node whose file of members is damaged is the member that its store knows', async () => {
  const room = new MemberHarness('remade', 3);
  await room.startAll();
  room.cluster.crash('n3', 'keepAll', 'silent');
  expect(room.cluster.host('n3').disk.rot('members', 0, 0)).toBe(true);
  room.cluster.reconfigure({ name: 'n3', datacenter: 'dc1', rack: 'r3' }, { join: 'joining' });
  room.cluster.start('n3');
  await room.pass(5 * second);
  expect(room.cluster.serves('n3')).toBe(true);
  expect(await room.until(() => room.allAre('NORMAL'), 10 * second)).toBe(true);
});

test('a node does not start on what it held in another cluster, and does again in its own', async () => {
  const room = new MemberHarness('another cluster', 3);
  await room.startAll();
  const refused: string[] = [];
  room.cluster.onStartRefused(({ node, code }) => refused.push(`${node} ${code}`));
  const place = { name: 'n3', datacenter: 'dc1', rack: 'r3' };
  room.cluster.crash('n3', 'keepAll', 'silent');
  room.cluster.reconfigure(place, { cluster_id: 'staging' });
  room.cluster.start('n3');
  await room.pass(5 * second);
  expect(refused).toEqual(['n3 StoreForeign']);
  room.cluster.reconfigure(place, {});
  room.cluster.start('n3');
  expect(await room.until(() => room.allAre('NORMAL', ['n3'], ['n1', 'n2']), 10 * second)).toBe(true);
});

test('an initial member stays one, whatever its file says in its next incarnation', async () => {
  const room = new MemberHarness('founders', 3);
  await room.startAll();
  room.cluster.crash('n3', 'keepAll', 'silent');
  room.cluster.reconfigure({ name: 'n3', datacenter: 'dc1', rack: 'r3' }, { join: 'joining' });
  room.cluster.start('n3');
  expect(await room.until(() => room.allAre('NORMAL', ['n3'], ['n1', 'n2']), 10 * second)).toBe(true);
});

test('a member whose peers are away still serves at the lowest level, since no peer has fenced it', async () => {
  const room = new MemberHarness('alone', 3);
  await room.startAll();
  for (const name of ['n2', 'n3']) room.cluster.crash(name, 'keepAll', 'silent');
  await room.pass(40 * second);
  expect(await statusOf(room, 'n1', 'PUT', '?w=1')).toBe(204);
  expect(await statusOf(room, 'n1', 'GET', '?r=1')).toBe(200);
});
