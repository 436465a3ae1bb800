/** Tests the records of bucket properties in a store whose disk rots. */
import { expect, test } from 'vitest';

import type { ByteString, NodeId, Token } from '../../../engine/base/ids.ts';
import { byteStringOf } from '../../../engine/base/ids.ts';
import { systemKey } from '../../../engine/base/object-key.ts';
import { forgetLostProperties, StoredProperties } from '../../../engine/node/stored-properties.ts';
import type { NamedRecord } from '../../../engine/buckets/property-codec.ts';
import { recordName } from '../../../engine/buckets/property-codec.ts';
import { settingOf } from '../../../engine/buckets/registers.ts';
import type { Store } from '../../../engine/storage/store.ts';
import { JournalDisk } from '../../explore/journal-disk.ts';
import { makeStoreHarness, openStore, smallOptions } from '../../explore/store-harness.ts';
import { WorldRandom } from '../../world/core/random.ts';

const options = { ...smallOptions, cacheBytes: 0 };
const random = WorldRandom.root('property shelf');
const log = { enabled: () => false, event: () => undefined };

function setting(bucket: string, counter: number): NamedRecord {
  const set = new Map([['allow_mult', true]]);
  const name = recordName('default' as ByteString, byteStringOf(bucket));
  return { name, record: settingOf(set, { counter, node: 'n1' as NodeId }) };
}

/** A store that accepts every write at once. */
function shelfStore(store: Store): Parameters<StoredProperties['writeTo']>[0] {
  return {
    tryWrite: (batch, done) => {
      store.write(batch, done);
      return 'ok';
    },
  };
}

async function openShelf(
  disk: JournalDisk,
): Promise<{ readonly store: Store; readonly shelf: StoredProperties }> {
  const store = await openStore(makeStoreHarness(disk, random), options);
  const shelf = await StoredProperties.open({ log }, store);
  shelf.writeTo(shelfStore(store));
  return { store, shelf };
}

test('saved properties are there in the next incarnation, and a store is complete once it has received all', async () => {
  const disk = new JournalDisk();
  const first = await openShelf(disk);
  expect(first.shelf.condition).toBe('new');
  await first.shelf.save([setting('a', 1), setting('b', 2)]);
  await first.shelf.save([setting('a', 3)]);
  await first.shelf.complete();
  await first.store.close();
  const second = await openShelf(disk);
  expect(second.shelf.condition).toBe('whole');
  expect(second.shelf.remembered.after('')).toEqual([setting('a', 3), setting('b', 2)]);
  await second.store.close();
});

test('a record that rots is lost with its name, until a peer tells it or an operator gives it up', async () => {
  const disk = new JournalDisk();
  const first = await openShelf(disk);
  await first.shelf.save([setting('a', 1)]);
  await first.shelf.complete();
  await first.store.close();
  await rotLastByteOf(disk, 'allow_mult');
  const second = await openShelf(disk);
  expect([second.shelf.condition, second.shelf.remembered.records.size]).toEqual(['lost', 0]);
  expect(await forgetLostProperties(second.store)).toEqual(['default/a']);
  await second.store.close();
  const third = await openShelf(disk);
  expect(third.shelf.remembered.records.size).toBe(0);
  expect(third.shelf.condition).not.toBe('lost');
  await third.store.close();
});

test('damage behind the records of which the keys are unknown leaves them readable, and takes no record from an operator', async () => {
  const disk = new JournalDisk();
  const first = await openShelf(disk);
  await first.shelf.save([setting('a', 1), setting('b', 2)]);
  await first.shelf.complete();
  // Two lost records of one group: nothing tells which keys they had.
  await written(first.store, 'victim', 'target');
  await written(first.store, 'next');
  await first.store.close();
  for (const key of ['victim', 'target']) await rotLastByteOf(disk, key);
  // The next start reads the log itself.
  await disk.remove('store/00000001.hint');
  const second = await openShelf(disk);
  const record = systemKey(byteStringOf('props'), setting('a', 1).name as ByteString);
  await expect((async () => second.store.get(record))()).rejects.toMatchObject({ code: 'Corrupted' });
  expect([second.shelf.condition, second.shelf.remembered.after('')]).toEqual([
    'new',
    [setting('a', 1), setting('b', 2)],
  ]);
  expect(await forgetLostProperties(second.store)).toEqual([]);
  await second.store.close();
  const third = await openShelf(disk);
  expect(third.shelf.remembered.records.size).toBe(2);
  await third.store.close();
});

function written(store: Store, ...names: readonly string[]): Promise<void> {
  const keys = names.map((name) => systemKey(byteStringOf('x'), byteStringOf(name)));
  const batch = keys.map((key) => ({ key, token: 0 as Token, value: Buffer.from('v') }));
  return new Promise((resolve, reject) => {
    store.write(batch, (error) => {
      if (error === undefined) resolve();
      else reject(error);
    });
  });
}

/** Flips a bit of the text in the first segment of the log. */
async function rotLastByteOf(disk: JournalDisk, text: string): Promise<void> {
  const name = (await disk.list('store')).find((one) => one.endsWith('.log')) ?? '';
  const file = await disk.open(`store/${name}`, 'readWrite');
  const bytes = Buffer.alloc(await file.size());
  await file.readAt(bytes, 0);
  const at = bytes.indexOf(text) + text.length - 1;
  await file.writeAt([Buffer.from([(bytes[at] ?? 0) ^ 1])], at);
  await file.sync();
  await file.close();
}
