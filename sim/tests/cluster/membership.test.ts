/** Tests how nodes discover each other, and how they treat impostors. */
import { describe, expect, test } from 'vitest';

import type { NodeId } from '../../../engine/base/ids.ts';
import { byteStringOf } from '../../../engine/base/ids.ts';
import { Ring } from '../../../engine/cluster/ring/ring.ts';
import { routeToken, tokensOfNode } from '../../../engine/cluster/ring/token.ts';
import { MemberHarness, nodeOf, second } from './member-harness.ts';

const refusals = 'svc_peer_handshakes_refused_total';

describe('a cluster', () => {
  test.each([2, 3, 9])('of %i nodes knows itself within a second of the last one’s start', async (count) => {
    const room = new MemberHarness(`fresh ${count}`, count);
    await room.start(...room.cluster.names);
    expect(await room.until(() => room.allAre('NORMAL'), second)).toBe(true);
    for (const { text } of room.moves) expect(text).toBe('UNKNOWN>NORMAL');
    expect(room.moves).toHaveLength(count * (count - 1));
    expect(await room.count('n1', 'peer_state_transitions_total')).toBe(count - 1);
    expect(await room.count('n1', 'svc_peer_state', { state: 'up' })).toBe(count - 1);
    expect(room.world.failures).toEqual([]);
  });

  test('whose seeds are all down serves alone, and grows together as they come', async () => {
    const room = new MemberHarness('seeds down', 4);
    await room.start('n3');
    await room.pass(60 * second);
    // A node that is silent for that long is down, whether or not it was heard before.
    expect(room.moves.map(({ by, peer, text }) => `${by}: ${peer} ${text}`)).toEqual([
      'n3: n1 UNKNOWN>DOWN',
      'n3: n2 UNKNOWN>DOWN',
      'n3: n4 UNKNOWN>DOWN',
    ]);
    await room.start('n1');
    expect(await room.until(() => room.allAre('NORMAL', ['n1', 'n3'], ['n1', 'n3']), 2 * second)).toBe(true);
    await room.start('n2', 'n4');
    expect(await room.until(() => room.allAre('NORMAL'), 2 * second)).toBe(true);
  });

  test('learns of a node through others when the configuration does not name it', async () => {
    const room = new MemberHarness('hearsay', 3);
    const seeds = (...numbers: readonly number[]) =>
      numbers.map((number) => ({ ...nodeOf(number, 3), address: `n${number}:8101` }));
    room.cluster.reconfigure(nodeOf(1, 3), { seeds: seeds(2) });
    room.cluster.reconfigure(nodeOf(3, 3), { seeds: seeds(2) });
    await room.start('n1', 'n2', 'n3');
    expect(await room.until(() => room.allAre('NORMAL'), 20 * second)).toBe(true);
    expect(await room.count('n1', 'svc_peer_state', { state: 'up' })).toBe(2);
    const described = await room.look('n1', '/cluster_describe');
    expect(await room.look('n3', '/cluster_describe')).toBe(described);
    expect(described).toContain('"name":"n3","host":"n3","port":8101');
  });
});

