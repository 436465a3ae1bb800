/**
 * A third-party Riak client (basho-riak-client) against a cluster of three real processes: what it does
 * with objects, siblings, bucket properties and listings works unchanged. `npm test` builds first.
 */
import Riak from 'basho-riak-client';
import type { Client, MapReduced, Results } from 'basho-riak-client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { TestingCluster } from './cluster.fixture.ts';

const bucket = 'fruit';

let cluster: TestingCluster | undefined;
let client: Client | undefined;

beforeAll(async () => {
  cluster = await TestingCluster.start(15_098);
  const addresses = cluster.nodes.map(({ pb }) => pb);
  client = await new Promise<Client>((resolve, reject) => {
    new Riak.Client(addresses, (error, made) => (error === null ? resolve(made) : reject(asError(error))));
  });
});

afterAll(async () => {
  await new Promise<void>((resolve) => (client === undefined ? resolve() : client.stop(resolve)));
  await cluster?.stop();
});

/** One call; rejects with the client's error. */
function call<Name extends keyof Results>(name: Name, options: object): Promise<Results[Name]> {
  return new Promise((resolve, reject) => {
    if (client === undefined) {
      reject(new Error('there is no client'));
      return;
    }
    const done = (error: Error | string | null, result: Results[Name]): void =>
      error === null ? resolve(result) : reject(asError(error));
    const method = client[name] as (
      options: object,
      done: (error: Error | string | null, result: Results[Name]) => void,
    ) => void;
    method.call(client, options, done);
  });
}

function mapReduce(query: string): Promise<MapReduced> {
  return new Promise((resolve, reject) => {
    client?.mapReduce(
      query,
      (error, result) => (error === null ? resolve(result) : reject(asError(error))),
      false,
    );
  });
}

function asError(error: Error | string): Error {
  return typeof error === 'string' ? new Error(error) : error;
}

async function valuesOf(key: string, from = bucket): Promise<string[]> {
  const { values } = await call('fetchValue', { bucket: from, key });
  return values.map(({ value }) => value.toString()).sort();
}

