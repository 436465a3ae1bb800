/** Which writes of a committed branch a rebuilt disk still lacks. */
import { expect, test } from 'vitest';

import { TestClock } from '../../api/testing/test-io.fixture.ts';
import { present } from '../../base/assert.ts';
import { LockstepError } from '../../base/errors.ts';
import { byteStringOf } from '../../base/ids.ts';
import type { NodeId, Token } from '../../base/ids.ts';
import { defaultType, objectKey } from '../../base/object-key.ts';
import { defaultProperties } from '../../buckets/properties.ts';
import type { MemoryStore } from '../../replica/key-slots.ts';
import { plainContent, tombstone } from '../../replica/object/content.ts';
import type { Actor, Dot } from '../../replica/object/dots.ts';
import { nextCounter } from '../../replica/object/dots.ts';
import type { StoredObject } from '../../replica/object/object.ts';
import { applyWrite, decodeObject, encodeObject } from '../../replica/object/object.ts';
import {
  SlowStore,
  clock,
  coordinate,
  nothingLost,
  replicaOver,
  siblings,
  writeOf,
} from '../../replica/replica-harness.fixture.ts';
import { Replica } from '../../replica/replica.ts';
import type { BranchOperation, PrepareRequest } from '../formats/messages.ts';
import { leftOf, markText } from './redo.ts';

const content = plainContent(Buffer.from('v'), 'text/plain');
const key = objectKey(defaultType, byteStringOf('b'), byteStringOf('k')).packed;
const life = byteStringOf('n1.5f') as Actor;
const order: PrepareRequest = {
  coordinator: 'n2' as NodeId,
  level: 'DC_QUORUM',
  clientId: '',
  clientDigest: byteStringOf(''),
  branches: [{ node: 'n1' as NodeId, writes: true, life: 1 }],
  operations: [
    {
      key,
      token: 7 as Token,
      content,
      context: undefined,
      ifMatch: undefined,
      ifAbsent: false,
      check: false,
    },
  ],
};

/** What is left of the request at a disk that holds the object. */
async function leftAt(
  object: StoredObject,
  operation: Partial<BranchOperation> = {},
  told = markText({ actor: life, counter: 5 }),
): Promise<readonly BranchOperation[]> {
  const bytes = encodeObject(object);
  const store: MemoryStore = {
    inMemory: () => bytes,
    tryRead: () => 'closed',
    tryReadDoubted: () => 'closed',
    ...nothingLost,
    tryWrite: () => 'closed',
  };
  const replica = new Replica(
    store,
    new TestClock(),
    byteStringOf('n1.7a') as Actor,
    () => defaultProperties,
  );
  const given = { ...order, operations: order.operations.map((one) => ({ ...one, ...operation })) };
  const left = await leftOf({ replica, unread: () => false }, given, told);
  if (left instanceof LockstepError) throw left;
  return left.operations;
}

function fail(error: LockstepError): never {
  throw error;
}

function dotOf(actor: string, counter: number): Dot {
  return { actor: byteStringOf(actor) as Actor, counter };
}

/** How many operations are left if the key holds a write of the actor with the counter. */
async function operationsLeft(actor: string, counter: number): Promise<number> {
  return (await leftAt(applyWrite(undefined, [], content, dotOf(actor, counter), 1))).length;
}

test('a key is written again unless it has seen a write of the lost incarnation behind the vote', async () => {
  expect(await operationsLeft('n1.5f', 6)).toBe(0);
  expect(await operationsLeft('n1.5f+2', 6)).toBe(0);
  // The last write before the vote.
  expect(await operationsLeft('n1.5f', 5)).toBe(1);
  expect(await operationsLeft('n1.5f', 4)).toBe(1);
  expect(await operationsLeft('n1.5f0', 6)).toBe(1);
  expect(await operationsLeft('n3.5f', 6)).toBe(1);
});

test('what others write to the keys of a branch between its vote and its commit is not taken for its own', async () => {
  const store = new SlowStore();
  const replica = replicaOver(store, siblings, life);
  const put = (): StoredObject => {
    const outcome = coordinate(replica, writeOf(key, 'put'));
    store.release();
    return present(outcome.applied, 'what was written');
  };
  put();
  let closed = true;
  replica.guard({ closed: () => closed, ordersWrites: () => false, wait: () => undefined });
  const told = markText(replica.mark);
  const leftOver = async (object: StoredObject): Promise<number> => (await leftAt(object, {}, told)).length;
  expect(await leftOver(put())).toBe(1);
  const batches: Uint8Array[] = [];
  replica.coordinateAll([writeOf(key, 'branch')], [], {
    applied: (bytes) => batches.push(...bytes),
    durable: () => undefined,
    failed: fail,
  });
  store.release();
  expect(await leftOver(decodeObject(present(batches[0], 'the batch')))).toBe(0);
  closed = false;
  // So are later writes that have replaced it.
  expect(await leftOver(put())).toBe(0);
});

test('a key that is ahead of the clock is written again unless it has seen a write behind the vote', async () => {
  const store = new SlowStore();
  const replica = replicaOver(store, siblings, life);
  const far = [dotOf('n3.1', nextCounter(0, clock.wallMs() + 86_400_000))];
  const before = coordinate(replica, writeOf(key, 'ahead', { seen: far }));
  store.release();
  const object = present(before.applied, 'what was written');
  expect(replica.mayExceedMark).toBe(true);
  const told = markText(replica.mark, [object]);
  expect(told.split(' ')).toHaveLength(3);
  expect(await leftAt(object, {}, told)).toHaveLength(1);
  const after = coordinate(replica, writeOf(key, 'branch'));
  store.release();
  expect(await leftAt(present(after.applied, 'what was written'), {}, told)).toEqual([]);
});

test('a write that is done again has seen what it had to see when it was decided', async () => {
  const deleted = applyWrite(undefined, [], tombstone, dotOf('n3.1', 4), 1);
  const written = applyWrite(undefined, [], content, dotOf('n3.1', 4), 1);
  const contextAt = async (object: StoredObject, operation: Partial<BranchOperation>): Promise<unknown> =>
    (await leftAt(object, operation))[0]?.context;
  // The key was absent: a tombstone is all that it may have held.
  expect(await contextAt(deleted, { ifAbsent: true })).toEqual(deleted.context);
  expect(await contextAt(written, { ifAbsent: true })).toBeUndefined();
  // A deletion without a context removes what is there, one with a context what its client had read.
  expect(await contextAt(written, { content: tombstone })).toEqual(written.context);
  expect(await contextAt(written, { content: tombstone, context: [] })).toEqual([]);
  expect(await contextAt(written, { ifMatch: [dotOf('n3.1', 3)] })).toEqual([dotOf('n3.1', 3)]);
  // A plain write has seen nothing, a condition writes nothing.
  expect(await contextAt(written, {})).toBeUndefined();
  expect(await contextAt(deleted, { ifAbsent: true, check: true })).toBeUndefined();
});