describe('nodes whose lists of seeds differ', () => {
  const seeds = (...numbers: readonly number[]) =>
    numbers.map((number) => ({ ...nodeOf(number, 5), address: `n${number}:8101` }));

  test('find one another by the one member that both lists have', async () => {
    const room = new MemberHarness('two lists', 5);
    // n1, n2 and n4, n5 know nothing of each other; n3 has one of either.
    for (const number of [1, 2]) room.cluster.reconfigure(nodeOf(number, 5), { seeds: seeds(1, 2, 3) });
    for (const number of [4, 5]) room.cluster.reconfigure(nodeOf(number, 5), { seeds: seeds(3, 4, 5) });
    room.cluster.reconfigure(nodeOf(3, 5), { seeds: seeds(1, 5) });
    await room.start(...room.cluster.names);
    expect(await room.until(() => room.allAre('NORMAL'), 20 * second)).toBe(true);
    await room.pass(2 * second);
    const described = await room.look('n1', '/cluster_describe');
    for (const name of room.cluster.names) {
      expect(await room.look(name, '/cluster_describe')).toContain('"name":"n2"');
      expect((await room.look(name, '/cluster_describe')).length).toBe(described.length);
    }
    expect(room.world.failures).toEqual([]);
  });

  test('remember their peers: a node finds the others although all its seeds are down', async () => {
    const room = new MemberHarness('dead seeds', 4);
    room.cluster.reconfigure(nodeOf(4, 4), { seeds: seeds(1) });
    await room.startAll();
    await room.pass(3 * second);
    for (const name of ['n1', 'n4']) room.cluster.crash(name, 'dropAll', 'silent');
    await room.start('n4');
    const rest = ['n2', 'n3', 'n4'];
    expect(await room.until(() => room.allAre('NORMAL', rest, rest), 10 * second)).toBe(true);
    expect(room.world.failures).toEqual([]);
  });
});

describe('a node that returns', () => {
  test('begins a new incarnation, which all members note once', async () => {
    const room = new MemberHarness('restart', 3);
    await room.startAll();
    room.forget();
    room.cluster.crash('n2', 'keepAll', 'reset');
    await room.pass(2 * second);
    expect(room.moves).toEqual([]);
    await room.start('n2');
    const noted = (): boolean => ['n1', 'n3'].every((by) => room.movesOf(by, 'n2').length === 2);
    expect(await room.until(() => noted() && room.allAre('NORMAL'), second)).toBe(true);
    for (const by of ['n1', 'n3']) {
      expect(room.movesOf(by, 'n2')).toEqual(['NORMAL>RESET', 'RESET>NORMAL']);
      expect(room.movesOf('n2', by)).toEqual(['UNKNOWN>NORMAL']);
    }
    expect(await room.count('n1', 'peer_state_transitions_total', { to_state: 'RESET' })).toBe(1);
    expect(await room.count('n1', 'svc_pool_peer_ejects_total')).toBe(0);
  });

  test('after a death in silence is let in as soon as its old connections are found dead', async () => {
    const room = new MemberHarness('silent restart', 3);
    await room.startAll();
    room.cluster.crash('n2', 'dropAll', 'silent');
    await room.start('n2');
    expect(await room.until(() => room.allAre('NORMAL'), 2 * second)).toBe(true);
    expect(await room.count('n1', 'svc_peer_state', { peer: 'n2', state: 'up' })).toBe(1);
  });

  test('with a wiped disk and a clock in the past outbids the incarnation that its peers have seen', async () => {
    const room = new MemberHarness('wiped', 3);
    const raised: unknown[] = [];
    room.world.trace.on('membership.identity.raised', ({ host, fields }) =>
      raised.push([host, fields['by']]),
    );
    await room.startAll();
    room.cluster.crash('n2', 'dropAll', 'reset');
    room.cluster.host('n2').disk.wipe();
    room.cluster.host('n2').clock.jumpWall(-3_600_000);
    await room.pass(second);
    room.forget();
    await room.start('n2');
    expect(await room.until(() => room.allAre('NORMAL') && raised.length > 0, 5 * second)).toBe(true);
    await room.pass(second);
    expect(raised).toEqual([['n2', expect.stringMatching(/^n[13]$/)]]);
    expect(room.movesOf('n1', 'n2')).toEqual(['NORMAL>RESET', 'RESET>NORMAL']);
    expect(await room.count('n1', refusals, { reason: 'oldLife' })).toBeGreaterThan(0);
    await room.pass(30 * second);
    expect(room.allAre('NORMAL')).toBe(true);
  });

  test('keeps the greater incarnation number when it starts again', async () => {
    const room = new MemberHarness('numbers', 1);
    const numbers: number[] = [];
    room.world.trace.on('membership.started', ({ fields }) => numbers.push(Number(fields['generation'])));
    await room.start('n1');
    for (let life = 0; life < 3; life++) {
      room.cluster.crash('n1', 'dropAll', 'reset');
      room.cluster.host('n1').clock.jumpWall(-1_000_000);
      await room.start('n1');
    }
    const [first = 0] = numbers;
    expect(numbers).toEqual([first, first + 1, first + 2, first + 3]);
  });

  test('at another address is found there', async () => {
    const room = new MemberHarness('moved', 3);
    await room.startAll();
    room.cluster.crash('n2', 'keepAll', 'reset');
    room.cluster.reconfigure(nodeOf(2, 3), { peer_listen: 'n2:9101' });
    await room.start('n2');
    expect(await room.until(() => room.allAre('NORMAL'), 5 * second)).toBe(true);
    await room.pass(60 * second);
    expect(room.allAre('NORMAL')).toBe(true);
    expect(await room.count('n1', 'svc_pool_peer_connections')).toBe(2);
    expect(await room.look('n3', '/cluster_describe')).toContain('"name":"n2","host":"n2","port":9101');
  });

  test('with a damaged identity file learns from its peers which incarnation they have seen', async () => {
    const room = new MemberHarness('damaged', 2);
    const rejected: string[] = [];
    room.world.trace.on('membership.identity.rejected', ({ host }) => rejected.push(host));
    await room.startAll();
    room.cluster.crash('n2', 'keepAll', 'reset');
    expect(room.cluster.host('n2').disk.rot('identity', 20, 3)).toBe(true);
    await room.start('n2');
    expect(await room.until(() => room.allAre('NORMAL'), 5 * second)).toBe(true);
    expect(rejected).toEqual(['n2']);
  });
});

