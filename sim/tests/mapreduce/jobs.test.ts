import { beforeAll, describe, expect, it } from 'vitest';
import { JobHarness, jobNodes } from './job-harness.ts';

const count = 120;
const words = ['red', 'green', 'blue'];

describe('MapReduce over a cluster', () => {
  const room = new JobHarness('mapred');
  beforeAll(async () => {
    await room.start();
    await room.fill('words', count, (index) => JSON.stringify({ n: index, word: words[index % 3] }));
  });

  const all = { inputs: 'words' };
  const json = { map: { language: 'javascript', name: 'Riak.mapValuesJson' } };

  it('maps every object of a bucket once, in the same order on every node', async () => {
    const first = (await room.run('n1', { ...all, query: [json] })) as { n: number }[];
    expect(first.map(({ n }) => n).sort((left, right) => left - right)).toEqual(
      Array.from({ length: count }, (_, index) => index),
    );
    for (const node of jobNodes) expect(await room.run(node, { ...all, query: [json] })).toEqual(first);
  });

  it('reduces at the coordinator what the replicas have reduced', async () => {
    const field = { map: { name: 'map_extract_field', arg: 'n' } };
    const sum = { reduce: { language: 'erlang', module: 'riak_kv_mapreduce', function: 'reduce_sum' } };
    expect(await room.run('n2', { ...all, query: [field, sum] })).toEqual([(count * (count - 1)) / 2]);
    const kept = { map: { name: 'map_extract_field', arg: 'word', keep: true } };
    const union = { reduce: { name: 'reduce_set_union' } };
    const [list, set] = (await room.run('n3', { ...all, query: [kept, union] })) as string[][];
    expect(list?.length).toBe(count);
    expect([...(set ?? [])].sort()).toEqual([...words].sort());
    const counted = [{ reduce: { name: 'reduce_count_inputs' } }];
    expect(await room.run('n4', { ...all, query: counted })).toEqual([count]);
  });

  it('answers with the results of the kept phases alone, and with an empty list where none is kept', async () => {
    const map = { map: { name: 'map_extract_field', arg: 'n', keep: false } };
    const sum = { reduce: { name: 'reduce_sum', keep: false } };
    expect(await room.run('n1', { ...all, query: [map] })).toEqual([]);
    expect(await room.run('n2', { ...all, query: [map, sum] })).toEqual([]);
    const kept = { map: { ...map.map, keep: true } };
    const [first, ...others] = (await room.run('n3', { ...all, query: [kept, sum] })) as number[];
    expect([typeof first, others.length]).toEqual(['number', count - 1]);
  });

  it('takes inputs in all forms', async () => {
    const value = [{ map: { name: 'Riak.mapValuesJson' } }];
    const listed = {
      inputs: [
        ['words', 'k7'],
        ['words', 'k3', { any: 1 }],
      ],
      query: value,
    };
    expect(await room.run('n5', listed)).toEqual([
      { n: 7, word: 'green' },
      { n: 3, word: 'red' },
    ]);
    const filters = [['tokenize', 'k', 1], ['string_to_int'], ['between', 10, 12]];
    const filtered = { inputs: { bucket: 'words', key_filters: filters }, query: value };
    const found = (await room.run('n6', filtered)) as { n: number }[];
    expect(found.map(({ n }) => n).sort()).toEqual([10, 11, 12]);
    expect(await room.run('n1', { inputs: [['words', 'k1']], query: [] })).toEqual([['words', 'k1']]);
  });

  it('walks links', async () => {
    const walk = [
      { link: { bucket: 'words', tag: 'next' } },
      { link: { tag: 'next', keep: true } },
      { map: { name: 'Riak.mapValuesJson', keep: true } },
    ];
    expect(await room.run('n2', { inputs: [['words', 'k5']], query: walk })).toEqual([
      [['words', 'k7', 'next']],
      [{ n: 7, word: 'green' }],
    ]);
    const none = [{ link: { tag: 'other' } }];
    expect(await room.run('n2', { inputs: [['words', 'k5']], query: none })).toEqual([]);
  });

  it('tells of inputs that are not there, where a client has named them', async () => {
    const inputs = [['words', 'nothing', 'data']];
    const value = { map: { name: 'Riak.mapValues' } };
    const missing = { not_found: { bucket: 'words', key: 'nothing', keydata: 'data' } };
    expect(await room.run('n3', { inputs, query: [value] })).toEqual([missing]);
    expect(
      await room.run('n3', { inputs, query: [value, { reduce: { name: 'Riak.filterNotFound' } }] }),
    ).toEqual([]);
    expect(await room.run('n3', { inputs, query: [{ link: {} }] })).toEqual([]);
  });

  it('leaves deleted objects of a bucket out', async () => {
    await room.fill('gone', 9, (index) => String(index));
    for (const key of ['k2', 'k5']) await room.call('n1', 'DELETE', `/buckets/gone/keys/${key}`);
    const counts = { inputs: 'gone', query: [{ reduce: { name: 'reduce_count' } }] };
    expect(await room.run('n4', counts)).toEqual([7]);
    const values = { inputs: 'gone', query: [{ map: { name: 'map_object_value' } }] };
    expect(((await room.run('n5', values)) as string[]).sort().join('')).toBe('0134678');
  });

  it('streams its results in parts', async () => {
    const answer = room.begin('n1', { ...all, query: [json] }, '?chunked=true');
    await room.world.runUntil(answer, 10_000_000);
    const { status, headers, text } = await answer;
    const boundary = /boundary=(\S+)/.exec(headers['content-type'] ?? '')?.[1] ?? '';
    const parts = text.split(`--${boundary}`).slice(1);
    expect([status, parts.at(-1)]).toEqual([200, '--\r\n']);
    const data = parts.slice(0, -1).flatMap((part) => {
      const [head, body] = part.trim().split('\r\n\r\n');
      expect(head).toBe('Content-Type: application/json');
      const { phase, data: values } = JSON.parse(body ?? '') as { phase: number; data: unknown[] };
      expect(phase).toBe(0);
      return values;
    });
    expect(data).toEqual(await room.run('n1', { ...all, query: [json] }));
  });

  it('runs no job whose chunked is neither true nor false', async () => {
    for (const [query, status] of [
      ['?chunked=maybe', 400],
      ['?chunked=', 400],
      ['?chunked=FALSE', 200],
    ] as const) {
      const answer = room.begin('n1', { ...all, query: [json] }, query);
      await room.world.runUntil(answer, 10_000_000);
      expect([query, (await answer).status]).toEqual([query, status]);
    }
  });

  it('fails by phase and input where a function cannot do its work', async () => {
    await room.call('n1', 'PUT', '/buckets/bad/keys/k', {
      headers: { 'Content-Type': 'text/plain' },
      body: 'no json',
    });
    const job = { inputs: [['bad', 'k']], query: [{ link: {} }, { map: { name: 'Riak.mapValuesJson' } }] };
    expect(await room.run('n2', job)).toEqual([]);
    const failing = { inputs: [['bad', 'k']], query: [{ map: { name: 'Riak.mapValuesJson' } }] };
    const text = JSON.stringify({
      phase: 0,
      error: 'the value is no JSON: "no json"',
      input: ['bad', 'k'],
      type: 'PhaseFailed',
    });
    expect(await room.run('n2', failing)).toEqual({ status: 500, text });
    // Replicas sum at once what the coordinator sums where the map phase's own results are wanted, too.
    for (const keep of [false, true]) {
      const map = { map: { ...json.map, keep } };
      const mixed = { inputs: [['words', 'k1']], query: [map, { reduce: { name: 'Riak.reduceSum' } }] };
      const { status, text: failed } = (await room.run('n2', mixed)) as { status: number; text: string };
      expect([keep, status, JSON.parse(failed)]).toEqual([
        keep,
        500,
        { phase: 1, error: expect.stringContaining('a sum is of numbers'), type: 'PhaseFailed' },
      ]);
    }
  });

  it('refuses what is no job, with the place and the rule', async () => {
    const text = async (job: unknown): Promise<unknown> => {
      const answer = (await room.run('n1', job)) as { status: number; text: string };
      return `${answer.status} ${answer.text}`;
    };
    expect(await text({ query: [] })).toBe('400 The post body was missing the "inputs" or "query" field.\n');
    const source = { map: { language: 'javascript', source: 'function(v) { return [v]; }' } };
    expect(await text({ ...all, query: [json, source] })).toBe(
      '400 An error occurred parsing the "query" field.\nphase 1: source code in a request is not run; register a Wasm module and name it: {"language":"wasm","module":"id"}\n',
    );
    const wasm = { map: { language: 'wasm', module: 'm' } };
    expect(await text({ ...all, query: [wasm] })).toBe('404 phase 0: no Wasm module "m" is registered\n');
    expect(await text({ inputs: [['b', 'k', null, 'nope']], query: [json] })).toBe(
      '404 Unknown bucket type: nope\n',
    );
    const other = await room.call('n1', 'POST', '/mapred', {
      headers: { 'Content-Type': 'text/plain' },
      body: '{}',
    });
    expect(other.status).toBe(415);
  });

  it('leaves nothing behind', () => {
    expect(room.world.failures).toEqual([]);
  });
});
