/** A node's side of the records of idempotency keys that other nodes tell it. */
import { expect, test } from 'vitest';

import { Deferred } from '../../base/deferred.ts';
import type { LockstepError } from '../../base/errors.ts';
import type { ByteString, NodeId, Token } from '../../base/ids.ts';
import type { StoreWrite } from '../../storage/store.ts';
import { writeClient } from '../formats/idempotency-records.ts';
import { makeXid } from '../formats/xid.fixture.ts';
import { IdempotencyKeys } from './idempotency-keys.ts';
import { IdempotencyService } from './key-service.ts';

const applied = {
  clientId: 'c',
  xid: makeXid('n1' as NodeId, '0123456789ab', 8),
  digest: 'd' as ByteString,
  sinceMs: 1000,
  tokens: [7 as Token],
};
const fence = { ...applied, xid: makeXid('n2' as NodeId, '0123456789ab', 7), digest: '' as ByteString };

/** A node with a disk that takes a write when the test says so. */
function nodeOf() {
  const names = new IdempotencyKeys(10);
  const disk: StoreWrite[] = [];
  const syncs: Deferred<LockstepError | undefined>[] = [];
  const force = (records: readonly StoreWrite[]): Promise<LockstepError | undefined> => {
    disk.push(...records);
    const synced = new Deferred<LockstepError | undefined>();
    syncs.push(synced);
    return synced.promise;
  };
  const context = {
    names,
    log: { force },
    retention: { nowMs: 1000 },
    options: { rememberedMax: 10, retentionMs: 500, pageItems: 10, pageBytes: 1000 },
    parts: { ring: () => undefined },
  } as never;
  const none = { all: () => [], named: () => [], branches: () => [] };
  const service = new IdempotencyService(context, undefined as never, none);
  const sync = async (): Promise<void> => {
    for (const synced of syncs.splice(0)) synced.resolve(undefined);
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { names, disk, service, sync };
}

test('a fence that another node tells does not replace the record of a transaction that is applied meanwhile', async () => {
  const { names, disk, service, sync } = nodeOf();
  // The batch of the transaction is on its way to the disk, and then the fence.
  disk.push(writeClient(applied));
  const told = service.answer({ kind: 'learn', names: [fence] });
  names.enter(applied);
  await sync();
  await sync();
  await expect(told).resolves.toEqual({ kind: 'told', state: 'none' });
  expect(names.get('c', 0)).toEqual(applied);
  expect(disk.at(-1)).toEqual(writeClient(applied));
});

test('a fence that another node tells is kept, and gives way to an applied transaction', async () => {
  const { names, disk, service, sync } = nodeOf();
  for (const record of [fence, applied, fence]) {
    const told = service.answer({ kind: 'learn', names: [record] });
    await sync();
    await told;
  }
  expect(names.get('c', 0)).toEqual(applied);
  expect(disk).toEqual([writeClient(fence), writeClient(applied)]);
});