describe('an impostor', () => {
  /** Starts n1, n2, n3 and a host `stranger` with settings of its own, and waits a minute. */
  async function visited(seed: string, own: Readonly<Record<string, unknown>>): Promise<MemberHarness> {
    const room = new MemberHarness(seed, 3);
    await room.startAll();
    room.forget();
    room.cluster.add({ name: 'stranger', datacenter: 'dc1', rack: 'r2' }, own);
    await room.start('stranger');
    await room.pass(60 * second);
    return room;
  }

  async function expectUnmoved(room: MemberHarness, reason: string): Promise<void> {
    // No member talks to it: to the refused process they are down.
    expect(room.moves.filter(({ by }) => by !== 'stranger')).toEqual([]);
    const counted = await room.count('n1', refusals, { reason, direction: 'inbound' });
    expect(counted).toBeGreaterThan(0);
    expect(await room.count('n1', 'svc_peer_state', { state: 'up' })).toBe(2);
    expect(await room.count('stranger', 'svc_peer_state', { state: 'up' })).toBe(0);
    expect(room.world.failures).toEqual([]);
  }

  test('with a member’s name is refused while that member lives, though its incarnation is newer', async () => {
    const room = await visited('twin', { name: 'n2' });
    await expectUnmoved(room, 'sameName');
  });

  test('of another cluster is refused', async () => {
    await expectUnmoved(await visited('cluster', { cluster_id: 'other' }), 'cluster');
  });

  test('that claims to be a member is refused', async () => {
    await expectUnmoved(await visited('claim', {}), 'unknown');
  });

  test('with another node’s token is refused', async () => {
    const room = new MemberHarness('token', 3);
    const [token] = room.cluster.ring.members.find((member) => member.node === 'n2')?.tokens ?? [];
    const seeds = [1, 3].map((number) => ({ ...nodeOf(number, 3), address: `n${number}:8101` }));
    const own = { join: 'joining', tokens: [token], seeds };
    await expectUnmoved(await visited('token', own), 'duplicateToken');
  });

  test('with a member’s name and an empty disk is refused though that member is silent: it may be cut off', async () => {
    const room = await visited('heir', { name: 'n2' });
    room.cluster.crash('n2', 'keepAll', 'silent');
    await room.pass(60 * second);
    expect(room.movesOf('n1', 'n2')).toEqual(['NORMAL>DOWN']);
    expect(await room.count('n1', refusals, { reason: 'sameName', direction: 'inbound' })).toBeGreaterThan(0);
    expect(await room.look('n1', '/cluster_describe')).toContain('"name":"n2","host":"n2"');
  });
});

