/**
 * Backups of clusters in the world: whatever happens meanwhile, what a backup holds is a state that the history passed
 * through, no older than the start of the backup.
 */
import { describe, expect, test } from 'vitest';

import { sendState } from '../../../engine/backup/restore.ts';
import { verifyBackup } from '../../../engine/backup/verify-backup.ts';
import { MemberHarness, nodeOf, second } from '../cluster/member-harness.ts';
import { BackupHarness, stateNumber } from './backup-harness.ts';

const settings = { gossip_interval_ms: 200 };

async function running(seed: string, count = 3): Promise<BackupHarness> {
  const harness = new BackupHarness(seed, count, settings);
  await harness.room.startAll();
  harness.startWriting();
  await harness.room.pass(2 * second);
  return harness;
}

/** The state number of the newest backup, which must lie between the given committed and sent transactions. */
async function checked(harness: BackupHarness, committedBefore: number): Promise<number> {
  const state = await harness.open();
  const restored = await harness.read(state);
  await harness.settled(state.close());
  const number = stateNumber(restored);
  expect(number).toBeGreaterThanOrEqual(committedBefore);
  expect(number).toBeLessThanOrEqual(harness.sent);
  return number;
}

describe('a backup', () => {
  test('holds a state of the history, and the next one shares its sealed segments', async () => {
    const harness = await running('backup');
    for (const round of [1, 2, 3]) {
      const before = harness.committed;
      const { manifest } = await harness.settled(harness.backup(harness.room.cluster.names));
      expect([round, manifest.nodes.map(({ node }) => node)]).toEqual([round, ['n1', 'n2', 'n3']]);
      await checked(harness, before);
      await harness.room.pass(142_857);
    }
    await harness.stopWriting();
    for (const name of ['n1', 'n2', 'n3']) {
      harness.room.cluster.crash(name, 'keepAll', 'silent');
      await harness.room.start(name);
    }
    const first = await harness.settled(harness.backup(harness.room.cluster.names));
    const second = await harness.settled(harness.backup(harness.room.cluster.names));
    expect(first.sharedBytes + first.copiedBytes).toBeGreaterThan(0);
    expect(second.sharedBytes).toBeGreaterThan(0);
    const ids = await harness.settled(harness.repository.ids());
    const check = await harness.settled(
      verifyBackup(harness.repository, await harness.settled(harness.repository.manifest())),
    );
    expect([ids, check.findings]).toEqual([['b1', 'b2', 'b3', 'b4', 'b5'], []]);
    expect(harness.room.world.failures).toEqual([]);
  });

  test('with a place that cannot be read in a segment of one node is restored from the others', async () => {
    const harness = await running('backup-rot');
    const { names } = harness.room.cluster;
    const { manifest } = await harness.settled(harness.backup(names));
    const { disk } = harness.operator.io;
    /** Reads what the backup holds, and removes the hint files, by which the next start would not see the rot. */
    const read = async () => {
      const state = await harness.open();
      const found = await harness.read(state);
      await harness.settled(state.close());
      const remove = async (): Promise<void> => {
        for (const name of names)
          for (const file of await disk.list(`stage/b1/${name}`))
            if (file.endsWith('.hint')) await disk.remove(`stage/b1/${name}/${file}`);
      };
      await harness.settled(remove());
      return { found, ...state.unreadable };
    };
    const { found: whole } = await read();
    const rot = async (index: number): Promise<void> => {
      const { sha256 = '', bytes = 0 } = manifest.nodes[index]?.segments.at(-1) ?? {};
      const file = await disk.open(`segments/${sha256}`, 'readWrite');
      const found = Buffer.alloc(bytes);
      await file.readAt(found, 0);
      // The heads of its last group and record: every record before them may have been replaced by one that is lost.
      await file.writeAt([Buffer.alloc(60)], found.lastIndexOf('LGRP'));
      await file.close();
    };
    await harness.settled(rot(0));
    const one = await read();
    expect([one.found, one.keys]).toEqual([whole, 0]);
    expect(one.copies).toBeGreaterThan(0);
    // What can still be read of a key that is doubtful everywhere is restored, and counted.
    await harness.settled(rot(1));
    await harness.settled(rot(2));
    const all = await read();
    expect([...all.found.keys()].filter((key) => !whole.has(key))).toEqual([]);
    expect(all.found.size).toBeGreaterThan(0);
    expect(all.keys).toBeGreaterThan(0);
    expect(harness.room.world.failures).toEqual([]);
  });

  test('that loses a node midway is none, and the next attempt gives one', async () => {
    for (const [survival, seed] of [
      ['keepAll', 'killed'],
      ['dropAll', 'power lost'],
      ['torn', 'torn'],
    ] as const) {
      const harness = await running(seed);
      const before = harness.committed;
      const backup = harness.backup(harness.room.cluster.names);
      harness.room.cluster.crash('n2', survival, 'silent');
      await harness.room.start('n2');
      // Taken after the crash, or given up because its pins were lost.
      const taken = await harness.settled(
        backup.then(
          () => true,
          () => false,
        ),
      );
      if (!taken) await harness.settled(harness.backup(harness.room.cluster.names));
      await checked(harness, before);
      await harness.stopWriting();
    }
  });

  test('while a node joins holds a state of the history, and names a member that was left out', async () => {
    const harness = new BackupHarness('joins', 4, { ...settings, transfer_bytes_per_second: 10_000_000 }, 3);
    await harness.room.startAll();
    harness.startWriting();
    await harness.room.pass(2 * second);
    harness.room.cluster.add({ name: 'n5', datacenter: 'dc1', rack: 'r2' }, { join: 'joining' });
    harness.room.cluster.start('n5');
    let taken = 0;
    for (let round = 0; round < 3; round++) {
      const before = harness.committed;
      const names = harness.room.cluster.names.filter((name) => harness.room.cluster.serves(name));
      const done = await harness.settled(
        harness.backup(names).then(
          () => true,
          () => false,
        ),
      );
      if (done) await checked(harness, before);
      taken += done ? 1 : 0;
      await harness.room.pass(second);
    }
    expect(taken).toBeGreaterThan(0);
    await expect(harness.settled(harness.backup(['n1', 'n2', 'n3', 'n5']))).rejects.toThrow(
      'n4 belong to the cluster',
    );
    await harness.stopWriting();
  });

  test('is restored into a cluster of five nodes in two datacenters', async () => {
    const harness = await running('restored');
    await harness.settled(harness.backup(harness.room.cluster.names));
    await harness.stopWriting();
    const state = await harness.open();
    const number = stateNumber(await harness.read(state));
    const target = new MemberHarness('target', 5, settings, 3, (number, racks) => {
      return { ...nodeOf(number, racks), datacenter: number <= 3 ? 'east' : 'west' };
    });
    await target.startAll();
    const batches: Buffer[] = [];
    await harness.settled(sendState(state, async (batch) => void batches.push(await Promise.resolve(batch))));
    for (const batch of batches) {
      const host =
        target.world.hosts.find(({ name }) => name === 'restorer') ?? target.world.addHost('restorer');
      if (!host.alive) host.boot();
      const sent = { method: 'POST', path: '/backup/restore', body: batch } as const;
      const answer = target.world
        .httpClient(host)
        .request(target.cluster.address('n2', 'http'), sent, 5 * second);
      await target.world.runUntil(answer, 10 * second);
      const { status, body } = await answer;
      expect([status, body.toString()]).toEqual([200, expect.stringContaining('merged')]);
    }
    const found = new Map<string, string>();
    for (let pair = 0; pair < 6; pair++) {
      for (const key of [`x${pair}`, `y${pair}`])
        found.set(key, (await target.ask('n4', 'GET', `/buckets/b/keys/${key}`)).body.toString());
    }
    expect(stateNumber(found)).toBe(number);
    await harness.settled(state.close());
  });
});
