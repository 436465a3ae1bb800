/**
 * Third-party Redis clients (ioredis and redis) against a cluster of three real processes: values,
 * pipelines, transactions, scans and expiry work unchanged, through every node. `npm test` builds first.
 */
import { Redis } from 'ioredis';
import { createClient } from 'redis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { TestingCluster } from './cluster.fixture.ts';

let cluster: TestingCluster;
const portsOf = (): number[] =>
  cluster.nodes.map(({ redis }) => Number(redis.slice(redis.lastIndexOf(':') + 1)));

beforeAll(async () => {
  cluster = await TestingCluster.start(15_298);
});

afterAll(() => cluster.stop());

describe('ioredis', () => {
  let clients: Redis[] = [];
  beforeAll(() => {
    clients = portsOf().map((port) => new Redis({ host: '127.0.0.1', port }));
  });
  afterAll(() => {
    for (const client of clients) client.disconnect();
  });
  const at = (node: number): Redis => {
    const client = clients[node % 3];
    if (client === undefined) throw new Error('there is no such node');
    return client;
  };

  it('writes on one node what it reads on another', async () => {
    expect(await at(0).set('fruit', 'apple')).toBe('OK');
    expect(await at(1).get('fruit')).toBe('apple');
    expect(await at(2).append('fruit', ' pie')).toBe(9);
    expect(await at(0).getrange('fruit', 6, -1)).toBe('pie');
    expect(await at(1).set('fruit', 'pear', 'EX', 100, 'NX')).toBeNull();
    expect(await at(1).getset('fruit', 'plum')).toBe('apple pie');
    const bytes = Buffer.from([0, 1, 255, 13, 10]);
    await at(1).set(Buffer.from([200, 0]), bytes);
    expect(await at(2).getBuffer(Buffer.from([200, 0]))).toEqual(bytes);
    expect(await at(2).mset({ m1: '1', m2: '2' })).toBe('OK');
    expect(await at(0).mget('m1', 'm2', 'm3')).toEqual(['1', '2', null]);
    expect(await at(1).del('m1', 'm2', 'm3')).toBe(2);
    expect(await at(1).exists('m1', 'fruit')).toBe(1);
    expect(await at(0).type('fruit')).toBe('string');
    await expect(at(0).incr('fruit')).rejects.toThrow('ERR value is not an integer or out of range');
    await expect(at(0).lpush('list', 'x')).rejects.toThrow("ERR unknown command 'lpush'");
  });

  it('counts each increment once, whichever node gets it', async () => {
    const replies = await Promise.all(Array.from({ length: 90 }, (_, index) => at(index).incr('visits')));
    expect(replies.sort((left, right) => left - right)).toEqual(
      Array.from({ length: 90 }, (_, index) => index + 1),
    );
    expect(await at(1).get('visits')).toBe('90');
  });

  it('answers a pipeline in order', async () => {
    const pipeline = at(0).pipeline();
    for (let index = 0; index < 100; index++) pipeline.set(`p${index}`, index).incr('piped').get(`p${index}`);
    const results = (await pipeline.exec()) ?? [];
    expect(results.filter(([error]) => error !== null)).toEqual([]);
    expect(results.filter((_, index) => index % 3 === 2).map(([, value]) => Number(value))).toEqual(
      Array.from({ length: 100 }, (_, index) => index),
    );
    expect(await at(1).get('piped')).toBe('100');
  });

  it('runs transactions, and aborts them if a watched key changes', async () => {
    expect(await at(0).multi().set('a', '1').incr('a').get('b').exec()).toEqual([
      [null, 'OK'],
      [null, 2],
      [null, null],
    ]);
    await at(0).watch('a', 'never-there');
    await at(1).set('never-there', 'now');
    expect(await at(0).multi().set('a', '5').exec()).toBeNull();
    expect(await at(2).get('a')).toBe('2');
  });

  it('scans all keys from any node', async () => {
    const seen: string[] = [];
    for await (const page of at(2).scanStream({ match: 'p*', count: 7 })) seen.push(...(page as string[]));
    expect(seen.filter((key) => /^p\d+$/.test(key)).length).toBe(100);
    expect(new Set(seen).size).toBe(seen.length);
    expect((await at(0).keys('p9?')).sort()).toEqual(Array.from({ length: 10 }, (_, index) => `p9${index}`));
    expect(await at(1).dbsize()).toBe((await at(2).keys('*')).length);
    expect(await at(1).randomkey()).not.toBeNull();
  });

  it('lets values expire everywhere', async () => {
    await at(0).set('soon', 'gone', 'PX', 1);
    await at(1).set('later', 'there');
    expect(await at(2).expire('later', 100)).toBe(1);
    expect(await at(0).ttl('later')).toBeGreaterThan(95);
    expect(await at(1).persist('later')).toBe(1);
    expect(await at(2).ttl('later')).toBe(-1);
    for (const client of clients) while ((await client.get('soon')) !== null);
    expect(await at(0).ttl('soon')).toBe(-2);
    expect(await at(2).set('soon', 'again', 'NX')).toBe('OK');
  });
});

describe('redis', () => {
  it('speaks RESP2 and RESP3, sets and watches, multiplies and scans', async () => {
    for (const RESP of [2, 3] as const) {
      const port = portsOf()[RESP - 1];
      const client = createClient({ RESP, url: `redis://127.0.0.1:${port}`, name: 'tester' });
      await client.connect();
      expect(await client.ping()).toBe('PONG');
      expect(await client.clientGetName()).toBe('tester');
      expect(await client.set('n', 'v', { expiration: { type: 'EX', value: 100 } })).toBe('OK');
      expect(await client.ttl('n')).toBeGreaterThan(95);
      expect(await client.getDel('n')).toBe('v');
      expect(await client.get('n')).toBeNull();
      expect(await client.incrByFloat(`float${RESP}`, 0.5)).toBe('0.5');
      expect(await client.multi().set('t', '1').incrBy('t', 4).get('t').exec()).toEqual(['OK', 5, '5']);
      await client.watch('t');
      await client.set('t', 'x');
      await expect(client.multi().incr('t').exec()).rejects.toThrow();
      const keys: string[] = [];
      for await (const page of client.scanIterator({ MATCH: 'p1*', COUNT: 50 })) keys.push(...page);
      expect(keys.length).toBe(11);
      await client.close();
    }
  });
});
