import { describe, expect, it } from 'vitest';

import type { Disk, DiskFile } from '../../../engine/io/disk.ts';
import type { StoreOptions } from '../../../engine/storage/options.ts';
import type { DiskImage } from '../../explore/journal-disk.ts';
import { JournalDisk } from '../../explore/journal-disk.ts';
import type { Batch, Twin } from '../../explore/store-harness.ts';
import {
  applyBatch,
  contentsOf,
  makeStoreHarness,
  openStore,
  sameContents,
  smallOptions,
  writeBatch,
} from '../../explore/store-harness.ts';
import { WorldRandom } from '../../world/core/random.ts';

const keyCount = 9;
const noMerges: StoreOptions = { ...smallOptions, merge: { ...smallOptions.merge, enabled: false } };
const batches: readonly Batch[] = Array.from({ length: 40 }, (_, index) => [
  { key: index % keyCount, value: index % 11 === 5 ? undefined : Buffer.alloc(30 + index, index + 1) },
  { key: (index * 5 + 1) % keyCount, value: Buffer.alloc(10 + index, index + 101) },
]);
const twin = batches.reduce<Twin>(applyBatch, new Map());

/** What a misdirected read returns: the bytes of another place or another file, or zeros. */
type Astray = 'sector before' | 'sector behind' | 'other file' | 'zeros';
const strays: readonly Astray[] = ['sector before', 'sector behind', 'other file', 'zeros'];

/** The contents after a start whose read number `nth` is misdirected; undefined if it makes fewer reads. */
async function contentsAfter(image: DiskImage, nth: number, astray: Astray): Promise<string | undefined> {
  const disk = new JournalDisk(image);
  const reads = { left: nth, struck: false };
  const room = makeStoreHarness(
    misreading(disk, reads, astray, longestOf(image)),
    WorldRandom.root('misread'),
  );
  const store = await openStore(room, noMerges);
  reads.left = Infinity;
  if (!reads.struck) return undefined;
  const first = await judge(store);
  await store.close();
  expect(room.failures).toEqual([]);
  const again = await openStore(makeStoreHarness(disk, WorldRandom.root('misread again')), noMerges);
  return `${first}; then ${await judge(again)}`;
}

async function judge(store: Awaited<ReturnType<typeof openStore>>): Promise<string> {
  const damages = store.damages.map(({ kind, offset }) => `${kind} at ${offset}`);
  if (damages.length > 0) return `damage: ${damages.join(', ')}`;
  if (store.recovery.tornTails > 0) return `cut: ${store.recovery.tornBytes} bytes`;
  return sameContents(await contentsOf(store, keyCount), twin) ? 'all there' : 'not what was written';
}

describe('one read that goes astray at a start', () => {
  it('cuts nothing off an open segment, writes nothing over it, and is no damage', async () => {
    const disk = new JournalDisk();
    await written(disk, { ...noMerges, segmentBytes: 100_000, preallocateBytes: 3_000 });
    expect(await readsStruck(disk.image())).toBeGreaterThanOrEqual(3);
  });

  it('costs nothing where segments are sealed, with hints and without', async () => {
    const disk = new JournalDisk();
    const store = await written(disk, noMerges);
    await store.settle();
    const image = disk.image();
    expect(await readsStruck(image)).toBeGreaterThan(10);
    const bare = new Map([...image].filter(([path]) => !path.endsWith('.hint')));
    expect(await readsStruck(bare)).toBeGreaterThan(10);
  });
});

async function written(
  disk: JournalDisk,
  options: StoreOptions,
): Promise<Awaited<ReturnType<typeof openStore>>> {
  const store = await openStore(makeStoreHarness(disk, WorldRandom.root('misread')), options);
  for (const batch of batches) expect(await writeBatch(store, batch)).toBeUndefined();
  return store;
}

/** Misdirects every read of a start, one start each; resolves with the number of reads. */
async function readsStruck(image: DiskImage): Promise<number> {
  for (let nth = 1; ; nth++) {
    for (const astray of strays) {
      const found = await contentsAfter(image, nth, astray);
      if (found === undefined) return nth - 1;
      expect(`read ${nth}, ${astray}: ${found}`).toBe(`read ${nth}, ${astray}: all there; then all there`);
    }
  }
}

function misreading(
  disk: JournalDisk,
  reads: { left: number; struck: boolean },
  astray: Astray,
  other: Buffer,
): Disk {
  const strayed = async (file: DiskFile, into: Uint8Array, offset: number): Promise<number> => {
    const size = await file.size();
    const count = Math.max(0, Math.min(into.length, size - offset));
    into.fill(0, 0, count);
    if (astray === 'other file') other.copy(into, 0, offset % other.length, (offset % other.length) + count);
    if (astray === 'sector before') await file.readAt(into.subarray(0, count), Math.max(0, offset - 512));
    if (astray === 'sector behind') await file.readAt(into.subarray(0, count), offset + 512);
    return count;
  };
  return new Proxy(disk, {
    get: (target, name) => {
      if (name !== 'open') return bound(target, name);
      return async (path: string, mode: 'read'): Promise<DiskFile> => {
        const file = await target.open(path, mode);
        const readAt: DiskFile['readAt'] = (into, offset) => {
          reads.left -= 1;
          if (reads.left !== 0) return file.readAt(into, offset);
          reads.struck = true;
          return strayed(file, into, offset);
        };
        return new Proxy(file, { get: (opened, key) => (key === 'readAt' ? readAt : bound(opened, key)) });
      };
    },
  });
}

function bound(target: object, name: string | symbol): unknown {
  const value: unknown = Reflect.get(target, name);
  return typeof value === 'function' ? (value.bind(target) as unknown) : value;
}

function longestOf(image: DiskImage): Buffer {
  return [...image.values()].reduce((left, right) => (right.length > left.length ? right : left));
}
