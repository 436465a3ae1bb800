/** Tests that a store whose disk is full frees segments without live records by itself. */
import { describe, expect, it } from 'vitest';

import { JournalDisk } from '../../explore/journal-disk.ts';
import type { Batch, Twin } from '../../explore/store-harness.ts';
import {
  applyBatch,
  contentsOf,
  makeStoreHarness,
  openStore,
  smallOptions,
  writeBatch,
} from '../../explore/store-harness.ts';
import { WorldRandom } from '../../world/core/random.ts';

const unmerged = { ...smallOptions, merge: { ...smallOptions.merge, enabled: false } };
const valueBytes = 200;
const put = (...keys: readonly number[]): Batch =>
  keys.map((key) => ({ key, value: Buffer.alloc(valueBytes, key) }));

/** A disk with what was written without any merge, and from then on space for `roomBytes` more. */
async function filled(batches: readonly Batch[], roomBytes: number): Promise<JournalDisk> {
  const before = new JournalDisk();
  const store = await openStore(makeStoreHarness(before, WorldRandom.root('full')), unmerged);
  for (const batch of batches) expect(await writeBatch(store, batch)).toBeUndefined();
  await store.close();
  const disk = new JournalDisk(before.image());
  const capacityBytes = usedBytes(disk) + roomBytes;
  disk.watch((operation) => (operation === 'write' && usedBytes(disk) >= capacityBytes ? 'fail' : undefined));
  return disk;
}

function usedBytes(disk: JournalDisk): number {
  return [...disk.image().values()].reduce((sum, bytes) => sum + bytes.length, 0);
}

/** Rounds that overwrite the first keys repeatedly and write one key of their own each. */
const rounds = Array.from({ length: 12 }, (_, round) => put(1, 2, 3, 4, 10 + round));
const keyCount = 22;

/** The contents of a store opened on the disk, once it is idle. */
async function tidied(disk: JournalDisk): Promise<Twin> {
  const store = await openStore(makeStoreHarness(disk, WorldRandom.root('full')), smallOptions);
  await store.settle();
  expect(await writeBatch(store, put(0))).toBeUndefined();
  const contents = await contentsOf(store, keyCount);
  await store.close();
  return contents;
}

describe('a full disk', () => {
  it('frees segments without live records, although no live record could be copied', async () => {
    const batches = [...rounds, put(...Array.from({ length: 6 }, (_, index) => 10 + index))];
    const disk = await filled(batches, 1);
    const before = usedBytes(disk);
    const contents = await tidied(disk);
    expect(contents).toEqual([...batches, put(0)].reduce<Twin>(applyBatch, new Map()));
    expect(usedBytes(disk)).toBeLessThan(before / 2);
  });

  it('is merged a segment at a time where more would not fit', async () => {
    const disk = await filled(rounds, 1000);
    const before = usedBytes(disk);
    const contents = await tidied(disk);
    expect(contents).toEqual([...rounds, put(0)].reduce<Twin>(applyBatch, new Map()));
    expect(usedBytes(disk)).toBeLessThan(before * 0.6);
  });
});
