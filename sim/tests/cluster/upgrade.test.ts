/** Tests an upgrade node by node: what a mixed cluster says of itself, its end, and what follows from that. */
import { beforeEach, describe, expect, test } from 'vitest';

import type { ClusterView } from '../../../engine/node/node.ts';
import { MemberHarness, second } from './member-harness.ts';

interface Answer {
  readonly status: number;
  readonly view: {
    readonly version: { readonly minimum: number; readonly max: number };
    readonly members: readonly { readonly node: string; readonly reached: boolean; readonly max?: number }[];
    readonly detail?: string;
  };
}

let room: MemberHarness;

const settings = { aae_enabled: false, gossip_interval_ms: 200 };

async function upgrade(name: string, method: 'GET' | 'POST' = 'GET'): Promise<Answer> {
  const { status, body } = await room.ask(name, method, method === 'GET' ? '/upgrade' : '/upgrade/finalize');
  return { status, view: JSON.parse(body.toString()) as Answer['view'] };
}

/** Stops the node and starts it as a build that speaks up to `version`. */
async function startAs(name: string, version: number): Promise<void> {
  await room.cluster.stop(name, 10 * second);
  room.cluster.changeBuild(name, version);
  room.cluster.start(name);
  await room.until(() => room.cluster.serves(name), 10 * second);
  await room.until(() => room.allAre('NORMAL'), 10 * second);
}

test('a new cluster begins with what its first nodes speak, and a node that comes late learns it', async () => {
  room = new MemberHarness('new', 3, settings);
  room.cluster.start('n1');
  room.cluster.start('n2');
  await room.until(() => room.cluster.serves('n1') && room.cluster.serves('n2'), 10 * second);
  expect((await upgrade('n1')).view.version).toEqual({ minimum: 7, max: 7 });
  room.cluster.start('n3');
  await room.until(() => room.cluster.serves('n3'), 10 * second);
  await room.until(() => false, 2 * second);
  for (const name of ['n1', 'n2', 'n3'])
    expect((await upgrade(name)).view.version).toEqual({ minimum: 7, max: 7 });
});

test('a node that speaks no version of the cluster is refused, and the members state why', async () => {
  room = new MemberHarness('apart', 3, settings);
  room.cluster.changeBuild('n3', 3);
  room.cluster.start('n1');
  room.cluster.start('n2');
  await room.until(() => room.cluster.serves('n1') && room.cluster.serves('n2'), 10 * second);
  room.cluster.start('n3');
  await room.until(() => false, 3 * second);
  const { body } = await room.ask('n1', 'GET', '/cluster');
  const { refused } = JSON.parse(body.toString()) as ClusterView;
  expect(refused).toEqual([
    { node: 'n3', reason: 'version', detail: expect.stringMatching(/ version 7 .* version 3$/) },
  ]);
});

test('a new cluster with a node of the build before begins with what that one speaks', async () => {
  room = new MemberHarness('new', 3, settings);
  room.cluster.changeBuild('n3', 3);
  await room.startAll();
  for (const name of ['n1', 'n2']) expect((await upgrade(name)).view.version.minimum).toBe(3);
});

describe('an upgrade', () => {
  /** A cluster that began as the build before, and whose nodes were started as today's, one after another. */
  beforeEach(async () => {
    room = new MemberHarness('upgrade', 3, { ...settings, peer_version: 3 });
    await room.startAll();
    for (const name of ['n1', 'n2', 'n3']) await startAs(name, 6);
  });

  test('of a cluster whose members all speak the version is finalized, and recorded over a restart', async () => {
    expect((await upgrade('n1')).view.version).toEqual({ minimum: 3, max: 6 });
    const { status, view } = await upgrade('n1', 'POST');
    expect([status, view.version]).toEqual([200, { minimum: 6, max: 6 }]);
    await startAs('n2', 6);
    for (const name of ['n1', 'n2', 'n3']) expect((await upgrade(name)).view.version.minimum).toBe(6);
  });

  test('is not finalized while a member is of the build before, which serves meanwhile', async () => {
    await startAs('n3', 3);
    const { view } = await upgrade('n1');
    expect(view.members.map(({ node, reached }) => [node, reached])).toEqual([
      ['n1', true],
      ['n2', true],
      ['n3', false],
    ]);
    const refused = await upgrade('n1', 'POST');
    expect([refused.status, refused.view.detail]).toEqual([
      409,
      'every member must speak version 6; n3: the connection to n3 speaks version 3 of peer messages, which has no upgrade',
    ]);
    for (const name of ['n1', 'n2']) expect((await upgrade(name)).view.version.minimum).toBe(3);
    const put = await room.ask('n3', 'PUT', '/buckets/b/keys/k?w=all', 'v');
    expect(put.status).toBeLessThan(300);
  });

  test('is not finalized while a member is away', async () => {
    await room.cluster.stop('n3', 10 * second);
    const refused = await upgrade('n1', 'POST');
    expect([refused.status, refused.view.detail?.includes('n3')]).toEqual([409, true]);
  });

  test('that is finalized leaves no way back: the build before does not start', async () => {
    await upgrade('n1', 'POST');
    await room.cluster.stop('n3', 10 * second);
    room.cluster.changeBuild('n3', 3);
    room.cluster.start('n3');
    await room.until(() => false, 2 * second);
    expect(room.cluster.serves('n3')).toBe(false);
  });
});
