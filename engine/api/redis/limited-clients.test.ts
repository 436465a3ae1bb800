/** Clients whose credentials are limited, over the Redis protocol: to some databases, and to a rate. */
import { expect, test } from 'vitest';

import { limitedCredential, limitedToken } from '../../auth/credentials.fixture.ts';
import { commands } from './commands.ts';
import { TestingRedis } from './redis.fixture.ts';

const limited = '-RATELIMITED lena may send 2 requests a second, and 2 at once; try again in a second\r\n';

async function joined(...fields: readonly string[]) {
  const redis = await TestingRedis.start({}, [limitedCredential('write', ...fields)]);
  const peer = redis.join();
  await peer.ask('AUTH', limitedToken);
  return { redis, peer };
}

test('every command on keys, on the database or on messages is refused where the bucket is out of reach', async () => {
  const { redis, peer } = await joined('bucket=elsewhere');
  for (const { name, kind, arity } of commands.values()) {
    if (kind === 'connection') continue;
    const words = Array.from({ length: Math.abs(arity) - 1 }, () => '1');
    const reply = await peer.ask(name, ...words);
    // DISCARD and EXEC are refused before it shows that there is no transaction.
    expect([name, reply]).toEqual([name, expect.stringContaining('NOPERM this user has no permissions')]);
  }
  expect(redis.dispatcher.puts).toEqual([]);
  expect(redis.transactions.requests).toEqual([]);
});

test('a database is a bucket of its own, and FLUSHALL needs all of them', async () => {
  const { peer } = await joined('bucket=redis:3');
  expect(await peer.ask('SET', 'a', '1')).toContain('NOPERM');
  expect(await peer.ask('SELECT', '3')).toBe('+OK\r\n');
  expect(await peer.ask('GET', 'a')).toBe('$-1\r\n');
  expect(await peer.ask('FLUSHALL')).toContain('NOPERM');
  expect(await peer.send('SELECT 0\r\nMULTI\r\nSELECT 3\r\nSET a 1\r\nEXEC\r\n')).not.toContain('*1');
});

test('a command beyond the rate is refused and has no effect, one that waits counts once', async () => {
  const { redis, peer } = await joined('rate=2');
  const replies = await peer.send('GET a\r\nWATCH a\r\nGET a\r\nSET a 1\r\n');
  expect(replies).toBe(`$-1\r\n+OK\r\n${limited.repeat(2)}`);
  expect(redis.dispatcher.puts).toEqual([]);
  redis.clock.advance(1_000_000);
  expect(await peer.ask('GET', 'a')).toBe('$-1\r\n');
});
