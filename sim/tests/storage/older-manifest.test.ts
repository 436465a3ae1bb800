/**
 * Tests a manifest that is older than the files beside it, as after a disk that acknowledged a newer one and lost it.
 * The start must refuse, or serve everything; it must not remove unknown files.
 */
import { describe, expect, it } from 'vitest';

import { LockstepError } from '../../../engine/base/errors.ts';
import { rebuildManifest } from '../../../engine/storage/recovery/rebuild-manifest.ts';
import {
  decodeSegmentHead,
  encodeSegmentHead,
  segmentHeadBytes,
} from '../../../engine/storage/log/record.ts';
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
const batches = rewriting(keyCount, 90);
const twin = batches.reduce<Twin>(applyBatch, new Map());

describe('a manifest that is older than the segments', () => {
  it('without merges is refused with the ways out, loses nothing, and is rebuilt', async () => {
    const { older, image } = await written(false);
    expect(older.length).toBeGreaterThan(5);
    for (const manifest of older.filter((_, index) => index % 3 === 0)) {
      const disk = new JournalDisk(new Map([...image, [manifestPath, manifest]]));
      const before = disk.image();
      await expect(open(disk)).rejects.toThrow(/older than 0{6}.*nothing was removed; .*store rebuild DIR/);
      expect(disk.image()).toEqual(before);
      const { findings } = await verifyStore(disk, storeDirectory, () => undefined);
      expect(findings.some(({ kind, file }) => kind === 'stray' && file.endsWith('.log'))).toBe(true);
      expect((await rebuildManifest(disk, storeDirectory, 'n1', 0)).setAside).toEqual([]);
      const store = await open(disk);
      expect(describeTwin(await contentsOf(store, keyCount))).toBe(describeTwin(twin));
    }
  });

  it('with merges is refused, or opened without one wrong answer', async () => {
    const { older, image } = await written(true);
    const outcomes = new Map<string, number>();
    for (const manifest of older) {
      const disk = new JournalDisk(new Map([...image, [manifestPath, manifest]]));
      const outcome = await openedOrRefused(disk, image);
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
    }
    expect([...outcomes.keys()]).not.toContain('wrong');
    expect(outcomes.get('refused')).toBeGreaterThan(5);
  });
});

it('records under the head of another merge output make the manifest an older one', async () => {
  const { image } = await written(false);
  const logs = [...image]
    .filter(([path]) => path.endsWith('.log'))
    .toSorted(([left], [right]) => (left < right ? -1 : 1));
  const [path, content] = logs.at(-1) ?? ['', Buffer.alloc(0)];
  const head = decodeSegmentHead(content.subarray(0, segmentHeadBytes));
  if (head === undefined) throw new Error(`${path} has no head`);
  const next = path.replace(/\d+(?=\.log$)/, (digits) =>
    String(Number(digits) + 1).padStart(digits.length, '0'),
  );
  for (const [number, isRefused] of [
    [head.number + 2, true],
    [head.number + 1, false],
  ] as const) {
    const file = Buffer.from(content);
    encodeSegmentHead(head.storeId, number, 'merge').copy(file);
    const opening = open(new JournalDisk(new Map([...image, [next, file]])));
    if (isRefused) await expect(opening).rejects.toThrow('older than');
    else expect(describeTwin(await contentsOf(await opening, keyCount))).toBe(describeTwin(twin));
  }
});

it('bits that flipped behind the head of a segment that was never published do not make the manifest an older one', async () => {
  const { image } = await written(false);
  const name =
    [...image.keys()]
      .filter((path) => path.endsWith('.log'))
      .toSorted()
      .at(-1) ?? '';
  const next = name.replace(/\d+(?=\.log$)/, (digits) =>
    String(Number(digits) + 1).padStart(digits.length, '0'),
  );
  const unpublished = Buffer.alloc(4096);
  image.get(name)?.copy(unpublished, 0, 0, segmentHeadBytes);
  for (const flipped of [0, 1, 7, 8]) {
    const file = Buffer.from(unpublished);
    for (let bit = 0; bit < flipped; bit++) file[1000 + 300 * bit] = 1;
    const opening = open(new JournalDisk(new Map([...image, [next, file]])));
    if (flipped === 8) await expect(opening).rejects.toThrow('older than');
    else expect(describeTwin(await contentsOf(await opening, keyCount))).toBe(describeTwin(twin));
  }
});

async function openedOrRefused(disk: JournalDisk, image: DiskImage): Promise<string> {
  try {
    const store = await open(disk);
    for (let key = 0; key < keyCount; key++) {
      const value = await valueOrDoubt(store, key);
      if (value !== 'doubted' && value !== twin.get(key)?.toString('hex')) return 'wrong';
    }
    return store.damages.length > 0 ? 'damaged' : 'whole';
  } catch (error) {
    expect(error).toMatchObject({ code: 'Corrupted' });
    const left = disk.image();
    for (const path of image.keys()) expect(left.has(path)).toBe(true);
    return 'refused';
  }
}

async function valueOrDoubt(
  store: Awaited<ReturnType<typeof open>>,
  key: number,
): Promise<string | undefined> {
  try {
    const value = await store.get(keyNumber(key));
    return value === undefined ? undefined : Buffer.from(value).toString('hex');
  } catch (error) {
    if (error instanceof LockstepError && error.code === 'Corrupted') return 'doubted';
    throw error;
  }
}

/** Every earlier manifest, and the files of a process that was killed. */
async function written(merges: boolean): Promise<{ older: readonly Buffer[]; image: DiskImage }> {
  const disk = new JournalDisk();
  const options = { ...smallOptions, merge: { ...smallOptions.merge, enabled: merges } };
  const store = await openStore(makeStoreHarness(disk, WorldRandom.root('older')), options);
  const manifests = new Map<string, Buffer>();
  const look = (): void => {
    const bytes = disk.image().get(manifestPath);
    if (bytes !== undefined) manifests.set(bytes.toString('hex'), Buffer.from(bytes));
  };
  for (const batch of batches) {
    expect(await writeBatch(store, batch)).toBeUndefined();
    look();
  }
  await store.settle();
  look();
  return { older: [...manifests.values()].slice(0, -1), image: disk.image() };
}

function open(disk: JournalDisk): ReturnType<typeof openStore> {
  const options = { ...smallOptions, merge: { ...smallOptions.merge, enabled: false } };
  return openStore(makeStoreHarness(disk, WorldRandom.root('older again')), options);
}
