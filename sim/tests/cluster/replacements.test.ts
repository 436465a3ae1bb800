/**
 * Tests nodes that die for good in the middle of a ring change, and their replacements: no ring change waits for a dead
 * node.
 */
import { expect, test } from 'vitest';

import { tokensOfNode } from '../../../engine/cluster/ring/token.ts';
import type { NodeId } from '../../../engine/base/ids.ts';
import { MemberHarness, nodeOf, second } from './member-harness.ts';

/** Settings that make a ring change last until the test ends it. */
const crawling = { transfer_bytes_per_second: 1_024, transfer_batch_bytes: 1_024, gossip_interval_ms: 200 };

async function roomWithKeys(seed: string): Promise<MemberHarness> {
  const room = new MemberHarness(seed, 6, crawling, 3);
  await room.startAll();
  for (let key = 0; key < 60; key++) {
    const { status } = await room.ask('n1', 'PUT', `/buckets/b/keys/k${key}`, 'v'.repeat(400));
    expect(status).toBe(204);
  }
  return room;
}

/** A member's record as a node shows it. */
async function shown(
  room: MemberHarness,
  by: string,
  name: string,
): Promise<Record<string, unknown> | undefined> {
  const { body } = await room.ask(by, 'GET', '/cluster');
  const { members } = JSON.parse(body.toString()) as { members: Record<string, unknown>[] };
  return members.find((member) => member['node'] === name);
}

async function comesInto(
  room: MemberHarness,
  name: string,
  rack: string,
  replaces: string | undefined,
  tokensOf: string = name,
): Promise<void> {
  const replacement = replaces === undefined ? {} : { replace: replaces };
  const tokens = tokensOfNode(tokensOf as NodeId, 16);
  room.cluster.add({ name, datacenter: 'dc1', rack }, { join: 'joining', ...replacement, tokens });
  await room.start(name);
}

async function becomesCopying(room: MemberHarness, name: string): Promise<void> {
  const copying = async (): Promise<boolean> => (await shown(room, 'n1', name))?.['move'] === 'copying';
  for (let tries = 0; tries < 100 && !(await copying()); tries++) await room.pass(second / 4);
  expect(await copying()).toBe(true);
  await room.pass(second);
}

async function diesCopying(room: MemberHarness, name: string): Promise<void> {
  await becomesCopying(room, name);
  await dies(room, name);
}

async function dies(room: MemberHarness, name: string): Promise<void> {
  room.cluster.lose(name);
  const others = room.cluster.names.filter((one) => room.cluster.serves(one));
  expect(await room.until(() => room.allAre('DOWN', [name], others), 60 * second)).toBe(true);
}

async function isIn(room: MemberHarness, name: string): Promise<boolean> {
  const others = room.cluster.names.filter((one) => room.cluster.serves(one));
  return room.until(() => room.allAre('NORMAL', [name], others), 600 * second);
}

test('one that dies while it joins is replaced, and the next one joins', async () => {
  const room = await roomWithKeys('joiner');
  await comesInto(room, 'n7', 'r1', undefined);
  await diesCopying(room, 'n7');
  await comesInto(room, 'n8', 'r1', 'n7', 'n7');
  expect(await isIn(room, 'n8')).toBe(true);
  expect(await shown(room, 'n1', 'n7')).toBeUndefined();
  await comesInto(room, 'n9', 'r2', undefined);
  expect(await isIn(room, 'n9')).toBe(true);
  expect(room.world.failures).toEqual([]);
});

test('one that dies while it leaves is replaced', async () => {
  const room = await roomWithKeys('leaver');
  expect(room.cluster.change('n4')).toBe(true);
  await diesCopying(room, 'n4');
  await comesInto(room, 'n8', 'r1', 'n4', 'n4');
  expect(await isIn(room, 'n8')).toBe(true);
  expect(await shown(room, 'n1', 'n4')).toBeUndefined();
  expect(room.world.failures).toEqual([]);
});

test('a leave steps back for the replacement of the dead node that is to take its ranges', async () => {
  const room = await roomWithKeys('rack');
  expect(room.cluster.change('n4')).toBe(true);
  await becomesCopying(room, 'n4');
  await dies(room, 'n1');
  await comesInto(room, 'n8', 'r1', 'n1', 'n1');
  expect(await isIn(room, 'n8')).toBe(true);
  const isThere = async (): Promise<boolean> => (await shown(room, 'n2', 'n4')) !== undefined;
  for (let tries = 0; tries < 100 && (await isThere()); tries++) await room.pass(second);
  expect(await isThere()).toBe(false);
  expect(room.world.failures).toEqual([]);
});

