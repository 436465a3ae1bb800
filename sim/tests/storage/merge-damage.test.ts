import { expect, it } from 'vitest';

import { LockstepError } from '../../../engine/base/errors.ts';
import { JournalDisk } from '../../explore/journal-disk.ts';
import {
  keyNumber,
  makeStoreHarness,
  openStore,
  smallOptions,
  storeDirectory,
  tokenNumber,
  writeBatch,
} from '../../explore/store-harness.ts';
import { WorldRandom } from '../../world/core/random.ts';

const options = { ...smallOptions, cacheBytes: 0, merge: { ...smallOptions.merge, enabled: false } };

it('damage that a merge finds makes its keys lost and their tokens dirty, and the segment stays', async () => {
  const disk = new JournalDisk();
  const random = WorldRandom.root('merge-damage');
  const first = await openStore(makeStoreHarness(disk, random), options);
  for (let key = 0; key < 9; key++) {
    expect(await writeBatch(first, [{ key, value: Buffer.alloc(60, key) }])).toBe(undefined);
  }
  await first.settle();
  await first.close();
  const image = disk.image();
  const path = [...image.keys()].find((name) => /\/\d+\.log$/.test(name)) ?? '';
  const flipped = Buffer.from(image.get(path) ?? Buffer.alloc(0));
  const place = flipped.indexOf(Buffer.alloc(60, 2));
  expect(place).toBeGreaterThan(0);
  flipped[place] = 77;

  const room = makeStoreHarness(new JournalDisk(new Map([...image, [path, flipped]])), random);
  const store = await openStore(room, options);
  expect(store.damages).toEqual([]);
  const dirty: number[] = [];
  store.fingerprints.listen((token) => dirty.push(token));
  await store.compact();
  expect(store.damages).toMatchObject([
    { kind: 'value', keyCount: 1, foundBy: 'merge', tokens: [tokenNumber(2)] },
  ]);
  expect(dirty).toEqual([tokenNumber(2)]);
  expect(() => store.get(keyNumber(2))).toThrow(LockstepError);
  expect(await store.get(keyNumber(3))).toEqual(Buffer.alloc(60, 3));
  expect(path.startsWith(storeDirectory)).toBe(true);
  await store.close();
});

it('removals beside a damaged segment are not merged again and again before the first write after a start', async () => {
  const disk = new JournalDisk();
  const random = WorldRandom.root('merge-damage-removals');
  const first = await openStore(makeStoreHarness(disk, random), options);
  for (let key = 0; key < 9; key++) await writeBatch(first, [{ key, value: Buffer.alloc(60, key) }]);
  await first.close();
  const second = await openStore(makeStoreHarness(disk, random), options);
  for (let key = 3; key < 9; key++) await writeBatch(second, [{ key, value: undefined }]);
  await second.close();
  const image = new Map([...disk.image()].filter(([name]) => !name.endsWith('.hint')));
  for (const [path, bytes] of image) {
    const place = bytes.indexOf(Buffer.alloc(60, 2));
    if (place < 0) continue;
    const flipped = Buffer.from(bytes);
    flipped[place] = 77;
    image.set(path, flipped);
  }

  const merging = { ...options, merge: { ...options.merge, enabled: true } };
  const store = await openStore(makeStoreHarness(new JournalDisk(image), random), merging);
  expect(store.damages).toMatchObject([{ kind: 'value', keyCount: 1 }]);
  await store.settle();
  expect(store.mergeCount).toBeLessThan(4);
  await store.close();
});