describe('a node that joins', () => {
  test('owns nothing while it is JOINING, and holds all of its part from the moment it is NORMAL', async () => {
    const room = new MemberHarness('join', 3);
    await room.startAll();
    const ask = (name: string, method: 'PUT' | 'GET', key: number) =>
      room.ask(name, method, `/buckets/b/keys/k${key}`, method === 'PUT' ? `v${key}` : undefined);
    const keys = Array.from({ length: 40 }, (_, key) => key);
    for (const key of keys) expect((await ask('n2', 'PUT', key)).status).toBe(204);
    room.cluster.add({ name: 'n4', datacenter: 'dc1', rack: 'r1' }, { join: 'joining' });
    await room.start('n4');
    expect(await room.until(() => room.allAre('NORMAL'), 10 * second)).toBe(true);
    for (const by of ['n1', 'n2', 'n3']) {
      expect(room.movesOf(by, 'n4').slice(-2)).toEqual(['UNKNOWN>JOINING', 'JOINING>NORMAL']);
    }
    const joiner = {
      node: 'n4' as NodeId,
      datacenter: 'dc1',
      rack: 'r1',
      tokens: tokensOfNode('n4' as NodeId, 16),
    };
    const ring = new Ring([...room.cluster.ring.members, joiner]);
    const owned = keys.filter((key) => {
      const token = routeToken('STD', byteStringOf('b'), byteStringOf(`k${key}`));
      return ring.placement(token).includes(joiner);
    });
    expect(owned.length).toBeGreaterThan(5);
    // And records of the engine's own: since when and over which lives it has kept the log of transactions, which files
    // the node has had, that it has heard of all that was set of buckets, and the minimum version of peer messages. The last follows moments after NORMAL.
    await room.until(() => false, second);
    expect(await room.count('n4', 'svc_store_keys')).toBe(owned.length + 5);
    expect(await room.count('n4', 'svc_transfer_keys_total', { direction: 'in' })).toBe(owned.length);
    expect(await room.count('n4', 'svc_transfer_ranges_left')).toBe(0);
    for (const key of keys) expect((await ask('n4', 'GET', key)).body.toString()).toBe(`v${key}`);
    expect(room.world.failures).toEqual([]);
  });

  test('stays outside while so many are away that a majority of racks could go on without it', async () => {
    const room = new MemberHarness('join-few', 3);
    await room.startAll();
    for (const away of ['n2', 'n3']) room.cluster.crash(away, 'keepAll', 'silent');
    room.cluster.add({ name: 'n4', datacenter: 'dc1', rack: 'r1' }, { join: 'joining' });
    await room.start('n4');
    // The members count as away long before that.
    await room.pass(60 * second);
    expect(room.state('n1', 'n4')).toBe('JOINING');
    room.cluster.start('n3');
    expect(await room.until(() => room.state('n1', 'n4') === 'NORMAL', 30 * second)).toBe(true);
    expect(room.world.failures).toEqual([]);
  });

  test('is a member after a crash of everybody, although no configuration names it', async () => {
    const room = new MemberHarness('join-crash', 3);
    await room.startAll();
    room.cluster.add({ name: 'n4', datacenter: 'dc1', rack: 'r1' }, { join: 'joining' });
    await room.start('n4');
    expect(await room.until(() => room.allAre('NORMAL'), 10 * second)).toBe(true);
    await room.pass(second);
    for (const name of room.cluster.names) room.cluster.crash(name, 'dropAll', 'silent');
    await room.start(...room.cluster.names);
    expect(await room.until(() => room.allAre('NORMAL'), 10 * second)).toBe(true);
    expect(room.world.failures).toEqual([]);
  });
});
