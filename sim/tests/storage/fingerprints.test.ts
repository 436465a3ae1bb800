import { expect, it } from 'vitest';

import { byteStringOf } from '../../../engine/base/ids.ts';
import type { Token } from '../../../engine/base/ids.ts';
import { systemKey } from '../../../engine/base/object-key.ts';
import { JournalDisk } from '../../explore/journal-disk.ts';
import {
  keyNumber,
  makeStoreHarness,
  openStore,
  smallOptions,
  tokenNumber,
} from '../../explore/store-harness.ts';
import { WorldRandom } from '../../world/core/random.ts';

it('records of the engine’s own move the position and change nothing that a replica compares', async () => {
  const store = await openStore(
    makeStoreHarness(new JournalDisk(), WorldRandom.root('fingerprints')),
    smallOptions,
  );
  const changed: number[] = [];
  store.fingerprints.listen((token) => changed.push(token));
  const own = systemKey(byteStringOf('log'), byteStringOf('entry'));
  const value = Buffer.from('value');
  store.write(
    [
      { key: own, token: 99 as Token, value },
      { key: keyNumber(1), token: tokenNumber(1), value },
    ],
    () => undefined,
  );
  await store.settle();
  expect(changed).toEqual([tokenNumber(1)]);
  const before = store.fingerprints.lastSeq;
  store.write([{ key: own, token: 99 as Token, value: undefined }], () => undefined);
  await store.settle();
  expect(changed).toEqual([tokenNumber(1)]);
  expect(store.fingerprints.lastSeq).toBe(before + 1);
  await store.close();
});

it('a key that comes to hang at another token changes there and where it hung', async () => {
  const store = await openStore(
    makeStoreHarness(new JournalDisk(), WorldRandom.root('fingerprints')),
    smallOptions,
  );
  const changed: number[] = [];
  store.fingerprints.listen((token) => changed.push(token));
  for (const token of [7, 4_000_000_000]) {
    store.write([{ key: keyNumber(1), token: token as Token, value: Buffer.from('value') }], () => undefined);
    await store.settle();
  }
  expect(changed).toEqual([7, 4_000_000_000, 7]);
  await store.close();
});
