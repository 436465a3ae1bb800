/** Tests what a store serves that has lost the segment to which it wrote last, at that start and at later ones. */
import { describe, expect, it } from 'vitest';

import { LockstepError } from '../../../engine/base/errors.ts';
import type { Store } from '../../../engine/storage/store.ts';
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

const options = { ...smallOptions, cacheBytes: 0, merge: { ...smallOptions.merge, enabled: false } };
const old = Buffer.from('old');
const newer = Buffer.from('newer');

function opened(image: DiskImage | undefined): {
  readonly disk: JournalDisk;
  readonly opening: Promise<Store>;
} {
  const disk = new JournalDisk(image);
  return { disk, opening: openStore(makeStoreHarness(disk, WorldRandom.root('lost open segment')), options) };
}

/** Keys 0 to 2 in a sealed segment, and a newer value of key 2, which was written last, in the open one. */
async function written(): Promise<DiskImage> {
  const first = opened(undefined);
  const store = await first.opening;
  for (let key = 0; key < 3; key++) expect(await writeBatch(store, [{ key, value: old }])).toBeUndefined();
  await store.close();
  const second = opened(first.disk.image());
  const again = await second.opening;
  expect(await writeBatch(again, [{ key: 2, value: newer }])).toBeUndefined();
  return second.disk.image();
}

const ways = {
  missing: (image: DiskImage, path: string) => new Map([...image].filter(([name]) => name !== path)),
  'shorter than its head': (image: DiskImage, path: string) => new Map([...image, [path, Buffer.alloc(3)]]),
};

describe.each(Object.entries(ways))('an open segment that is %s', (_, lose) => {
  it('makes every key doubtful, also the one written last before it', async () => {
    const store = await opened(await lost(lose)).opening;
    for (let key = 0; key < 3; key++)
      expect(() => store.get(keyNumber(key)), `key ${key}`).toThrow(LockstepError);
    await store.close();
  });

  it('makes no key doubtful at later starts that was written since', async () => {
    const start = opened(await lost(lose));
    const store = await start.opening;
    store.settleDamage();
    for (const key of [0, 1, 5]) expect(await writeBatch(store, [{ key, value: newer }])).toBeUndefined();
    await store.close();
    const next = await opened(start.disk.image()).opening;
    for (const key of [0, 1, 5]) expect(await next.get(keyNumber(key)), `key ${key}`).toEqual(newer);
    expect(() => next.get(keyNumber(2))).toThrow(LockstepError);
    await next.close();
  });
});

async function lost(lose: (image: DiskImage, path: string) => DiskImage): Promise<DiskImage> {
  const image = await written();
  const path =
    [...image.keys()]
      .filter((name) => name.endsWith('.log'))
      .toSorted()
      .at(-1) ?? '';
  return lose(image, path);
}
