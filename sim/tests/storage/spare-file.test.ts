import { describe, expect, it } from 'vitest';

import { present } from '../../../engine/base/assert.ts';
import { segmentName } from '../../../engine/storage/log/file-names.ts';
import { readManifest } from '../../../engine/storage/recovery/identity.ts';
import { encodeSegmentHead, segmentHeadBytes } from '../../../engine/storage/log/record.ts';
import { verifyStore } from '../../../engine/storage/recovery/verify.ts';
import type { DiskImage } from '../../explore/journal-disk.ts';
import { JournalDisk } from '../../explore/journal-disk.ts';
import type { Twin } from '../../explore/store-harness.ts';
import {
  applyBatch,
  contentsOf,
  makeStoreHarness,
  openStore,
  rewriting,
  sameContents,
  smallOptions,
  storeDirectory,
  writeBatch,
} from '../../explore/store-harness.ts';
import { WorldRandom } from '../../world/core/random.ts';

const keyCount = 6;
const batches = rewriting(keyCount, 60);
const twin = batches.reduce<Twin>(applyBatch, new Map());

describe('the file of a dropped segment', () => {
  it('is the next segment of the log, and what is kept at the end is removed', async () => {
    const { image, renamed, freed } = await rewritten();
    expect(renamed).toBeGreaterThan(3);
    expect(freed).toBeGreaterThan(0);
    const disk = new JournalDisk(image);
    expect((await verifyStore(disk, storeDirectory, () => undefined)).findings).toEqual([]);
    const store = await openStore(makeStoreHarness(disk, WorldRandom.root('spare')), smallOptions);
    expect(store.recovery).toMatchObject({ strayFiles: 0, tornTails: 0 });
    expect(sameContents(await contentsOf(store, keyCount), twin)).toBe(true);
  });

  it('is no segment while no manifest names it, unless something was written to it', async () => {
    const { image } = await rewritten();
    const { manifest } = present(await readManifest(new JournalDisk(image), storeDirectory), 'a manifest');
    const number = manifest.nextNumber;
    const path = `${storeDirectory}/${segmentName(number)}`;
    // After a crash, the file may still have its previous head, too.
    for (const head of [number, number - 1]) {
      const bytes = Buffer.alloc(smallOptions.segmentBytes + 100);
      encodeSegmentHead(manifest.storeId, head, 'log').copy(bytes);
      const disk = new JournalDisk(new Map([...image, [path, bytes]]));
      expect((await verifyStore(disk, storeDirectory, () => undefined)).findings).toEqual([]);
      const store = await openStore(makeStoreHarness(disk, WorldRandom.root('spare')), smallOptions);
      expect(store.recovery.strayFiles).toBe(1);
      expect(disk.image().has(path)).toBe(false);
      for (const place of [segmentHeadBytes, bytes.length - 8]) {
        const written = Buffer.from(bytes).fill(1, place, place + 8);
        const other = new JournalDisk(new Map([...image, [path, written]]));
        const room = makeStoreHarness(other, WorldRandom.root('spare'));
        await expect(openStore(room, smallOptions)).rejects.toMatchObject({ code: 'Corrupted' });
        expect(other.image().has(path)).toBe(true);
      }
    }
  });
});

/** A store that was overwritten repeatedly and stopped, with the numbers of segment files renamed and removed. */
async function rewritten(): Promise<{ image: DiskImage; renamed: number; freed: number }> {
  const disk = new JournalDisk();
  let renamed = 0;
  let freed = 0;
  disk.watch((operation, path) => {
    if (operation === 'rename' && path.endsWith('.log')) renamed += 1;
    if (operation === 'remove' && path.endsWith('.log')) freed += 1;
    return undefined;
  });
  const room = makeStoreHarness(disk, WorldRandom.root('spare'));
  const store = await openStore(room, smallOptions);
  for (const batch of batches) expect(await writeBatch(store, batch)).toBe(undefined);
  await store.close();
  expect(room.failures).toEqual([]);
  return { image: disk.image(), renamed, freed };
}
