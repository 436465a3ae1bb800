/** Tests that a merge keeps a removal record for as long as an older value of its key lies in a segment that stays. */
import { describe, expect, it } from 'vitest';

import { JournalDisk } from '../../explore/journal-disk.ts';
import type { Batch } from '../../explore/store-harness.ts';
import {
  keyNumber,
  makeStoreHarness,
  openStore,
  smallOptions,
  writeBatch,
} from '../../explore/store-harness.ts';
import { WorldRandom } from '../../world/core/random.ts';

const removed = 0;
const filler = (key: number): Batch => [{ key, value: Buffer.alloc(200, key) }];

describe('a removed key', () => {
  it('stays removed when the segment that says so is merged without the one that holds its value', async () => {
    const disk = new JournalDisk();
    const store = await openStore(makeStoreHarness(disk, WorldRandom.root('removal')), smallOptions);
    const write = async (batch: Batch): Promise<void> => {
      expect(await writeBatch(store, batch)).toBeUndefined();
    };
    // The first segment: the value, among live values.
    await write([{ key: removed, value: Buffer.from('old') }]);
    for (let key = 1; key <= 4; key++) await write(filler(key));
    // The second segment and further ones: the removal, among values that are overwritten at once.
    await write([{ key: removed, value: undefined }]);
    for (let round = 0; round < 20; round++) await write(filler(5));
    await store.settle();
    expect(store.mergeCount).toBeGreaterThan(0);
    const again = await openStore(
      makeStoreHarness(new JournalDisk(disk.image()), WorldRandom.root('again')),
      smallOptions,
    );
    expect(await again.get(keyNumber(removed))).toBeUndefined();
  });
});
