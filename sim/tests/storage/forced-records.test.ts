import { expect, it } from 'vitest';

import { Deferred } from '../../../engine/base/deferred.ts';
import type { ByteString } from '../../../engine/base/ids.ts';
import { systemKey } from '../../../engine/base/object-key.ts';
import { crashImages } from '../../explore/crash-images.ts';
import { JournalDisk } from '../../explore/journal-disk.ts';
import type { StoreOptions } from '../../../engine/storage/options.ts';
import {
  keyNumber,
  makeStoreHarness,
  openStore,
  smallOptions,
  tokenNumber,
  writeBatch,
} from '../../explore/store-harness.ts';
import { WorldRandom } from '../../world/core/random.ts';

const options: StoreOptions = { ...smallOptions, sync: { kind: 'interval', intervalUs: 60_000_000 } };
const record = systemKey('votes' as ByteString, 'x' as ByteString);

it('with an interval, a record of the node itself survives every crash after its answer, and so does what came before', async () => {
  const disk = new JournalDisk();
  const random = WorldRandom.root('forced');
  const store = await openStore(makeStoreHarness(disk, random), options);
  expect(await writeBatch(store, [{ key: 1, value: Buffer.from('before') }])).toBeUndefined();
  const forced = new Deferred<unknown>();
  store.write([{ key: record, token: tokenNumber(2), value: Buffer.from('vote') }], (error) =>
    forced.resolve(error),
  );
  expect(await forced.promise).toBeUndefined();
  expect(await writeBatch(store, [{ key: 3, value: Buffer.from('after') }])).toBeUndefined();
  const { images } = crashImages(disk.moment(), 64, random);
  disk.halt();
  let kept = 0;
  for (const image of images) {
    const found = await openStore(makeStoreHarness(new JournalDisk(image), random), options);
    expect(String(await found.get(record))).toBe('vote');
    expect(String(await found.get(keyNumber(1)))).toBe('before');
    if ((await found.get(keyNumber(3))) !== undefined) kept += 1;
    await found.close();
  }
  expect(images.length).toBeGreaterThan(1);
  expect(kept, 'a later write waits for the interval').toBeLessThan(images.length);
});
