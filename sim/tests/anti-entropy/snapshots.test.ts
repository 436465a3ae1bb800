/**
 * Tests the tree over restarts: which snapshots are loaded, which are rejected, and that an old one hides no change.
 */
import { describe, expect, test } from 'vitest';

import { TreeHarness, second } from './tree-harness.ts';

const rejections = 'aae_snapshot_corruption_total';
const loads = 'aae_snapshot_load_total';
const saves = 'aae_snapshot_save_total';
const repaired = 'aae_repair_dispatched_total';
const path = 'aae/tree.snapshot';

async function settledRoom(
  seed: string,
  settings: Readonly<Record<string, unknown>> = {},
): Promise<TreeHarness> {
  const room = new TreeHarness(seed, 2, settings);
  await room.start();
  await room.put('n1', 'k', 30);
  await room.pass(5 * second);
  return room;
}

describe('a snapshot', () => {
  test('of an orderly stop spares the next start from reading anything', async () => {
    const room = await settledRoom('orderly');
    await room.stop('n1');
    const loaded: unknown[] = [];
    room.world.trace.on('aae.snapshot.loaded', ({ fields }) => loaded.push(fields['dirty']));
    await room.start('n1');
    expect(loaded).toEqual([0]);
    expect(await room.count('n1', loads)).toBe(1);
    expect(await room.count('n1', rejections)).toBe(0);
    await room.pass(10 * second);
    expect(await room.count('n1', repaired)).toBe(0);
  });

  test('with a flipped byte is rejected, set aside and counted once; the node serves and agrees', async () => {
    const room = await settledRoom('flipped');
    await room.stop('n1');
    expect(room.cluster.host('n1').disk.rot(path, 300, 2)).toBe(true);
    const reasons: unknown[] = [];
    room.world.trace.on('aae.snapshot.rejected', ({ fields }) => reasons.push(fields['reason']));
    await room.start('n1');
    expect(reasons).toEqual(['Corrupted']);
    expect(await room.count('n1', rejections)).toBe(1);
    expect(await room.count('n1', loads)).toBe(0);
    expect(room.cluster.host('n1').disk.durableFiles().has('aae/tree.rejected')).toBe(true);
    await room.pass(10 * second);
    expect(await room.count('n1', rejections)).toBe(1);
    expect(await room.count('n1', repaired)).toBe(0);
    await room.stop('n1');
    await room.start('n1');
    expect(await room.count('n1', loads)).toBe(1);
    expect(reasons).toHaveLength(1);
  });

  test('of another shape is rejected as such', async () => {
    const room = await settledRoom('shape');
    await room.stop('n1');
    const reasons: unknown[] = [];
    room.world.trace.on('aae.snapshot.rejected', ({ fields }) => reasons.push(fields['reason']));
    room.cluster.reconfigure({ name: 'n1', datacenter: 'dc1', rack: 'r1' }, { aae_segments: 1024 });
    await room.start('n1');
    expect(reasons).toEqual(['BadShape']);
    expect(await room.count('n1', rejections)).toBe(1);
    await room.pass(8 * second);
    expect(await room.count('n1', 'aae_exchange_success_total')).toBeGreaterThan(2);
    expect(await room.count('n1', repaired)).toBe(0);
  });

  test('that is old, after a crash, makes no changed key look equal', async () => {
    const room = await settledRoom('stale', { aae_snapshot_interval_seconds: 1 });
    // The snapshot on the disk is current here; what follows is newer.
    await room.pass(3 * second);
    const saved = await room.count('n2', saves);
    expect(saved).toBeGreaterThan(0);
    room.world.network.partition(['n1'], ['n2']);
    await room.put('n1', 'k', 30, 'newer');
    room.cluster.crash('n1', 'keepAll', 'reset');
    room.cluster.crash('n2', 'keepAll', 'reset');
    room.world.network.heal();
    await room.start();
    await room.pass(15 * second);
    expect((await room.count('n1', repaired)) + (await room.count('n2', repaired))).toBe(30);
    const [left, right] = await room.dumps();
    expect([...(left ?? [])]).toEqual([...(right ?? [])]);
  });

  test('put back from an old copy of the disk beside a newer store says nothing of what changed since', async () => {
    const room = await settledRoom('put back');
    await room.stop('n1');
    const old = room.cluster.host('n1').disk.durableFiles().get(path);
    await room.start('n1');
    await room.put('n1', 'k', 20, 'newer');
    await room.stop('n1');
    await room.writeFile('n1', path, old);
    const dirty: unknown[] = [];
    room.world.trace.on('aae.snapshot.loaded', ({ fields }) => dirty.push(fields['dirty']));
    await room.start('n1');
    expect(dirty).toHaveLength(1);
    expect(Number(dirty[0])).toBeGreaterThan(10);
    await room.pass(10 * second);
    expect(await room.count('n1', repaired)).toBe(0);
  });

  test('that is newer than the store is dropped', async () => {
    const room = await settledRoom('newer');
    await room.stop('n1');
    const disk = room.cluster.host('n1').disk;
    const copy = disk.copy();
    await room.start('n1');
    await room.put('n1', 'late', 20);
    await room.pass(3 * second);
    await room.stop('n1');
    const newer = disk.durableFiles().get(path);
    disk.mount('disk-rollback', copy);
    await room.writeFile('n1', path, newer);
    const dropped: unknown[] = [];
    room.world.trace.on('aae.snapshot.dropped', ({ atUs }) => dropped.push(atUs));
    await room.start('n1');
    expect(dropped).toHaveLength(1);
    await room.pass(15 * second);
    const [left, right] = await room.dumps();
    expect([...(left ?? [])]).toEqual([...(right ?? [])]);
    expect(left?.size).toBe(50);
  });
});
