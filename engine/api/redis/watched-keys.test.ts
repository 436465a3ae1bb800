/** Tests of what a client reads of a key that it has under WATCH. */
import { expect, test } from 'vitest';

import { byteStringOf } from '../../base/ids.ts';
import type { ObjectKey } from '../../base/object-key.ts';
import { defaultType, objectKey } from '../../base/object-key.ts';
import { TestingRedis } from './redis.fixture.ts';

function keyOf(name: string): ObjectKey {
  return objectKey(defaultType, byteStringOf('redis'), byteStringOf(name));
}

test('a watched key is read no older than WATCH saw it', async () => {
  const redis = await TestingRedis.start();
  const peer = redis.join();
  await peer.ask('SET', 'a', 'old');
  const stale = await redis.dispatcher.get({ key: keyOf('a'), need: 'default' });
  await peer.ask('SET', 'a', 'new');
  await peer.ask('WATCH', 'a');
  // This majority has not received the last write yet.
  redis.dispatcher.get = () => Promise.resolve(stale);
  expect(await peer.ask('GET', 'a')).toBe('$3\r\nnew\r\n');
  expect(await peer.ask('MGET', 'a', 'a')).toBe('*2\r\n$3\r\nnew\r\n$3\r\nnew\r\n');
});

test('a watched key that has been flushed is read as it is now', async () => {
  const redis = await TestingRedis.start();
  const peer = redis.join();
  const gone = await redis.dispatcher.get({ key: keyOf('a'), need: 'default' });
  await peer.ask('SET', 'a', 'old');
  await peer.ask('WATCH', 'a');
  expect(await peer.ask('FLUSHALL')).toBe('+OK\r\n');
  // No request names what has been flushed.
  redis.dispatcher.get = () => Promise.resolve(gone);
  expect(await peer.ask('GET', 'a')).toBe('$-1\r\n');
  expect(await peer.ask('MGET', 'a', 'a')).toBe('*2\r\n$-1\r\n$-1\r\n');
});

test('a watched key whose deletion is forgotten is read as it is now, and can be written', async () => {
  const redis = await TestingRedis.start();
  const peer = redis.join();
  const requests = ['EXISTS a b', 'GET a', 'GETDEL a', 'MSET a 1 b 2', 'GET a', 'DEL a b'];
  await peer.send('SET a old\r\nWATCH a\r\n');
  // Every replica has forgotten the tombstone of another client's DEL.
  redis.dispatcher.forget(keyOf('a').packed);
  redis.clock.advance(redis.graceUs + 1);
  let replies = '';
  for (const command of requests) replies += await peer.send(`${command}\r\n`);
  expect(replies).toBe(':0\r\n$-1\r\n$-1\r\n+OK\r\n$1\r\n1\r\n:2\r\n');
  expect(await peer.send('MULTI\r\nGET a\r\nEXEC\r\n')).toMatch(/\*-1\r\n$/);
});

test('a watch of some age still ends the transaction of a key that has changed', async () => {
  const redis = await TestingRedis.start();
  const peer = redis.join();
  await peer.send('SET a 1\r\nWATCH a\r\n');
  redis.clock.advance(10 * redis.graceUs);
  expect(await peer.send('GET a\r\nMULTI\r\nGET a\r\nEXEC\r\n')).toMatch(/\*1\r\n\$1\r\n1\r\n$/);
  await peer.send('WATCH a\r\n');
  redis.clock.advance(10 * redis.graceUs);
  await redis.join().ask('SET', 'a', '2');
  expect(await peer.send('MULTI\r\nGET a\r\nEXEC\r\n')).toMatch(/\*-1\r\n$/);
});
