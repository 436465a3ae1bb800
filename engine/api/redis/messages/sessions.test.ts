/** Tests of publish and subscribe on connections: order among a client's commands, bounds, slow and revoked clients. */
import { expect, test } from 'vitest';
import { threeCredentials, tokens } from '../../../auth/credentials.fixture.ts';
import { TestingRedis, encodeRequest } from '../redis.fixture.ts';
import type { RedisPeer } from '../redis.fixture.ts';
import { nameBytesMax } from './message.ts';
import { subscriptionLimits } from './subscriptions.ts';

async function subscriberOf(redis: TestingRedis, ...channels: readonly string[]): Promise<RedisPeer> {
  const peer = redis.join();
  await peer.ask('SUBSCRIBE', ...channels);
  return peer;
}

/** The payloads of the messages that have arrived. */
async function payloads(peer: RedisPeer): Promise<readonly string[]> {
  const texts = (await peer.turn()).split('*3\r\n$7\r\nmessage\r\n').slice(1);
  return texts.map((text) => text.split('\r\n').at(-2) ?? '');
}

test('a message waits for the earlier commands of its connection, and no later one waits for it', async () => {
  const redis = await TestingRedis.start();
  const listener = await subscriberOf(redis, 'news');
  redis.dispatcher.holding = true;
  const writer = redis.join();
  expect(await writer.send('GET k\r\nPUBLISH news 1\r\nPUBLISH news 2\r\nGET j\r\n')).toBe('');
  expect(await payloads(listener)).toEqual([]);
  // Both reads are under way.
  redis.dispatcher.release();
  expect(await writer.turn()).toBe('$-1\r\n:1\r\n:1\r\n');
  expect(await payloads(listener)).toEqual(['1', '2']);
  redis.dispatcher.holding = false;
  while (redis.dispatcher.release()) expect(await writer.turn()).toBe('$-1\r\n');
});

test('transactions and scripts of one pipeline publish in its order, though they commit in another', async () => {
  const redis = await TestingRedis.start();
  const listener = await subscriberOf(redis, 'news');
  const writer = redis.join();
  const script = "redis.call('SET', KEYS[1], 1); return redis.call('PUBLISH', 'news', ARGV[1])";
  redis.dispatcher.holding = true;
  await writer.send(
    encodeRequest(['EVAL', script, '1', 'a', 'first']),
    encodeRequest(['EVAL', script, '1', 'b', 'second']),
    encodeRequest(['PUBLISH', 'news', 'third']),
  );
  redis.dispatcher.holding = false;
  while (redis.dispatcher.release()) await writer.turn();
  expect(await payloads(listener)).toEqual(['first', 'second', 'third']);
});

test('a transaction publishes when it has committed, and only then', async () => {
  const redis = await TestingRedis.start();
  const listener = await subscriberOf(redis, 'news');
  const writer = redis.join();
  const transaction = 'MULTI\r\nSET k v\r\nPUBLISH news x\r\nEXEC\r\n';
  redis.transactions.outcomes.push('inDoubt');
  expect(await writer.send(transaction)).toContain('-INDOUBT');
  redis.transactions.outcomes.push('precondition_failed', 'precondition_failed');
  const exec = writer.send(transaction);
  for (let round = 0; round < 5; round++) {
    await writer.turn();
    redis.clock.advance(1_000_000);
  }
  await exec;
  expect(await payloads(listener)).toEqual(['x']);
  await writer.ask('WATCH', 'k');
  await redis.join().ask('SET', 'k', 'other');
  expect(await writer.send(transaction)).toContain('*-1');
  expect(await payloads(listener)).toEqual([]);
});

test('a script that fails publishes nothing', async () => {
  const redis = await TestingRedis.start();
  const listener = await subscriberOf(redis, 'news');
  const writer = redis.join();
  const failing = "redis.call('PUBLISH', 'news', 'x'); redis.call('SET', KEYS[1], 1); error('no')";
  expect(await writer.ask('EVAL', failing, '1', 'k')).toContain('no');
  const late = "redis.call('PUBLISH', 'news', 'y'); return redis.call('GET', 'unnamed')";
  expect(await writer.ask('EVAL', late, '0')).toBe('$-1\r\n');
  expect(await payloads(listener)).toEqual(['y']);
});

test('what a client has asked for is published in order although its connection is gone', async () => {
  const redis = await TestingRedis.start();
  const listener = await subscriberOf(redis, 'news');
  const writer = redis.join();
  redis.dispatcher.holding = true;
  await writer.send('MULTI\r\nGET k\r\nPUBLISH news 1\r\nEXEC\r\nPUBLISH news 2\r\n');
  await writer.reset();
  const other = redis.join();
  redis.dispatcher.holding = false;
  while (redis.dispatcher.release()) await other.turn();
  expect(await payloads(listener)).toEqual(['1', '2']);
});

