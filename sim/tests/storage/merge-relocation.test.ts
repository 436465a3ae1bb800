/** Tests a merge whose copies the disk refuses to read back: neither this merge nor a later one drops a live record. */
import { expect, it } from 'vitest';

import type { DiskFile, OpenMode } from '../../../engine/io/disk.ts';
import { DiskError } from '../../../engine/io/disk.ts';
import { JournalDisk } from '../../explore/journal-disk.ts';
import {
  keyNumber,
  makeStoreHarness,
  openStore,
  smallOptions,
  writeBatch,
} from '../../explore/store-harness.ts';
import { WorldRandom } from '../../world/core/random.ts';

/** While it `refuses`, its logs and hint files cannot be opened for reading; open ones can be read. */
class ForgetfulDisk extends JournalDisk {
  refuses: 'nothing' | 'hints' | 'copies too' = 'nothing';

  override async open(path: string, mode: OpenMode): Promise<DiskFile> {
    if (this.refuses !== 'nothing' && mode === 'read') throw new DiskError('fault', 'open', path);
    const file = await super.open(path, mode);
    if (this.refuses === 'copies too' && path.endsWith('.log')) this.#refuseReads(file);
    return file;
  }

  #refuseReads(file: DiskFile): void {
    const read = file.readAt.bind(file);
    const readAt = (into: Uint8Array, offset: number): Promise<number> =>
      this.refuses === 'nothing'
        ? read(into, offset)
        : Promise.reject(new DiskError('fault', 'read', file.path));
    Object.defineProperty(file, 'readAt', { value: readAt });
  }
}

it.each(['hints', 'copies too'] as const)('keeps every key when a disk refuses to read %s', async (what) => {
  const options = { ...smallOptions, cacheBytes: 0, merge: { ...smallOptions.merge, enabled: false } };
  const disk = new ForgetfulDisk();
  const random = WorldRandom.root(`merge relocation ${what}`);
  const first = await openStore(makeStoreHarness(disk, random), options);
  const valueOf = (key: number): Buffer => Buffer.alloc(80, key + 1);
  for (let key = 0; key < 20; key++) {
    expect(await writeBatch(first, [{ key, value: valueOf(key) }])).toBe(undefined);
    expect(await writeBatch(first, [{ key: key % 3, value: valueOf(key % 3) }])).toBe(undefined);
  }
  disk.refuses = what;
  await first.compact();
  disk.refuses = 'nothing';
  for (let key = 0; key < 20; key++) expect(await first.get(keyNumber(key))).toEqual(valueOf(key));
  for (let key = 20; key < 30; key++) {
    expect(await writeBatch(first, [{ key, value: valueOf(key) }])).toBe(undefined);
  }
  await first.compact();
  await first.close();

  const second = await openStore(makeStoreHarness(disk, random), options);
  expect(second.damages).toEqual([]);
  for (let key = 0; key < 30; key++) expect(await second.get(keyNumber(key))).toEqual(valueOf(key));
  await second.close();
});
