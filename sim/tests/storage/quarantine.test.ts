/** Tests that an unreadable hint store does not prevent its node's start: it is quarantined, wherever a crash comes. */
import { describe, expect, it } from 'vitest';

import { openOrQuarantine } from '../../../engine/storage/recovery/quarantine.ts';
import { crashImages } from '../../explore/crash-images.ts';
import type { DiskImage, DiskMoment } from '../../explore/journal-disk.ts';
import { JournalDisk } from '../../explore/journal-disk.ts';
import {
  contentsOf,
  makeStoreHarness,
  manifestPath,
  openStore,
  rewriting,
  smallOptions,
  storeDirectory,
  writeBatch,
} from '../../explore/store-harness.ts';
import { WorldRandom } from '../../world/core/random.ts';

const keyCount = 9;
const fresh = { key: 1, value: Buffer.from('fresh') };

describe('a store that is set aside', () => {
  it('is replaced by an empty one after every crash, and loses no segment when its process is killed', async () => {
    const { older, image } = await written();
    const rotten = Buffer.alloc(5000, 0xff);
    for (const manifest of [rotten, undefined, older]) {
      const damaged = new Map(image);
      if (manifest === undefined) damaged.delete(manifestPath);
      else damaged.set(manifestPath, manifest);
      const moments = await momentsOfOpening(damaged);
      expect(moments.length).toBeGreaterThan(10);
      for (const moment of moments) {
        const { images } = crashImages(moment, 6, WorldRandom.root('set aside'));
        for (const crashed of images) await mustOpenEmpty(crashed);
        mustHoldSegments(await mustOpenEmpty(JournalDisk.after(moment).image()), image);
      }
    }
  });

  it('is one that is corrupted: another node’s is refused', async () => {
    const { image } = await written();
    const foreign = { ...smallOptions, nodeName: 'n2' };
    const opening = openOrQuarantine(room(new JournalDisk(image)).io, storeDirectory, foreign);
    await expect(opening).rejects.toMatchObject({ code: 'StoreForeign' });
  });
});

/** The disk before each operation of an opening. */
async function momentsOfOpening(image: DiskImage): Promise<readonly DiskMoment[]> {
  const disk = new JournalDisk(image);
  const moments: DiskMoment[] = [];
  disk.watch(() => {
    moments.push(disk.moment());
    return undefined;
  });
  await openOrQuarantine(room(disk).io, storeDirectory, smallOptions);
  return moments;
}

async function mustOpenEmpty(crashed: DiskImage): Promise<DiskImage> {
  const disk = new JournalDisk(crashed);
  const store = await openOrQuarantine(room(disk).io, storeDirectory, smallOptions);
  expect([...(await contentsOf(store, keyCount)).keys()]).toEqual([]);
  expect(await writeBatch(store, [fresh])).toBeUndefined();
  const again = await openStore(room(new JournalDisk(disk.image())), smallOptions);
  expect((await contentsOf(again, keyCount)).get(1)).toEqual(fresh.value);
  return disk.image();
}

function mustHoldSegments(image: DiskImage, before: DiskImage): void {
  const left = [...image.values()].map((bytes) => bytes.toString('latin1'));
  for (const [path, bytes] of before) {
    if (path.endsWith('.log')) expect(left).toContain(bytes.toString('latin1'));
  }
}

/** The files of a stopped store, and the first manifest that named a segment of it. */
async function written(): Promise<{ older: Buffer; image: DiskImage }> {
  const disk = new JournalDisk();
  const store = await openStore(room(disk), smallOptions);
  let older: Buffer | undefined;
  for (const batch of rewriting(keyCount, 40)) {
    expect(await writeBatch(store, batch)).toBeUndefined();
    older ??= Buffer.from(disk.image().get(manifestPath) ?? '');
  }
  await store.close();
  return { older: older ?? Buffer.alloc(0), image: disk.image() };
}

function room(disk: JournalDisk): ReturnType<typeof makeStoreHarness> {
  return makeStoreHarness(disk, WorldRandom.root('set aside'));
}
