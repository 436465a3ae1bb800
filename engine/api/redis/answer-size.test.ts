/**
 * Tests of the bytes that one answer to a Redis client may hold: many large values are refused before they are
 * collected.
 */
import { expect, test } from 'vitest';
import type { ByteString } from '../../base/ids.ts';
import { byteStringOf } from '../../base/ids.ts';
import type { Token } from '../../base/ids.ts';
import { TestingRedis } from './redis.fixture.ts';

const refused =
  'ERR the values and the answer of one step hold at most 30000 bytes (redis_answer_bytes_max)\r\n';
const large = 'x'.repeat(10_000);

async function withLarge(...names: string[]): Promise<TestingRedis> {
  const redis = await TestingRedis.start();
  const peer = redis.join();
  for (const name of names) expect(await peer.ask('SET', name, large)).toBe('+OK\r\n');
  return redis;
}

test('a value that is requested many times is refused before it is copied', async () => {
  const redis = await withLarge('a');
  const peer = redis.join();
  expect(await peer.ask('MGET', 'a', 'a')).toHaveLength(20_024);
  expect(await peer.ask('MGET', 'a', 'a', 'a')).toBe(`-${refused}`);
  const many = 'GET a\r\n'.repeat(3);
  expect(await peer.send(`MULTI\r\nSET b 1\r\n${many}EXEC\r\n`)).toMatch(`QUEUED\r\n-${refused}`);
  expect(await peer.ask('GET', 'b')).toBe('$-1\r\n');
});

test('a read of several values stops once they are too large together', async () => {
  const names = Array.from({ length: 90 }, (_, index) => `k${index}`);
  const redis = await withLarge(...names);
  const peer = redis.join();
  redis.dispatcher.gets.length = 0;
  expect(await peer.ask('MGET', ...names)).toBe(`-${refused}`);
  expect(redis.dispatcher.gets.length).toBeLessThan(90);
  expect(await peer.ask('WATCH', ...names)).toBe(`-${refused}`);
});

test('commands that look at no value accept any number of large ones', async () => {
  const names = Array.from({ length: 20 }, (_, index) => `k${index}`);
  const redis = await withLarge(...names);
  const peer = redis.join();
  expect(await peer.ask('EXISTS', ...names)).toBe(':20\r\n');
  expect(await peer.ask('MSETNX', 'new', '1', 'k0', '1')).toBe(':0\r\n');
  expect(await peer.ask('MSET', 'k0', 'y', 'k1', 'y')).toBe('+OK\r\n');
  const sets = names.map((name) => `SET ${name} z KEEPTTL\r\n`).join('');
  expect(await peer.send(`MULTI\r\n${sets}EXEC\r\n`)).toContain(`*20\r\n${'+OK\r\n'.repeat(20)}`);
  expect((await peer.ask('DEL', ...names)) + (await peer.turn())).toBe(':20\r\n');
});

test('names that are too long together: KEYS is refused, SCAN ends its page early', async () => {
  const redis = await TestingRedis.start();
  const name = (token: number): ByteString => byteStringOf(`${token}`.padEnd(1000, 'n'));
  redis.listed = Array.from({ length: 60 }, (_, token) => ({ name: name(token), token: token as Token }));
  const peer = redis.join();
  expect(await peer.ask('KEYS', '*')).toBe(`-${refused}`);
  expect(await peer.ask('KEYS', '1*')).toContain('*11\r\n');
  const [, cursor = '', count = ''] =
    /^\*2\r\n\$\d+\r\n(\d+)\r\n\*(\d+)/.exec(await peer.ask('SCAN', '0', 'COUNT', '60')) ?? [];
  expect([cursor, count]).toEqual(['30', '30']);
  expect(await peer.ask('SCAN', cursor, 'COUNT', '60')).toMatch(/^\*2\r\n\$1\r\n0\r\n\*30/);
});

test('KEYS counts its whole answer, not the names alone', async () => {
  const redis = await TestingRedis.start();
  const name = (token: number): ByteString => byteStringOf(`${token}`.padEnd(995, 'n'));
  redis.listed = Array.from({ length: 30 }, (_, token) => ({ name: name(token), token: token as Token }));
  const peer = redis.join();
  expect(await peer.ask('KEYS', '*')).toBe(`-${refused}`);
  redis.listed = redis.listed.slice(1);
  expect(await peer.ask('KEYS', '*')).toHaveLength('*29\r\n'.length + 29 * (995 + '$995\r\n\r\n'.length));
});

test('large replies shrink the window of commands under way, small ones grow it', async () => {
  const redis = await TestingRedis.start({ owedBytesMax: 10_000, inFlightMax: 500 });
  const peer = redis.join();
  await peer.ask('SET', 'large', large);
  await peer.ask('SET', 'small', '1');
  /** The most commands under way while none is answered. */
  const under = async (name: string): Promise<number> => {
    redis.dispatcher.holding = true;
    await peer.send(`GET ${name}\r\n`.repeat(300));
    const { underWay } = redis.dispatcher;
    redis.dispatcher.holding = false;
    while (redis.dispatcher.release() || (await peer.turn()) !== '');
    return underWay;
  };
  expect(await under('large')).toBeLessThan(8);
  expect(await under('large')).toBe(3);
  await under('small');
  expect(await under('small')).toBe(300);
});
