/**
 * Tests what becomes of a damaged segment: it stays while a key's newest record in it is lost, or a removal that only
 * the memory knows. Then it is merged, so that removals beside it need not stay for ever.
 */
import { describe, expect, it } from 'vitest';

import { present } from '../../../engine/base/assert.ts';
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

const quiet = { ...smallOptions, cacheBytes: 0, merge: { ...smallOptions.merge, enabled: false } };
const merging = { ...smallOptions, cacheBytes: 0 };

function reopened(image?: DiskImage, options = merging): { disk: JournalDisk; opening: Promise<Store> } {
  const disk = new JournalDisk(image);
  return { disk, opening: openStore(makeStoreHarness(disk, WorldRandom.root('damaged')), options) };
}

const valueOf = (key: number): Buffer => Buffer.alloc(60, key + 1);

/** Keys 0 to 8 in a first segment, of which key 8 is removed again in a second one. */
async function written(): Promise<DiskImage> {
  const first = reopened(undefined, quiet);
  const store = await first.opening;
  for (let key = 0; key < 9; key++) await writeBatch(store, [{ key, value: valueOf(key) }]);
  await store.close();
  const second = reopened(first.disk.image(), quiet);
  const again = await second.opening;
  await writeBatch(again, [{ key: 8, value: undefined }]);
  await writeBatch(again, [{ key: 9, value: valueOf(9) }]);
  await again.close();
  return second.disk.image();
}

/** The image with one bit changed in the last byte of `mark`, in the last segment that holds it. */
function rotten(image: DiskImage, mark: Buffer): DiskImage {
  const holding = [...image].filter(([name, content]) => /\d\.log$/.test(name) && content.includes(mark));
  const [path, bytes] = present(holding.toSorted().at(-1), 'a segment with the record');
  const changed = Buffer.from(bytes);
  const place = changed.indexOf(mark) + mark.length - 1;
  changed[place] = (changed[place] ?? 0) ^ 0x40;
  return new Map([...image, [path, changed]]);
}

const damagedFiles = (image: DiskImage): readonly string[] =>
  [...image.keys()].filter((name) => name.endsWith('.damaged'));

async function churn(store: Store): Promise<void> {
  for (let key = 100; key < 300; key++) {
    await writeBatch(store, [{ key, value: valueOf(1) }]);
    await writeBatch(store, [{ key, value: undefined }]);
  }
  await store.settle();
}

describe('a damaged segment', () => {
  it('is merged and set aside once its lost key is written again; the removals beside it go', async () => {
    const { disk, opening } = reopened(rotten(await written(), valueOf(2)));
    const store = await opening;
    await store.settle();
    await expect((async () => store.get(keyNumber(2)))()).rejects.toThrow(LockstepError);
    await churn(store);
    expect(damagedFiles(disk.image())).toEqual([]);
    const before = store.diskBytes;
    expect(await writeBatch(store, [{ key: 2, value: valueOf(2) }])).toBeUndefined();
    await churn(store);
    expect(damagedFiles(disk.image())).toHaveLength(1);
    expect(store.diskBytes).toBeLessThan(before / 2);
    await store.close();
    const again = await reopened(disk.image()).opening;
    expect(again.damages).toEqual([]);
    for (let key = 0; key < 8; key++) expect(await again.get(keyNumber(key)), `${key}`).toEqual(valueOf(key));
    expect(again.keyCount).toBe(9);
    await again.close();
  });

  it('stays while a removal in it is unreadable that the memory knows: the key does not come back', async () => {
    // The start reads the keys from hint files, and a merge meets the damage.
    const { disk, opening } = reopened(rotten(await written(), Buffer.from(keyNumber(8), 'latin1')));
    const store = await opening;
    await churn(store);
    expect(store.damages).toMatchObject([{ kind: 'record', foundBy: 'merge' }]);
    await churn(store);
    expect(damagedFiles(disk.image())).toEqual([]);
    await store.close();
    const again = await reopened(disk.image()).opening;
    expect(await again.get(keyNumber(8))).toBeUndefined();
    expect(await again.get(keyNumber(9))).toEqual(valueOf(9));
    await again.close();
  });

  it('stays while records of unknown keys are lost in it, however often the store is opened', async () => {
    const image = await written();
    const unhinted = new Map([...image].filter(([name]) => !name.endsWith('.hint')));
    const { disk, opening } = reopened(rotten(unhinted, Buffer.from(keyNumber(8), 'latin1')));
    const store = await opening;
    await churn(store);
    expect(() => store.get(keyNumber(8))).toThrow(LockstepError);
    expect(damagedFiles(disk.image())).toEqual([]);
    await store.close();
    const again = await reopened(disk.image()).opening;
    expect(() => again.get(keyNumber(8))).toThrow(LockstepError);
    await again.close();
  });
});