test('a replacement that dies before it has taken over gives way to the next one', async () => {
  const room = await roomWithKeys('heirs');
  await dies(room, 'n5');
  await comesInto(room, 'n7', 'r2', 'n5', 'n5');
  await diesCopying(room, 'n7');
  await comesInto(room, 'n8', 'r2', 'n5', 'n5');
  expect(await isIn(room, 'n8')).toBe(true);
  for (const gone of ['n5', 'n7']) expect(await shown(room, 'n1', gone)).toBeUndefined();
  // The first replacement returns after all, but its place is taken.
  room.cluster.start('n7');
  await room.pass(10 * second);
  expect((await shown(room, 'n1', 'n8'))?.['state']).toBe('NORMAL');
  expect(await shown(room, 'n1', 'n7')).toBeUndefined();
  expect(room.world.failures).toEqual([]);
});

test('of two replacements for one node the first takes its place, and the other stays outside', async () => {
  const room = await roomWithKeys('rivals');
  await dies(room, 'n5');
  await comesInto(room, 'n7', 'r2', 'n5', 'n5');
  await comesInto(room, 'n8', 'r2', 'n5', 'n5');
  const states = async (): Promise<readonly unknown[]> => {
    const records = [await shown(room, 'n1', 'n7'), await shown(room, 'n1', 'n8')];
    return records.map((record) => record?.['state']);
  };
  for (let tries = 0; tries < 600 && !(await states()).includes('NORMAL'); tries++) await room.pass(second);
  await room.pass(30 * second);
  const ended = await states();
  expect(ended.filter((state) => state === 'NORMAL')).toHaveLength(1);
  expect((await room.ask('n1', 'GET', '/buckets/b/keys/k1?r=all')).status).toBe(200);
  // The one that is outside waits in vain, and keeps no member from leaving.
  expect(room.cluster.change('n4')).toBe(true);
  await room.until(() => !room.cluster.isUp('n4'), 600 * second);
  expect(await shown(room, 'n1', 'n4')).toBeUndefined();
  expect(room.world.failures).toEqual([]);
});

test('a dead node of a datacenter with one rack is replaced', async () => {
  const room = new MemberHarness('one-rack', 3, crawling, 1);
  await room.startAll();
  await dies(room, 'n2');
  await comesInto(room, 'n4', 'r1', 'n2', 'n2');
  expect(await isIn(room, 'n4')).toBe(true);
  await room.pass(5 * second);
  expect(await shown(room, 'n1', 'n2')).toBeUndefined();
  expect(await shown(room, 'n1', 'n4')).toMatchObject({ state: 'NORMAL', move: 'none', owns: true });
  expect(room.world.failures).toEqual([]);
});

/** A node that has taken over n5's part of the ring shows that part as its own. */
async function hasShareOfN5(room: MemberHarness, name: string, share: unknown): Promise<void> {
  expect(await isIn(room, name)).toBe(true);
  await room.pass(5 * second);
  expect(await shown(room, name, name)).toMatchObject({ state: 'NORMAL', move: 'none', owns: true, share });
  expect((await room.ask(name, 'GET', '/buckets/b/keys/k1?r=all')).status).toBe(200);
}

async function roomOfAnHeir(seed: string): Promise<{ room: MemberHarness; share: unknown }> {
  const room = await roomWithKeys(seed);
  const share = (await shown(room, 'n1', 'n5'))?.['share'];
  await dies(room, 'n5');
  await comesInto(room, 'n7', 'r2', 'n5', 'n5');
  await hasShareOfN5(room, 'n7', share);
  return { room, share };
}

