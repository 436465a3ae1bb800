import { describe, expect, it } from 'vitest';

import { present } from '../../../engine/base/assert.ts';
import { readHint } from '../../../engine/storage/index/hint-file.ts';
import { readManifest } from '../../../engine/storage/recovery/identity.ts';
import { segmentIdentity } from '../../../engine/storage/log/record.ts';
import { verifyStore } from '../../../engine/storage/recovery/verify.ts';
import { JournalDisk } from '../../explore/journal-disk.ts';
import type { DiskImage } from '../../explore/journal-disk.ts';
import {
  makeStoreHarness,
  openStore,
  smallOptions,
  storeDirectory,
  writeBatch,
} from '../../explore/store-harness.ts';
import { WorldRandom } from '../../world/core/random.ts';

describe('verify', () => {
  it('finds nothing wrong with a store that was stopped gracefully, and hint files that match its segments', async () => {
    const disk = new JournalDisk(await stoppedStore());
    const report = await verifyStore(disk, storeDirectory, () => undefined);
    expect(report.findings).toEqual([]);
    expect(report.segments.every(({ hint }) => hint === 'sound')).toBe(true);
    const manifest = present(await readManifest(disk, storeDirectory), 'a manifest').manifest;
    for (const { number, kind, length } of manifest.segments) {
      const identity = segmentIdentity(manifest.storeId, number, kind);
      const offsets: number[] = [];
      const reading = await readHint(disk, storeDirectory, identity, length, (_b, _k, _n, _s, _t, offset) => {
        offsets.push(offset);
      });
      expect(reading).toBe('sound');
      const { records } = present(
        report.segments.find((one) => one.number === number),
        'a segment',
      );
      expect(offsets).toHaveLength(records);
      expect(await readHint(disk, storeDirectory, identity, length + 1, () => undefined)).toBe('bad');
    }
  });

  it('names the file and the place of any flipped byte', async () => {
    const image = await stoppedStore();
    for (const [path, bytes] of image) {
      if (!/\.(log|hint|merge)$/.test(path)) continue;
      for (let at = 0; at < bytes.length; at += 37) {
        const flipped = Buffer.from(bytes);
        flipped[at] = (flipped[at] ?? 0) ^ 1;
        const disk = new JournalDisk(new Map([...image, [path, flipped]]));
        const { findings } = await verifyStore(disk, storeDirectory, () => undefined);
        const named = findings.filter(({ file }) => path === `${storeDirectory}/${file}`);
        expect(named.length, `${path} at ${at}`).toBeGreaterThan(0);
        if (path.endsWith('.hint')) continue;
        expect(named.some(({ offset, bytes: span }) => offset <= at && at < offset + span)).toBe(true);
      }
    }
  });
});

async function stoppedStore(): Promise<DiskImage> {
  const disk = new JournalDisk();
  const room = makeStoreHarness(disk, WorldRandom.root('verify'));
  const store = await openStore(room, { ...smallOptions, merge: { ...smallOptions.merge, enabled: false } });
  for (let index = 0; index < 30; index++) {
    const value = index % 7 === 3 ? undefined : Buffer.alloc(40 + index, index);
    expect(await writeBatch(store, [{ key: index % 9, value }])).toBe(undefined);
  }
  // Hints of full segments are written in the background.
  await store.settle();
  await store.close();
  return disk.image();
}