describe('basho-riak-client', () => {
  it('stores, fetches and deletes values with their metadata', async () => {
    const object = new Riak.Commands.KV.RiakObject();
    object.setContentType('text/plain');
    object.setValue('red and round');
    object.setUserMeta([{ key: 'grown-in', value: 'Kent' }]);
    object.setLinks([{ bucket, key: 'pear', tag: 'sibling' }]);
    await call('storeValue', { bucket, key: 'apple', value: object });
    const { values, isNotFound } = await call('fetchValue', { bucket, key: 'apple' });
    expect(isNotFound).toBe(false);
    expect(values[0]).toMatchObject({
      contentType: 'text/plain',
      userMeta: [{ key: 'grown-in', value: 'Kent' }],
      links: [{ bucket, key: 'pear', tag: 'sibling' }],
    });
    const { generatedKey } = await call('storeValue', { bucket, value: 'made' });
    expect(await valuesOf(generatedKey ?? '')).toEqual(['made']);
    await call('deleteValue', { bucket, key: 'apple' });
    expect((await call('fetchValue', { bucket, key: 'apple' })).isNotFound).toBe(true);
  });

  it('sets a bucket’s properties, which hold on every node at once, and resets them', async () => {
    const own = 'baskets';
    await call('storeBucketProps', { bucket: own, allowMult: true, nVal: 3, w: 3, notFoundOk: false });
    // The client sends each request to the next node, so each of these asks another one.
    for (let node = 0; node < 3; node++) {
      const properties = await call('fetchBucketProps', { bucket: own });
      expect(properties).toMatchObject({ nVal: 3, allowMult: true, w: 3, notFoundOk: false });
    }
    await expect(call('storeBucketProps', { bucket: own, nVal: 7 })).rejects.toThrow(
      'n_val: 7 given; allowed: 3',
    );
    await call('resetBucketProps', { bucket: own });
    expect(await call('fetchBucketProps', { bucket: own })).toMatchObject({ allowMult: false });
    expect(await call('fetchBucketTypeProps', { bucketType: 'default' })).toMatchObject({ allowMult: false });
    await expect(call('fetchValue', { bucketType: 'cards', bucket, key: 'k' })).rejects.toThrow(
      'Unknown bucket type: cards',
    );
  });

  it('reads siblings of concurrent writers, and resolves them', async () => {
    const own = 'opinions';
    await call('storeBucketProps', { bucket: own, allowMult: true });
    await call('storeValue', { bucket: own, key: 'tea', value: 'milk first' });
    await call('storeValue', { bucket: own, key: 'tea', value: 'milk last' });
    const { vclock } = await call('fetchValue', { bucket: own, key: 'tea' });
    expect(await valuesOf('tea', own)).toEqual(['milk first', 'milk last']);
    await call('storeValue', { bucket: own, key: 'tea', value: 'no milk', vclock });
    expect(await valuesOf('tea', own)).toEqual(['no milk']);
  });

  it('lists buckets and keys without the deleted ones', async () => {
    const own = 'numbers';
    const names = Array.from({ length: 40 }, (_, index) => `k${index}`);
    for (const key of [...names, 'gone']) await call('storeValue', { bucket: own, key, value: key });
    await call('deleteValue', { bucket: own, key: 'gone' });
    const { keys, done } = await call('listKeys', { bucket: own, stream: false });
    expect([...keys].sort()).toEqual([...names].sort());
    expect(done).toBe(true);
    expect((await call('listBuckets', { stream: false })).buckets).toContain(own);
  });

  it('runs MapReduce jobs', async () => {
    const own = 'scores';
    for (let index = 0; index < 20; index++) {
      await call('storeValue', { bucket: own, key: `k${index}`, value: String(index) });
    }
    const query = JSON.stringify({
      inputs: { bucket: own, key_filters: [['tokenize', 'k', 1], ['string_to_int'], ['less_than', 10]] },
      query: [
        { map: { language: 'javascript', name: 'Riak.mapValuesJson', keep: true } },
        { reduce: { language: 'erlang', module: 'riak_kv_mapreduce', function: 'reduce_sum' } },
      ],
    });
    const { phase_0: kept, phase_1: sum, done } = await mapReduce(query);
    expect([...(kept ?? [])].sort()).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    expect([sum, done]).toEqual([[45], true]);
    const unknown = JSON.stringify({ inputs: own, query: [{ map: { source: 'function() {}' } }] });
    await expect(mapReduce(unknown)).rejects.toThrow('register a Wasm module');
  });

  it('follows links, two hops in one job', async () => {
    const linked = async (key: string, to: string, tag: string): Promise<void> => {
      const object = new Riak.Commands.KV.RiakObject();
      object.setContentType('text/plain');
      object.setValue(key);
      object.setLinks([{ bucket: 'web', key: to, tag }]);
      await call('storeValue', { bucket: 'web', key, value: object });
    };
    await linked('paul', 'beatles', 'plays-in');
    await linked('beatles', 'help', 'album');
    await call('storeValue', { bucket: 'web', key: 'help', value: 'Help!' });
    const query = JSON.stringify({
      inputs: [['web', 'paul']],
      query: [
        { link: { bucket: 'web', tag: 'plays-in' } },
        { link: { tag: 'album' } },
        { map: { language: 'javascript', name: 'Riak.mapValues', keep: true } },
      ],
    });
    expect((await mapReduce(query)).phase_2).toEqual(['Help!']);
  });

  it('learns which nodes hold a key', async () => {
    const { preflist } = await call('fetchPreflist', { bucket, key: 'apple' });
    expect(preflist.map(({ node }) => node).sort()).toEqual(['n1', 'n2', 'n3']);
  });
});