test('a subscription that has ended gets nothing, however it has ended', async () => {
  const redis = await TestingRedis.start({ connectionCountMax: 9 });
  const [left, reset, quit, gone] = [redis.join(), redis.join(), redis.join(), redis.join()];
  for (const peer of [left, reset, quit, gone]) await peer.ask('SUBSCRIBE', 'news');
  await left.ask('UNSUBSCRIBE', 'news');
  await reset.ask('RESET');
  await quit.ask('QUIT');
  await gone.reset();
  const count = (): number => redis.publications.subscriptions.count('channel');
  expect(await redis.join().ask('PUBLISH', 'news', 'x')).toBe(':0\r\n');
  expect([await left.turn(), await reset.turn(), await quit.turn()]).toEqual(['', '', '']);
  await quit.endClient();
  expect(count()).toBe(0);
});

test('a subscriber that does not read is disconnected; the others get every message', async () => {
  const redis = await TestingRedis.start();
  const slow = await subscriberOf(redis, 'news');
  const quick = await subscriberOf(redis, 'news');
  const writer = redis.join();
  await slow.reads(false);
  const replies: string[] = [];
  for (let index = 0; index < 5; index++) {
    replies.push(await writer.ask('PUBLISH', 'news', 'x'.repeat(5000)));
    await quick.turn();
  }
  await slow.turn();
  expect(replies).toEqual([':2\r\n', ':2\r\n', ':2\r\n', ':1\r\n', ':1\r\n']);
  expect([slow.closed, quick.closed]).toEqual(['closedHere', undefined]);
  expect(redis.publications.counts.droppedSubscribers).toBe(1);
});

test('a quarter of what may wait may do so for a minute', async () => {
  const redis = await TestingRedis.start();
  const slow = await subscriberOf(redis, 'news');
  const writer = redis.join();
  await slow.reads(false);
  for (let index = 0; index < 2; index++) await writer.ask('PUBLISH', 'news', 'x'.repeat(3000));
  redis.clock.advance(59_000_000);
  expect(await writer.ask('PUBLISH', 'news', 'x')).toBe(':1\r\n');
  redis.clock.advance(2_000_000);
  expect(await writer.ask('PUBLISH', 'news', 'x')).toBe(':0\r\n');
});

test('names and subscriptions are bounded; a refused command subscribes to nothing', async () => {
  const redis = await TestingRedis.start();
  const peer = redis.join();
  const long = 'x'.repeat(nameBytesMax + 1);
  for (const name of ['SUBSCRIBE', 'PSUBSCRIBE', 'SSUBSCRIBE']) {
    expect(await peer.ask(name, 'a', long)).toContain(`at most ${nameBytesMax} are allowed`);
  }
  expect(await peer.ask('PUBLISH', long, 'x')).toContain('-ERR');
  expect(await peer.ask('PUBLISH', 'a', 'x'.repeat(10_001))).toContain('-ERR string exceeds');
  const { perConnectionMax } = subscriptionLimits;
  const { subscriptions } = redis.publications;
  expect(subscriptions.count('channel') + subscriptions.count('pattern') + subscriptions.count('shard')).toBe(
    0,
  );
  for (let from = 0; from < perConnectionMax; from += 500) {
    const names = Array.from({ length: 500 }, (_, index) => String(from + index));
    await peer.ask('SUBSCRIBE', ...names);
  }
  expect(await peer.ask('SUBSCRIBE', '1', 'new')).toBe(
    `-ERR a connection has at most ${perConnectionMax} subscriptions\r\n`,
  );
  expect(subscriptions.count('channel')).toBe(perConnectionMax);
  expect(await peer.ask('SUBSCRIBE', '1')).toContain(`:${perConnectionMax}\r\n`);
});

test('reading needs the role read, publishing the role write; a revoked credential ends a subscription', async () => {
  const redis = await TestingRedis.start({}, threeCredentials);
  const [reader, writer, stranger] = [redis.join(), redis.join(), redis.join()];
  expect(await stranger.ask('SUBSCRIBE', 'news')).toBe('-NOAUTH Authentication required.\r\n');
  await reader.ask('AUTH', tokens.read);
  await writer.ask('AUTH', tokens.write);
  expect(await reader.ask('PUBLISH', 'news', 'x')).toContain('-NOPERM');
  await reader.ask('SUBSCRIBE', 'news');
  expect(await writer.ask('PUBLISH', 'news', '1')).toBe(':1\r\n');
  expect(await payloads(reader)).toEqual(['1']);
  redis.gate.replace(threeCredentials.filter(({ role }) => role !== 'read'));
  expect(await writer.ask('PUBLISH', 'news', '2')).toBe(':0\r\n');
  expect([await reader.turn(), reader.serverEnded]).toEqual(['-NOAUTH Authentication required.\r\n', true]);
});
