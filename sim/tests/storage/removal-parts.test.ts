/** Tests that removals are dropped by merges of a bounded part each: a disk needs space for no more. */
import { expect, it } from 'vitest';

import type { Log } from '../../../engine/io/log.ts';
import { Store } from '../../../engine/storage/store.ts';
import type { DiskImage } from '../../explore/journal-disk.ts';
import { JournalDisk } from '../../explore/journal-disk.ts';
import {
  keyNumber,
  makeStoreHarness,
  openStore,
  smallOptions,
  writeBatch,
} from '../../explore/store-harness.ts';
import { WorldRandom } from '../../world/core/random.ts';

const quiet = { ...smallOptions, cacheBytes: 0, merge: { ...smallOptions.merge, enabled: false } };
const merging = { ...smallOptions, cacheBytes: 0 };
const liveCount = 200;
const value = Buffer.alloc(40, 7);

/** Many live keys in old segments, and behind them twice as many bytes of removals. */
async function written(): Promise<DiskImage> {
  const disk = new JournalDisk();
  const store = await openStore(makeStoreHarness(disk, WorldRandom.root('written')), quiet);
  for (let key = 0; key < liveCount; key++) await writeBatch(store, [{ key, value }]);
  for (let key = liveCount; key < 4 * liveCount; key++) {
    await writeBatch(store, [{ key, value: Buffer.alloc(0) }]);
    await writeBatch(store, [{ key, value: undefined }]);
  }
  await store.close();
  return disk.image();
}

it('the removals of a store go, and no merge copies more than its part', async () => {
  const disk = new JournalDisk(await written());
  const harness = makeStoreHarness(disk, WorldRandom.root('parts'));
  const outputBytes: number[] = [];
  const log: Log = {
    enabled: () => true,
    event: (_, name, fields) => {
      if (name === 'store.segments.merged') outputBytes.push(Number(fields?.['outputBytes']));
    },
  };
  const store = await Store.open({ ...harness.io, log }, 'store', merging);
  await store.settle();
  // What it writes on is sealed, and the next merges begin.
  for (let key = 0; key < 40; key++) await writeBatch(store, [{ key, value }]);
  await store.settle();
  const partBytes = merging.merge.copyBytesMax + 2 * merging.segmentBytes;
  expect(Math.max(...outputBytes)).toBeLessThan(partBytes);
  expect(store.diskBytes).toBeLessThan(1.5 * store.liveBytes);
  expect(harness.failures).toEqual([]);
  await store.close();
  const again = await openStore(
    makeStoreHarness(new JournalDisk(disk.image()), WorldRandom.root('again')),
    quiet,
  );
  expect(again.keyCount).toBe(liveCount);
  for (let key = 0; key < liveCount; key++) expect(await again.get(keyNumber(key))).toEqual(value);
  await again.close();
});
