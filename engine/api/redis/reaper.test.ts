/** Tests of the reaper, over a dispatcher and transactions with maps. */
import { expect, test } from 'vitest';
import { byteStringOf } from '../../base/ids.ts';
import type { ObjectKey, PackedKey } from '../../base/object-key.ts';
import { defaultType, objectKey } from '../../base/object-key.ts';
import { plainContent } from '../../replica/object/content.ts';
import { metaWithExpiry } from '../../replica/object/expiry.ts';
import { isDeleted } from '../objects.ts';
import type { StoredObject } from '../../replica/object/object.ts';
import { TestLog, settle } from '../testing/test-io.fixture.ts';
import { Reaper } from './reaper.ts';
import { TestingRedis } from './redis.fixture.ts';

async function room(names: readonly string[], primaries: readonly string[] = names) {
  const redis = await TestingRedis.start();
  const keys: ObjectKey[] = names.map((name) =>
    objectKey(defaultType, byteStringOf('redis'), byteStringOf(name)),
  );
  const nowMs = redis.clock.wallMs();
  const write = (key: ObjectKey, expiresAtMs: number) => {
    const content = plainContent(Buffer.from('v'), 'text/plain');
    const mortal = { ...content, meta: metaWithExpiry(content, expiresAtMs) };
    return redis.dispatcher.put({ key, need: 'default', context: [], content: mortal });
  };
  for (const key of keys) await write(key, nowMs + 1000);
  /** Objects that this node still has although the other replicas have newer ones. */
  const stale = new Map<PackedKey, StoredObject | undefined>();
  const parts = {
    io: {
      clock: redis.clock,
      log: new TestLog(),
      spawn: (_: string, task: () => Promise<void>) => {
        task().catch(() => undefined);
      },
    },
    turns: redis.server.turns,
    keys: () => keys.map(({ packed }) => packed),
    isPrimary: ({ key }: ObjectKey) => primaries.includes(key),
    read: (packed: PackedKey) => Promise.resolve(stale.get(packed) ?? redis.dispatcher.stored(packed)),
  };
  const reaper = new Reaper(parts, { intervalUs: 1_000_000, roundCount: 2 });
  reaper.start();
  const left = () =>
    keys.filter(({ packed }) => {
      const object = redis.dispatcher.stored(packed);
      return object !== undefined && !isDeleted(object);
    });
  return { redis, keys, reaper, write, nowMs, stale, left: () => left().map(({ key }) => key) };
}

test('expired values are deleted round by round; others stay', async () => {
  const { redis, reaper, left } = await room(['a', 'b', 'c']);
  expect(await reaper.round()).toBe(0);
  expect(left()).toEqual(['a', 'b', 'c']);
  redis.clock.aheadMs = 1000;
  await reaper.round();
  await reaper.round();
  await reaper.round();
  expect(left()).toEqual([]);
});

test('a node deletes only keys that it is primary of', async () => {
  const { redis, reaper, left } = await room(['a', 'b'], ['b']);
  redis.clock.aheadMs = 1000;
  expect(await reaper.round()).toBe(1);
  expect(left()).toEqual(['a']);
});

test('a value that is written meanwhile stays', async () => {
  const { redis, keys, reaper, write, nowMs, left } = await room(['a']);
  redis.clock.aheadMs = 1000;
  const { run } = redis.transactions;
  redis.transactions.run = async (request) => {
    const [key] = keys;
    if (key !== undefined) await write(key, nowMs + 5000);
    return run.call(redis.transactions, request);
  };
  const round = reaper.round();
  for (let turn = 0; turn < 20; turn++) {
    await settle();
    redis.clock.advance(100_000);
  }
  await round;
  expect(left()).toEqual(['a']);
});

test('a newer value that the primary lacks stays', async () => {
  const { redis, keys, reaper, write, nowMs, left, stale } = await room(['a']);
  const [key] = keys;
  if (key === undefined) return;
  stale.set(key.packed, redis.dispatcher.stored(key.packed));
  await write(key, nowMs + 5000);
  redis.clock.aheadMs = 1000;
  await reaper.round();
  expect(left()).toEqual(['a']);
  expect(redis.transactions.requests.length).toBe(0);
});

test('no round begins after stop', async () => {
  const { redis, reaper, left } = await room(['a']);
  redis.clock.aheadMs = 1000;
  await reaper.stop();
  redis.clock.advance(10_000_000);
  expect(await reaper.round()).toBe(0);
  expect(left()).toEqual(['a']);
});
