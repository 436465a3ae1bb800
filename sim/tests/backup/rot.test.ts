/** Bit rot that a backup copies: the node that hands it out reports it. */
import { expect, test } from 'vitest';

import { NodeSnapshots } from '../../../engine/backup/node-snapshots.ts';
import type { Store } from '../../../engine/storage/store.ts';
import type { StoreHarness } from '../../explore/store-harness.ts';
import type { DiskImage } from '../../explore/journal-disk.ts';
import { JournalDisk } from '../../explore/journal-disk.ts';
import { makeStoreHarness, openStore, smallOptions, writeBatch } from '../../explore/store-harness.ts';
import { WorldRandom } from '../../world/core/random.ts';

const options = { ...smallOptions, cacheBytes: 0, merge: { ...smallOptions.merge, enabled: false } };
const random = WorldRandom.root('rot');

/** A batch of two keys, which the second batch replaces. */
async function written(): Promise<DiskImage> {
  const disk = new JournalDisk();
  const store = await openStore(makeStoreHarness(disk, random), options);
  for (const byte of [1, 2])
    await writeBatch(store, [
      { key: 0, value: Buffer.alloc(60, byte) },
      { key: 1, value: Buffer.alloc(60, byte + 10) },
    ]);
  await store.settle();
  await store.close();
  return disk.image();
}

/** A store over the image, with one byte changed: `behind` the first value of these bytes. */
async function rotten(image: DiskImage, byte: number, behind: number): Promise<[StoreHarness, Store]> {
  const path = [...image.keys()].find((name) => /\/\d+\.log$/.test(name)) ?? '';
  const bytes = Buffer.from(image.get(path) ?? Buffer.alloc(0));
  const place = bytes.indexOf(Buffer.alloc(60, byte));
  expect(place).toBeGreaterThan(0);
  bytes[place + behind] = (bytes[place + behind] ?? 0) ^ 0x40;
  const room = makeStoreHarness(new JournalDisk(new Map([...image, [path, bytes]])), random);
  const store = await openStore(room, options);
  expect(store.damages).toEqual([]);
  return [room, store];
}

/** Timers that are due at once. */
const hasty = (due: () => void): { cancel: () => void } => {
  let isCancelled = false;
  setImmediate(() => isCancelled || due());
  return { cancel: () => (isCancelled = true) };
};

/** Lets everything that is under way happen. */
async function turns(): Promise<void> {
  for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve));
}

test.each([
  ['a value', 2, 5, { kind: 'value', keyCount: 1 }],
  ['a replaced value', 1, 5, { kind: 'value', keyCount: 0 }],
  ['the head of a replaced record', 11, -40, { kind: 'record', keyCount: 0 }],
])(
  '%s that a backup reads is reported once, and the whole file is copied',
  async (_name, byte, at, damage) => {
    const [{ io, failures }, store] = await rotten(await written(), byte, at);
    const clock = {
      ...io.clock,
      after: (us: number, due: () => void) => (us > 1e6 ? io.clock.after(us, due) : hasty(due)),
    };
    const facts = {
      ...{ node: 'n1', datacenter: 'dc', rack: 'r', clusterId: 'c', incarnation: () => 1, view: () => '' },
      ...{ members: () => ['n1'], transactions: () => [] },
    };
    const snapshots = new NodeSnapshots({ io: { ...io, clock }, store, facts });
    for (const id of ['b1', 'b2']) {
      await snapshots.hold(id, 5_000);
      const { segments } = snapshots.cut(id);
      snapshots.release(id);
      for (const { number, bytes } of segments) {
        const chunk = await snapshots.read(id, number, 0, 1_000_000);
        expect(chunk.bytes.length).toBe(bytes);
        chunk.release();
      }
      snapshots.end(id);
      await turns();
      expect(store.damages).toMatchObject([{ ...damage, foundBy: 'verify' }]);
    }
    await snapshots.stop();
    await store.close();
    expect(failures).toEqual([]);
  },
);
