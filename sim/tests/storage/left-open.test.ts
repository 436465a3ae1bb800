/** Tests that no file stays open when any one operation of a store's disk fails. */
import { expect, it } from 'vitest';

import { LockstepError } from '../../../engine/base/errors.ts';
import { DiskError } from '../../../engine/io/disk.ts';
import type { DiskImage } from '../../explore/journal-disk.ts';
import { JournalDisk } from '../../explore/journal-disk.ts';
import {
  makeStoreHarness,
  openStore,
  rewriting,
  smallOptions,
  writeBatch,
} from '../../explore/store-harness.ts';
import { WorldRandom } from '../../world/core/random.ts';

const batches = rewriting(6, 40);

interface Life {
  /** Number of disk operations from the store's opening to its end. */
  readonly operations: number;
  /** The operation that failed. */
  readonly failed: string;
  readonly leftOpen: readonly string[];
  readonly merges: number;
  readonly image: DiskImage;
}

/** An incarnation that overwrites keys repeatedly while the disk operation number `failing` fails. */
async function live(failing: number, before?: DiskImage): Promise<Life> {
  const disk = new JournalDisk(before);
  let operations = 0;
  let failed = '';
  disk.watch((operation, path) => {
    operations += 1;
    if (operations !== failing) return undefined;
    failed = `${operation} ${path}`;
    return 'fail';
  });
  const room = makeStoreHarness(disk, WorldRandom.root('left open'));
  let merges = 0;
  try {
    const store = await openStore(room, smallOptions);
    for (const batch of batches) await writeBatch(store, batch);
    await store.settle();
    merges = store.mergeCount;
    await store.close();
  } catch (error) {
    // The store did not open, or could not release its directory.
    expect(error instanceof LockstepError || error instanceof DiskError, `${failed}: ${String(error)}`).toBe(
      true,
    );
  }
  expect(room.failures, failed).toEqual([]);
  return { operations, failed, leftOpen: disk.openFiles, merges, image: disk.image() };
}

/** The files that stay open, by the failed operation. */
async function leaks(before?: DiskImage): Promise<readonly string[]> {
  const { operations, leftOpen, merges } = await live(0, before);
  expect(leftOpen).toEqual([]);
  expect(merges).toBeGreaterThan(3);
  const wrong: string[] = [];
  for (let failing = 1; failing <= operations; failing++) {
    const life = await live(failing, before);
    if (life.leftOpen.length > 0) wrong.push(`${life.failed}: ${life.leftOpen.join(' ')}`);
  }
  return wrong;
}

it('no file of a new store stays open, whichever operation of its disk fails', async () => {
  expect(await leaks()).toEqual([]);
});

it('nor one of a store that is found', async () => {
  expect(await leaks((await live(0)).image)).toEqual([]);
});
