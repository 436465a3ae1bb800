/**
 * Tests a store that closes while a merge moves its keys to their copies: the merge completes, and its inputs are
 * removed.
 */
import { expect, it } from 'vitest';

import type { DiskFile, OpenMode } from '../../../engine/io/disk.ts';
import { decodeManifest } from '../../../engine/storage/log/manifest.ts';
import { JournalDisk } from '../../explore/journal-disk.ts';
import {
  keyNumber,
  makeStoreHarness,
  manifestPath,
  openStore,
  smallOptions,
  storeDirectory,
  writeBatch,
} from '../../explore/store-harness.ts';
import { WorldRandom } from '../../world/core/random.ts';

/** Notifies when a merge output's first hint file is opened for reading: the merge is about to move its keys. */
class WatchedDisk extends JournalDisk {
  onMove: (() => void) | undefined;

  override async open(path: string, mode: OpenMode): Promise<DiskFile> {
    const { onMove } = this;
    if (mode === 'read' && path.endsWith('.hint') && onMove !== undefined) {
      this.onMove = undefined;
      onMove();
    }
    return super.open(path, mode);
  }
}

it('a store that closes while a merge moves its keys leaves none of the merged files behind', async () => {
  const disk = new WatchedDisk();
  const random = WorldRandom.root('closed while merging');
  const store = await openStore(makeStoreHarness(disk, random), smallOptions);
  const valueOf = (key: number): Buffer => Buffer.alloc(80, key + 1);
  const closed = new Promise<void>((resolve, reject) => {
    disk.onMove = () => void store.close().then(resolve, reject);
  });
  for (let key = 0; key < 40 && store.state === 'open'; key++) {
    expect(await writeBatch(store, [{ key: key % 12, value: valueOf(key) }])).toBe(undefined);
  }
  await closed;

  const manifest = await readManifest(disk);
  const named = manifest.segments.map(({ number }) => `${String(number).padStart(8, '0')}.log`);
  const logs = (await disk.list(storeDirectory)).filter((name) => name.endsWith('.log'));
  expect(logs).toEqual(named);
  expect(store.diskBytes).toBe(manifest.segments.reduce((sum, { length }) => sum + length, 0));

  const next = await openStore(makeStoreHarness(disk, random), smallOptions);
  expect(next.recovery.strayFiles).toBe(0);
  expect(await next.get(keyNumber(0))).not.toBe(undefined);
  await next.close();
});

async function readManifest(disk: JournalDisk): Promise<ReturnType<typeof decodeManifest>['manifest']> {
  const file = await disk.open(manifestPath, 'read');
  const bytes = Buffer.alloc(await file.size());
  await file.readAt(bytes, 0);
  await file.close();
  return decodeManifest(bytes).manifest;
}