test('a replacement of a replacement receives the tokens that the latter had, and keeps them', async () => {
  const { room, share } = await roomOfAnHeir('told');
  const told: unknown[] = [];
  room.world.trace.on('membership.tokens.told', ({ host }) => told.push(host));
  await dies(room, 'n7');
  // Its file knows n7 by name alone.
  room.cluster.add({ name: 'n8', datacenter: 'dc1', rack: 'r2' }, { join: 'joining', replace: 'n7' });
  room.cluster.start('n8');
  expect(await room.until(() => told.length === 1, 10 * second)).toBe(true);
  // It receives the tokens again if it dies before it has taken anything over.
  room.cluster.crash('n8', 'dropAll', 'silent');
  await room.start('n8');
  await hasShareOfN5(room, 'n8', share);
  expect(told).toEqual(['n8', 'n8']);
  // By now its disk holds the tokens.
  room.cluster.crash('n8', 'dropAll', 'silent');
  await room.start('n8');
  await room.pass(2 * second);
  await hasShareOfN5(room, 'n8', share);
  expect(told).toHaveLength(2);
  expect(room.world.failures).toEqual([]);
});

test('a replacement that has lost its disk receives its tokens again', async () => {
  const { room, share } = await roomOfAnHeir('lost');
  room.cluster.crash('n7', 'dropAll', 'silent');
  room.cluster.host('n7').disk.wipe();
  room.cluster.reconfigure({ name: 'n7', datacenter: 'dc1', rack: 'r2' }, { join: 'member' });
  room.cluster.start('n7');
  await room.pass(5 * second);
  await hasShareOfN5(room, 'n7', share);
  expect(room.world.failures).toEqual([]);
});

test('a member whose file gives it other tokens keeps those that it has, and says so', async () => {
  const room = await roomWithKeys('kept');
  const kept: unknown[] = [];
  room.world.trace.on('membership.tokens.kept', ({ host }) => kept.push(host));
  const share = (await shown(room, 'n1', 'n5'))?.['share'];
  room.cluster.crash('n5', 'dropAll', 'silent');
  const tokens = tokensOfNode('n7' as NodeId, 16);
  room.cluster.reconfigure({ name: 'n5', datacenter: 'dc1', rack: 'r2' }, { tokens });
  await room.start('n5');
  await room.pass(2 * second);
  await hasShareOfN5(room, 'n5', share);
  expect(kept).toEqual(['n5']);
  expect(room.world.failures).toEqual([]);
});

function allButN5(room: MemberHarness): readonly string[] {
  return room.cluster.names.filter((name) => name !== 'n5');
}

/** All but n5 lose their power, and come back. */
async function outage(room: MemberHarness): Promise<void> {
  for (const name of allButN5(room)) room.cluster.crash(name, 'dropAll', 'silent');
  await room.start(...allButN5(room));
}

test('a node that no member has heard since an outage of all is down, and is replaced', async () => {
  const room = new MemberHarness('outage', 6, crawling, 3);
  await room.startAll();
  room.cluster.lose('n5');
  await outage(room);
  expect(await room.until(() => room.allAre('DOWN', ['n5'], allButN5(room)), 30 * second)).toBe(true);
  // Its own file names n5, with the tokens that follow from that name.
  room.cluster.add({ name: 'n7', datacenter: 'dc1', rack: 'r2' }, { join: 'joining', replace: 'n5' });
  await room.start('n7');
  expect(await isIn(room, 'n7')).toBe(true);
  // The others' files name n5 for ever.
  await room.pass(10 * second);
  await outage(room);
  const others = allButN5(room);
  expect(await room.until(() => room.allAre('NORMAL', others, others), 30 * second)).toBe(true);
  for (const name of others) expect(await shown(room, name, 'n5')).toBeUndefined();
  expect(room.world.failures).toEqual([]);
});

test('a node known for a minute is remembered through an outage of all: its replacement receives its tokens', async () => {
  const room = new MemberHarness('remembered', 6, crawling, 3);
  await room.startAll();
  const share = (await shown(room, 'n1', 'n5'))?.['share'];
  await room.pass(61 * second);
  room.cluster.lose('n5');
  await outage(room);
  const seeds = [1, 2, 3].map((number) => ({ ...nodeOf(number, 3), address: `n${number}:8101` }));
  room.cluster.add({ name: 'n7', datacenter: 'dc1', rack: 'r2' }, { join: 'joining', replace: 'n5', seeds });
  room.cluster.start('n7');
  expect(await isIn(room, 'n7')).toBe(true);
  expect(await shown(room, 'n7', 'n7')).toMatchObject({ state: 'NORMAL', share });
  expect(await shown(room, 'n1', 'n5')).toBeUndefined();
  expect(room.world.failures).toEqual([]);
});
