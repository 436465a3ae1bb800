import { describe, expect, it } from 'vitest';

import { LockstepError } from '../../../engine/base/errors.ts';
import { rebuildManifest } from '../../../engine/storage/recovery/rebuild-manifest.ts';
import { verifyStore } from '../../../engine/storage/recovery/verify.ts';
import type { DiskImage } from '../../explore/journal-disk.ts';
import { JournalDisk } from '../../explore/journal-disk.ts';
import type { Twin } from '../../explore/store-harness.ts';
import {
  applyBatch,
  contentsOf,
  describeTwin,
  keyNumber,
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
const options = { ...smallOptions, merge: { ...smallOptions.merge, enabled: false } };
const batches = rewriting(keyCount, 60);
const twin = batches.reduce<Twin>(applyBatch, new Map());

describe('a store whose manifest is lost', () => {
  it('is refused with the ways out, and is all there once its manifest was made again', async () => {
    for (const end of ['killed', 'stopped'] as const) {
      for (const loss of ['removed', 'zeros'] as const) {
        const disk = new JournalDisk(withoutManifest(await written(end), loss));
        await expect(open(disk)).rejects.toThrow(/start empty.*lockstep store rebuild DIR --node NAME/);
        const report = await rebuildManifest(disk, storeDirectory, 'n1', 0);
        expect(report.segments).toBeGreaterThan(3);
        expect(report.setAside).toEqual([]);
        const store = await open(disk);
        expect(describeTwin(await contentsOf(store, keyCount))).toBe(describeTwin(twin));
        expect(store.damages).toEqual([]);
        await store.close();
      }
    }
  });

  it('shows its damage after the rebuilding as before, and keeps what cannot be read', async () => {
    const lost = withoutManifest(await written('killed'), 'removed');
    const image = new Map([...lost].filter(([path]) => !path.endsWith('.hint')));
    const [first = '', second = ''] = [...image.keys()].filter((path) => path.endsWith('.log')).toSorted();
    image.set(first, Buffer.alloc(image.get(first)?.length ?? 0, 7));
    const rotten = Buffer.from(image.get(second) ?? '');
    rotten[150] = (rotten[150] ?? 0) ^ 1;
    image.set(second, rotten);
    const disk = new JournalDisk(image);
    const { setAside } = await rebuildManifest(disk, storeDirectory, 'n1', 0);
    expect(setAside.map((name) => `${storeDirectory}/${name}`)).toEqual([first]);
    expect(disk.image().get(`${first}.unread`)).toEqual(image.get(first));
    const { findings } = await verifyStore(disk, storeDirectory, () => undefined);
    expect(findings.some(({ file }) => second.endsWith(file))).toBe(true);
    const store = await open(disk);
    expect(store.damages.length).toBeGreaterThan(0);
    // Later segments hold later values of every key.
    const value = await store.get(keyNumber(1));
    expect(value?.length).toBe(twin.get(1)?.length);
  });

  it('is not rebuilt when the manifest is sound, nor from the segments of two stores', async () => {
    const image = await written('stopped');
    const sound = rebuildManifest(new JournalDisk(image), storeDirectory, 'n1', 0);
    await expect(sound).rejects.toMatchObject({ code: 'BadRequest' });
    const other = await written('stopped', 'another');
    const [path = ''] = [...other.keys()].filter((name) => name.endsWith('1.log'));
    const mixed = new Map([...withoutManifest(image, 'removed'), [path, other.get(path) ?? Buffer.alloc(0)]]);
    const two = rebuildManifest(new JournalDisk(mixed), storeDirectory, 'n1', 0);
    await expect(two).rejects.toThrow(LockstepError);
    await expect(two).rejects.toThrow('several stores');
  });
});

async function written(end: 'killed' | 'stopped', seed = 'rebuild'): Promise<DiskImage> {
  const disk = new JournalDisk();
  const store = await openStore(makeStoreHarness(disk, WorldRandom.root(seed)), options);
  for (const batch of batches) expect(await writeBatch(store, batch)).toBeUndefined();
  await store.settle();
  if (end === 'stopped') await store.close();
  return disk.image();
}

function open(disk: JournalDisk): ReturnType<typeof openStore> {
  return openStore(makeStoreHarness(disk, WorldRandom.root('rebuild again')), options);
}

function withoutManifest(image: DiskImage, loss: 'removed' | 'zeros'): DiskImage {
  const rest = new Map(image);
  const manifest = rest.get(manifestPath);
  rest.delete(manifestPath);
  return loss === 'removed' ? rest : rest.set(manifestPath, Buffer.alloc(manifest?.length ?? 0));
}
