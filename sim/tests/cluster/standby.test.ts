/**
 * Tests a member in STANDBY: it serves no client, takes every write, is read last, and stays in STANDBY over restarts.
 */
import { beforeEach, describe, expect, test } from 'vitest';

import { RouteObserver } from '../../observe/route-observer.ts';
import type { HttpClient } from '../../world/world.ts';
import { MemberHarness, second } from './member-harness.ts';

type Answer = Awaited<ReturnType<HttpClient['request']>>;

let room: MemberHarness;
let routes: RouteObserver;

beforeEach(async () => {
  room = new MemberHarness('standby', 3, { aae_enabled: false, gossip_interval_ms: 200 });
  const isNode = (host: string): boolean => room.cluster.names.includes(host);
  routes = new RouteObserver(() => room.world.nowUs, isNode, {
    greetings: { greeted: () => undefined },
  });
  room.world.network.watch(routes.watcher);
  await room.startAll();
});

function standby(name: string, query = ''): Promise<Answer> {
  return room.ask(name, 'POST', `/cluster/standby${query}`);
}

function codeOf({ headers, body }: Answer): unknown {
  return headers['x-lockstep-error'] ?? (JSON.parse(body.toString()) as { code: unknown }).code;
}

/** A node's own state. */
async function stateOf(name: string): Promise<unknown> {
  const { body } = await room.ask(name, 'GET', '/cluster');
  const { members } = JSON.parse(body.toString()) as { members: { node: string; state: string }[] };
  return members.find(({ node }) => node === name)?.state;
}

async function goStandby(name: string): Promise<void> {
  expect((await standby(name)).status).toBe(200);
  const others = room.cluster.names.filter((other) => other !== name);
  expect(await room.until(() => room.allAre('STANDBY', [name], others), 5 * second)).toBe(true);
}

/** Number of reads for peers that the node has answered so far. */
function readsAt(name: string): number {
  return routes.answers.filter(({ peer }) => peer === name).length;
}

describe('a member in STANDBY', () => {
  test('says so to all, and what was asked twice is done once', async () => {
    await goStandby('n1');
    expect(await stateOf('n1')).toBe('STANDBY');
    expect((await standby('n1')).status).toBe(200);
    expect(await room.count('n2', 'peer_state_current', { peer_idx: '0' })).toBe(3);
    expect((await standby('n1', '?return=true')).status).toBe(200);
    expect(await room.until(() => room.allAre('NORMAL'), 5 * second)).toBe(true);
    expect((await standby('n1', '?return=true')).status).toBe(200);
    expect(await stateOf('n1')).toBe('NORMAL');
  });

  test('refuses clients by name, and tells operators what they ask', async () => {
    await goStandby('n1');
    const asked = [
      ['GET', '/buckets/b/keys/k'],
      ['PUT', '/buckets/b/keys/k', 'v'],
      ['GET', '/buckets/b/keys?keys=true'],
      ['GET', '/buckets?buckets=true'],
    ] as const;
    for (const [method, path, body] of asked) {
      const refused = await room.ask('n1', method, path, body);
      expect([path, refused.status, codeOf(refused)]).toEqual([path, 503, 'Standby']);
    }
    for (const path of ['/cluster', '/ping', '/transactions?state=in_doubt', '/buckets/b/props'])
      expect((await room.ask('n1', 'GET', path)).status).toBe(200);
  });

  test('takes writes, is not read while the others are enough, and is when they are too few', async () => {
    await goStandby('n1');
    expect((await room.ask('n2', 'PUT', '/buckets/b/keys/k', 'v')).status).toBe(204);
    await room.pass(second);
    const before = readsAt('n1');
    for (const name of ['n2', 'n3'])
      expect((await room.ask(name, 'GET', '/buckets/b/keys/k')).status).toBe(200);
    expect(readsAt('n1')).toBe(before);
    room.cluster.crash('n3', 'keepAll', 'silent');
    // n3 has not answered, so n1 must; n1 has the write.
    expect((await room.ask('n2', 'GET', '/buckets/b/keys/k')).body.toString()).toBe('v');
    expect(readsAt('n1')).toBe(before + 1);
  });

  test('stays so when it is started again, and when the others are', async () => {
    await goStandby('n1');
    room.cluster.crash('n1', 'dropAll', 'silent');
    await room.start('n1');
    expect(await stateOf('n1')).toBe('STANDBY');
    for (const name of ['n2', 'n3']) {
      room.cluster.crash(name, 'dropAll', 'silent');
      await room.start(name);
    }
    expect(await room.until(() => room.allAre('STANDBY', ['n1'], ['n2', 'n3']), 10 * second)).toBe(true);
    expect(codeOf(await room.ask('n1', 'GET', '/buckets/b/keys/k'))).toBe('Standby');
  });

  test('is the only one of three racks, and none goes while another is away', async () => {
    await goStandby('n1');
    const refused = await standby('n2');
    expect([refused.status, codeOf(refused)]).toEqual([409, 'Conflict']);
    expect(refused.body.toString()).toContain('members that serve reads hold 1 of some keys (n1: away');
    expect(await stateOf('n2')).toBe('NORMAL');
    await standby('n1', '?return=true');
    room.cluster.crash('n3', 'keepAll', 'silent');
    expect(await room.until(() => room.allAre('DOWN', ['n3'], ['n1', 'n2']), 60 * second)).toBe(true);
    expect((await standby('n2')).status).toBe(409);
  });

  test('may leave', async () => {
    const four = new MemberHarness('standby leaves', 4, { transfer_bytes_per_second: 10_000_000 }, 3);
    await four.startAll();
    expect((await four.ask('n4', 'POST', '/cluster/standby')).status).toBe(200);
    expect((await four.ask('n4', 'POST', '/cluster/leave')).status).toBe(202);
    const left = (): boolean => !four.cluster.members.includes('n4');
    expect(await four.until(left, 120 * second)).toBe(true);
  });
});
