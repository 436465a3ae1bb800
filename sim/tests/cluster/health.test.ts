/** Tests `/health/ready` of whole nodes: each condition in which a node cannot serve its share is named, and ends. */
import { expect, test } from 'vitest';

import { MemberHarness, second } from './member-harness.ts';

/** The codes that the node gives for not being ready; `down` if it does not answer. */
async function reasonsOf(room: MemberHarness, name: string): Promise<readonly string[]> {
  try {
    const answer = JSON.parse(await room.look(name, '/health/ready')) as {
      status: string;
      reasons: { code: string }[];
    };
    expect(answer.status).toBe(answer.reasons.length === 0 ? 'ready' : 'not_ready');
    return answer.reasons.map(({ code }) => code);
  } catch {
    return ['down'];
  }
}

/** Asks the node every 50 ms until it is ready. Returns every reason that it has given meanwhile. */
async function reasonsUntilReady(room: MemberHarness, name: string): Promise<ReadonlySet<string>> {
  const given = new Set<string>();
  for (let left = 2400; left > 0; left--) {
    const reasons = await reasonsOf(room, name);
    if (reasons.length === 0) return given;
    for (const reason of reasons) given.add(reason);
    await room.pass(second / 20);
  }
  throw new Error(`${name} does not become ready: ${[...given].join(', ')}`);
}

test('every node of a new cluster becomes ready, and an operator takes one out and back', async () => {
  const room = new MemberHarness('health', 3);
  await room.startAll();
  for (const name of room.cluster.names) expect(await reasonsOf(room, name)).toEqual([]);
  expect((await room.ask('n1', 'POST', '/cluster/standby')).status).toBe(200);
  expect(await reasonsOf(room, 'n1')).toEqual(['standby']);
  expect(await reasonsOf(room, 'n2')).toEqual([]);
  expect((await room.ask('n1', 'POST', '/cluster/standby?return=true')).status).toBe(200);
  expect(await reasonsOf(room, 'n1')).toEqual([]);
});

test('a full disk and a failed store are told apart', async () => {
  const room = new MemberHarness('health of a store', 2);
  await room.startAll();
  for (const [name, failure] of [
    ['n1', 'noSpace'],
    ['n2', 'fault'],
  ] as const) {
    room.cluster.host(name).disk.inject({ kind: 'write-error', failure });
    await room.ask(name, 'PUT', '/buckets/b/keys/k', 'lost');
    await room.pass(second);
  }
  expect(await reasonsOf(room, 'n1')).toEqual(['disk_full']);
  expect(await reasonsOf(room, 'n2')).toEqual(['store_failed']);
});

test('a failed hint store is a warning of a node that is ready', async () => {
  const room = new MemberHarness('health of a hint store', 3);
  await room.startAll();
  const warningsOf = async (name: string): Promise<readonly unknown[]> => {
    const answer = JSON.parse(await room.look(name, '/health/ready')) as { warnings: { code: string }[] };
    return answer.warnings.map(({ code }) => code);
  };
  expect(await warningsOf('n1')).toEqual([]);
  room.cluster.host('n1').disk.inject({
    kind: 'write-error',
    failure: 'fault',
    matches: (path) => path.startsWith('hints/'),
  });
  room.cluster.crash('n3', 'keepAll', 'silent');
  await room.ask('n1', 'PUT', '/buckets/b/keys/k', 'v');
  await room.pass(10 * second);
  expect(await reasonsOf(room, 'n1')).toEqual([]);
  expect(await warningsOf('n1')).toEqual(['hint_store_failed']);
});

test('a member on an empty disk is not ready before it has got its data back', async () => {
  const room = new MemberHarness('health of a rebuild', 3);
  await room.startAll();
  for (let key = 0; key < 20; key++) await room.ask('n1', 'PUT', `/buckets/b/keys/${key}`, 'v');
  room.cluster.crash('n2', 'dropAll', 'silent');
  room.cluster.host('n2').disk.wipe();
  // A rebuild waits for every member.
  room.cluster.crash('n3', 'keepAll', 'silent');
  room.cluster.start('n2');
  await room.until(() => room.cluster.serves('n2'), 30 * second);
  expect(await reasonsOf(room, 'n2')).toEqual(['rebuilding']);
  await room.start('n3');
  expect(await reasonsUntilReady(room, 'n2')).toContain('rebuilding');
});

test('a node that joins is not ready before it owns its part, nor one that leaves', async () => {
  const room = new MemberHarness('health of a join', 4, { transfer_bytes_per_second: 10_000_000 }, 3);
  const joiner = { name: 'n5', datacenter: 'dc1', rack: 'r1' };
  await room.startAll();
  room.cluster.add(joiner, { join: 'joining' });
  room.cluster.start('n5');
  await room.until(() => room.cluster.serves('n5'), 30 * second);
  expect(await reasonsUntilReady(room, 'n5')).toContain('joining');
  // The last step of the join may still be under way; a leave is refused until it has ended.
  await room.pass(10 * second);
  expect((await room.ask('n5', 'POST', '/cluster/leave')).status).toBe(202);
  // The other nodes may not have agreed on the ring without it yet: that is no other reason.
  const reasons = await reasonsOf(room, 'n5');
  expect(reasons.filter((reason) => reason !== 'ring_not_agreed')).toEqual(['leaving']);
});
