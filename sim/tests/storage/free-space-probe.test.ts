/**
 * Tests the probe of a store whose disk was full: it reports free space once there is some, not before, and leaves
 * nothing behind.
 */
import { describe, expect, it } from 'vitest';

import type { Io } from '../../../engine/io/io.ts';
import { Store } from '../../../engine/storage/store.ts';
import { smallOptions, writeBatch } from '../../explore/store-harness.ts';
import type { Host } from '../../world/cluster/host.ts';
import { World } from '../../world/world.ts';

const second = 1_000_000;
/** Longer than the interval between two probes, however long the disk has been full. */
const aWhile = 17 * second;
const batch = [{ key: 1, value: Buffer.alloc(300, 1) }];

interface Stage {
  readonly world: World;
  readonly host: Host;
  readonly io: Io;
  readonly store: Store;
  found: number;
}

/** Runs a task of the host until it ends. */
async function run<T>({ world, io }: Pick<Stage, 'world' | 'io'>, task: () => Promise<T>): Promise<T> {
  const outcome: { value?: T } = {};
  io.spawn('task', async () => {
    outcome.value = await task();
  });
  await world.runUntil(() => 'value' in outcome, 60 * second);
  return outcome.value as T;
}

/** A store that has just found its disk full: it has written something, and `roomBytes` are free. */
async function full(seed: string, roomBytes: number): Promise<Stage> {
  const world = new World({ seed });
  const host = world.addHost('n1');
  const io = host.boot();
  const store = await run({ world, io }, () => Store.open(io, 'store', smallOptions));
  const stage: Stage = { world, host, io, store, found: 0 };
  store.onSpaceAvailable(() => (stage.found += 1));
  expect(await run(stage, () => writeBatch(store, batch))).toBeUndefined();
  host.disk.setCapacity(host.disk.usedBytes + roomBytes);
  while (store.state === 'open') await run(stage, () => writeBatch(store, batch));
  return stage;
}

const pass = ({ world }: Stage, us: number): Promise<void> => world.run({ untilUs: world.nowUs + us });

const files = ({ io }: Stage): Promise<readonly string[]> => io.disk.list('store');

describe('a store that has found its disk full', () => {
  it('reports free space once, when there is some', async () => {
    const stage = await full('room', 0);
    await pass(stage, 10 * aWhile);
    expect(stage.found).toBe(0);
    stage.host.disk.setCapacity(undefined);
    await pass(stage, aWhile);
    expect(stage.found).toBe(1);
    await pass(stage, 10 * aWhile);
    expect(stage.found).toBe(1);
    // A node may take longer to start than its disk takes to have free space.
    stage.store.onSpaceAvailable(() => (stage.found += 1));
    expect(stage.found).toBe(2);
    expect(await run(stage, () => files(stage))).not.toContain('ROOM');
    await run(stage, () => stage.store.close());
    const { store } = await reopened(stage);
    expect(await run(stage, () => writeBatch(store, batch))).toBeUndefined();
    await run(stage, () => store.close());
    expect(stage.world.failures).toEqual([]);
  });

  it('ignores a few free bytes', async () => {
    const stage = await full('few', 0);
    stage.host.disk.setCapacity(stage.host.disk.usedBytes + 600);
    const before = stage.host.disk.usedBytes;
    await pass(stage, 10 * aWhile);
    expect([stage.found, stage.host.disk.usedBytes]).toEqual([0, before]);
  });

  it('reports nothing when it is closed, and leaves no file, however far its probe has come', async () => {
    for (let untilUs = 2 * second; untilUs < 2 * second + 4000; untilUs += 100) {
      const stage = await full('closed', 0);
      stage.host.disk.setCapacity(undefined);
      await pass(stage, untilUs);
      const { found } = stage;
      await run(stage, () => stage.store.close());
      await pass(stage, aWhile);
      expect(stage.found).toBe(found);
      expect(await run(stage, () => files(stage))).not.toContain('ROOM');
      expect(stage.host.stop()).toMatchObject({ timers: 0, files: [], locks: [], tasks: [] });
    }
  });

  it('says nothing when it failed for another reason', async () => {
    const stage = await full('room', 0);
    await run(stage, () => stage.store.close());
    stage.host.disk.setCapacity(undefined);
    const again = await reopened(stage);
    stage.host.disk.inject({ kind: 'sync-error', chance: [1, 1] });
    await run(stage, () => writeBatch(again.store, batch));
    stage.host.disk.heal();
    expect(again.store.state).toBe('failed');
    await pass(stage, aWhile);
    expect(again.found()).toBe(0);
    await run(stage, () => again.store.close());
  });

  it('leaves nothing to the next incarnation when it ends during a probe', async () => {
    const stage = await full('crash', 0);
    await run(stage, async () => {
      const left = await stage.io.disk.open('store/ROOM', 'create');
      await left.close();
      await stage.io.disk.syncDirectory('store');
    });
    stage.host.crash('keepAll', 'silent');
    stage.host.disk.setCapacity(undefined);
    const io = stage.host.boot();
    const store = await run({ ...stage, io }, () => Store.open(io, 'store', smallOptions));
    expect(await run({ ...stage, io }, () => io.disk.list('store'))).not.toContain('ROOM');
    await run({ ...stage, io }, () => store.close());
  });
});

async function reopened(stage: Stage): Promise<{ readonly store: Store; readonly found: () => number }> {
  const store = await run(stage, () => Store.open(stage.io, 'store', smallOptions));
  let count = 0;
  store.onSpaceAvailable(() => (count += 1));
  return { store, found: () => count };
}
