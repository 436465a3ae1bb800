/** Tests of what one connection holds in memory between MULTI and EXEC, and under WATCH. */
import { expect, test } from 'vitest';

import { present } from '../../base/assert.ts';
import { RequestBudget } from '../session/request-budget.ts';
import { commands } from './commands.ts';
import { TestingRedis } from './redis.fixture.ts';
import { QueuedCommands, TransactionMemory } from './transaction-memory.ts';

const queued = '+QUEUED\r\n';
const refused = /^-OVERLOADED commands that wait for EXEC.* client_request_bytes_max/;

test('queued commands count in the budget of all clients, with the overhead of their arguments', async () => {
  const redis = await TestingRedis.start();
  const peer = redis.join();
  await peer.ask('MULTI');
  expect(redis.requests.waiting.heldBytes).toBe(0);
  for (let count = 0; count < 10; count++) expect(await peer.ask('SET', 'a', 'x')).toBe(queued);
  // The words have 50 bytes; the memory for 30 arguments is far more.
  expect(redis.requests.waiting.heldBytes).toBeGreaterThan(30 * 128);
  await peer.ask('DISCARD');
  expect(redis.requests.waiting.heldBytes).toBe(0);
});

test.each(['EXEC', 'DISCARD', 'RESET', 'UNKNOWN', 'GET'])('%s gives back what was queued', async (end) => {
  const redis = await TestingRedis.start();
  const peer = redis.join();
  await peer.send('MULTI\r\nSET a 1\r\n');
  expect(redis.requests.waiting.heldBytes).toBeGreaterThan(0);
  await peer.ask(end);
  expect(redis.requests.waiting.heldBytes).toBe(0);
});

test('a spoilt transaction goes on answering, and holds nothing', async () => {
  const redis = await TestingRedis.start({ queuedMax: 3 });
  const peer = redis.join();
  await peer.send('MULTI\r\nSET a 1\r\nUNKNOWN\r\n');
  for (let count = 0; count < 10; count++) expect(await peer.ask('SET', 'a', 'x')).toBe(queued);
  expect(await peer.ask('GET')).toMatch(/^-ERR wrong number/);
  expect(redis.requests.waiting.heldBytes).toBe(0);
  expect(await peer.ask('EXEC')).toMatch(/^-EXECABORT/);
  expect(await peer.send('MULTI\r\nGET a\r\nEXEC\r\n')).toBe(`+OK\r\n${queued}*1\r\n$-1\r\n`);
});

test('a queue beyond the budget of all clients is refused, and its transaction is spoilt', async () => {
  const redis = await TestingRedis.start({ connectionCountMax: 9, requestBytesMax: 300_000 });
  const small = `MULTI\r\n${'SET a 1\r\n'.repeat(50)}`;
  const [first, second] = [redis.join(), redis.join()];
  expect(await first.send(small)).not.toContain('-');
  expect(await second.send(small)).toContain('\r\n-OVERLOADED');
  expect(await second.ask('EXEC')).toMatch(/^-EXECABORT/);
  await first.reset();
  expect(redis.requests.waiting.heldBytes).toBe(0);
  expect(await redis.join().send(small)).not.toContain('-');
});

test('what one transaction queues is bounded, with the overhead of its arguments', async () => {
  const redis = await TestingRedis.start({ requestBytesMax: 20_000 });
  const peer = redis.join();
  await peer.ask('MULTI');
  const words = Array.from({ length: 1000 }, () => 'a');
  expect(await peer.ask('MGET', ...words)).toMatch(/^-ERR a transaction holds at most .* 20000 bytes/);
  expect(await peer.ask('EXEC')).toMatch(/^-EXECABORT/);
});

test('a queued command holds its own bytes, and not those that it arrived with', () => {
  const queue = new QueuedCommands(new TransactionMemory(new RequestBudget(1024 * 1024).waiting));
  const chunk = Buffer.from(`${'.'.repeat(60_000)}SETkone`);
  const request = [chunk.subarray(-7, -4), chunk.subarray(-4, -3), chunk.subarray(-3)];
  expect(queue.add(present(commands.get('set'), 'a command'), request, 10, 10_000)).toBe(true);
  const kept = queue.steps[0]?.request ?? [];
  expect(kept.map(String)).toEqual(['SET', 'k', 'one']);
  for (const { buffer } of kept) expect(buffer.byteLength).toBe(7);
});

test('values under WATCH count in the budget of all clients until the watch ends', async () => {
  const redis = await TestingRedis.start({ connectionCountMax: 99 });
  const setter = redis.join();
  for (const key of ['a', 'b']) await setter.ask('SET', key, 'x'.repeat(9000));
  const ends = ['UNWATCH', 'DISCARD', 'EXEC', 'RESET'];
  for (const end of ends) {
    const peer = redis.join();
    expect(await peer.ask('WATCH', 'a')).toBe('+OK\r\n');
    const one = redis.requests.waiting.heldBytes;
    expect(one).toBeGreaterThan(9000);
    expect(await peer.ask('WATCH', 'a', 'b')).toBe('+OK\r\n');
    expect(redis.requests.waiting.heldBytes).toBe(2 * one);
    if (end === 'DISCARD' || end === 'EXEC') await peer.ask('MULTI');
    await peer.ask(end);
    expect([end, redis.requests.waiting.heldBytes]).toEqual([end, 0]);
  }
});

test('a watch beyond the budget of all clients is refused, and watches nothing more', async () => {
  const redis = await TestingRedis.start({ connectionCountMax: 99 });
  const setter = redis.join();
  await setter.ask('SET', 'a', 'x'.repeat(9000));
  const peers = Array.from({ length: 8 }, () => redis.join());
  const replies: string[] = [];
  for (const peer of peers) replies.push(await peer.ask('WATCH', 'a'));
  expect(replies.filter((reply) => reply === '+OK\r\n')).toHaveLength(6);
  expect(replies.at(-1)).toMatch(refused);
  const held = redis.requests.waiting.heldBytes;
  // The refused connection watches nothing: a change of the key does not end its transaction.
  await setter.ask('SET', 'a', '1');
  expect(await peers.at(-1)?.send('MULTI\r\nGET a\r\nEXEC\r\n')).toContain('*1\r\n$1\r\n1\r\n');
  expect(redis.requests.waiting.heldBytes).toBe(held);
});

test('a connection that closes while WATCH reads holds nothing afterwards', async () => {
  const redis = await TestingRedis.start();
  const peer = redis.join();
  await peer.ask('SET', 'a', 'x');
  redis.dispatcher.holding = true;
  expect(await peer.ask('WATCH', 'a')).toBe('');
  await peer.reset();
  redis.dispatcher.holding = false;
  while (redis.dispatcher.release()) await peer.turn();
  await peer.turn();
  expect(redis.requests.waiting.heldBytes).toBe(0);
});

test('connections that wait within MULTI keep no other client from sending requests', async () => {
  const redis = await TestingRedis.start({ connectionCountMax: 99, requestBytesMax: 300_000 });
  const small = `MULTI\r\n${'SET a 1\r\n'.repeat(50)}`;
  expect(await redis.join().send(small)).not.toContain('-');
  expect(await redis.join().send(small)).toContain('\r\n-OVERLOADED');
  expect(redis.requests.heldBytes).toBe(0);
  expect(redis.requests.resize(0, 60_000)).toBe(true);
  expect(redis.requests.resize(0, 1_000_000)).toBe(true);
});
