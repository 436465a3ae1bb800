/** Properties of the HTTP interface that hold for any content; `testdata/` shows its texts. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { ByteString } from '../../base/ids.ts';
import { byteStringFrom } from '../../base/ids.ts';
import { defaultType, objectKey } from '../../base/object-key.ts';
import type { Content } from '../../replica/object/content.ts';
import { formatLinks } from './link-header.ts';
import { percentEncode } from './percent.ts';
import { TestingClient, bytesOfAnswer, textOfAnswer } from './client.fixture.ts';

const name = fc.uint8Array({ minLength: 1, maxLength: 20 }).map(byteStringFrom);
/** The text that a header can carry: no control characters, no blanks at the ends. */
const headerValue = fc
  .string({
    unit: fc
      .integer({ min: 0x20, max: 0xff })
      .filter((code) => code !== 0x7f)
      .map((code) => String.fromCharCode(code)),
  })
  .map((text) => text.trim())
  .filter((text) => !/^[\u0080-\u00a0]|[\u0080-\u00a0]$/.test(text));
const token = fc.string({ unit: fc.constantFrom(...'abcxyz019-_.!~'), minLength: 1, maxLength: 8 });
const written = fc.record({
  bucket: name,
  key: name,
  value: fc.uint8Array({ maxLength: 500 }),
  contentType: fc.tuple(token, token).map(([type, subtype]) => `${type}/${subtype}`),
  charset: fc.option(token, { nil: undefined }),
  encoding: fc.option(token, { nil: undefined }),
  meta: fc.dictionary(token, headerValue, { maxKeys: 3 }),
  links: fc.array(fc.record({ bucket: name, key: name, tag: name }), { maxLength: 3 }),
});

function charsetSuffix(charset: string | undefined): string {
  return charset === undefined ? '' : `; charset=${charset}`;
}

test('a get after a put returns the same bytes, content headers, metadata and links', async () => {
  await fc.assert(
    fc.asyncProperty(written, async ({ bucket, key, value, contentType, charset, encoding, meta, links }) => {
      const client = new TestingClient();
      const place = { form: 'buckets', type: defaultType, bucket } as const;
      const target = `/buckets/${percentEncode(bucket)}/keys/${percentEncode(key)}`;
      const headers = {
        'Content-Type': contentType + charsetSuffix(charset),
        Link: formatLinks(links, place),
        ...(encoding === undefined ? {} : { 'Content-Encoding': encoding }),
        ...Object.fromEntries(Object.entries(meta).map(([one, text]) => [`X-Riak-Meta-${one}`, text])),
      };
      const stored = await client.call({ method: 'PUT', target, headers, body: value });
      expect([stored.status, textOfAnswer(stored)]).toEqual([204, '']);
      const got = await client.call({ method: 'GET', target });
      expect(got.status).toBe(200);
      expect(bytesOfAnswer(got)).toEqual(Buffer.from(value));
      expect(got.headers).toMatchObject(headers);
    }),
    { numRuns: 200 },
  );
});

test('index headers of a put come back and do not show as metadata', async () => {
  const client = new TestingClient();
  const target = '/buckets/b/keys/k';
  const headers = {
    'Content-Type': 'text/plain',
    'X-Riak-Index-Tag_bin': 'red, round',
    'X-Riak-Meta-One': '1',
  };
  expect((await client.call({ method: 'PUT', target, headers, body: 'v' })).status).toBe(204);
  const got = await client.call({ method: 'GET', target });
  expect(got.headers).toMatchObject({
    'X-Riak-Index-tag_bin': 'red, round',
    'X-Riak-Meta-one': '1',
  });
  expect(Object.keys(got.headers).filter((name) => /^x-riak-meta-/i.test(name))).toEqual(['X-Riak-Meta-one']);
});

test('an answer without a body still has a Content-Type', async () => {
  const client = new TestingClient();
  const typeOf = async (method: string, target: string, type: string, body: string): Promise<string> => {
    const answer = await client.call({ method, target, headers: { 'Content-Type': type }, body });
    expect(textOfAnswer(answer)).toBe('');
    return `${answer.status} ${answer.headers['Content-Type'] ?? 'none'}`;
  };
  const props = '{"props":{"allow_mult":true}}';
  expect(await typeOf('PUT', '/buckets/b/keys/k', 'text/x; charset=utf-8', 'v')).toBe(
    '204 text/x; charset=utf-8',
  );
  expect(await typeOf('POST', '/buckets/b/keys', 'image/png', 'v')).toBe('201 image/png');
  expect(await typeOf('DELETE', '/buckets/b/keys/k', 'text/plain', '')).toBe('204 text/html');
  expect(await typeOf('PUT', '/buckets/b/props', 'application/json', props)).toBe('204 application/json');
  expect(await typeOf('DELETE', '/buckets/b/props', 'text/plain', '')).toBe('204 application/json');
  expect(await typeOf('PUT', '/types/maps/props', 'application/json', props)).toBe('204 application/json');
});

test('stored bytes cannot forge a header', async () => {
  const anyBytes = fc.uint8Array({ maxLength: 20 }).map(byteStringFrom);
  await fc.assert(
    fc.asyncProperty(anyBytes, anyBytes, anyBytes, anyBytes, async (metaName, text, type, tag) => {
      const client = new TestingClient();
      const key = objectKey(defaultType, 'b' as ByteString, 'k' as ByteString);
      const content: Content = {
        value: new Uint8Array(0),
        contentType: type,
        charset: text,
        contentEncoding: text,
        meta: [[metaName, text]],
        links: [{ bucket: type, key: type, tag }],
        tombstone: false,
      };
      await client.dispatcher.put({ key, need: 'one', context: [], content });
      const { headers } = await client.call({ method: 'GET', target: '/buckets/b/keys/k' });
      for (const [header, value] of Object.entries(headers)) {
        expect(header).toMatch(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/);
        expect(value).toMatch(/^[\t\x20-\x7e\x80-\xff]*$/);
      }
    }),
    { numRuns: 300 },
  );
});

test('arbitrary headers get a status below 500, and a refusal has its error code', async () => {
  const value = fc.string({
    unit: fc.integer({ min: 0x20, max: 0xff }).map((code) => String.fromCharCode(code)),
  });
  const header = fc.constantFrom(
    'Content-Type',
    'Link',
    'X-Riak-Vclock',
    'X-Riak-If-Not-Modified',
    'If-Match',
    'If-None-Match',
    'If-Modified-Since',
    'If-Unmodified-Since',
    'Accept',
    'X-Riak-Meta-x',
  );
  const call = fc.record({
    method: fc.constantFrom('GET', 'HEAD', 'PUT', 'POST', 'DELETE'),
    headers: fc.dictionary(header, value, { maxKeys: 4 }),
    key: fc.string({ unit: fc.constantFrom('a', '%', '2', '0', '+', '\u00e9'), minLength: 1, maxLength: 6 }),
    query: fc.string({ unit: fc.constantFrom(...'rwd=&1230pqtimeou%'), maxLength: 12 }),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(call, { maxLength: 5 }), async (calls) => {
      const client = new TestingClient();
      for (const { method, headers, key, query } of calls) {
        const target = `/buckets/b/keys/${key}?${query}`;
        const answer = await client.call({ method, target, headers, body: 'v' });
        expect(answer.status).toBeLessThan(500);
        if (answer.status >= 400) expect(answer.headers['X-Lockstep-Error']).toMatch(/^[A-Z]/);
      }
    }),
    { numRuns: 500 },
  );
});

test('quorum parameters become one need: the strongest one given', async () => {
  const client = new TestingClient();
  const needs: [string, unknown][] = [
    ['', 'default'],
    ['r=1', 1],
    ['r=all', 'all'],
    ['r=0', 'one'],
    ['pr=1', 'default'],
    ['pr=3', 3],
    ['r=1&pr=quorum', 'quorum'],
    ['r=3&pr=quorum', 3],
    ['r=one&node_confirms=2', 2],
    ['r=default&pr=default&pr=0', 'default'],
    ['rw=2', 2],
  ];
  for (const [query] of needs) await client.call({ method: 'GET', target: `/buckets/b/keys/k?${query}` });
  expect(client.dispatcher.gets.map((get, index) => [needs[index]?.[0], get.need])).toEqual(needs);
  const writes: [string, unknown][] = [
    ['', 'default'],
    ['w=2', 2],
    ['w=1&dw=all', 'all'],
    ['pw=quorum', 'default'],
    ['w=one&pw=quorum', 'quorum'],
  ];
  for (const [query] of writes) {
    const headers = { 'Content-Type': 'text/plain' };
    await client.call({ method: 'PUT', target: `/buckets/b/keys/k?${query}`, headers });
  }
  expect(client.dispatcher.puts.map((put, index) => [writes[index]?.[0], put.need])).toEqual(writes);
});

test('a timeout bounds the whole request: the second step gets what the first left', async () => {
  const client = new TestingClient();
  await client.call({
    method: 'PUT',
    target: '/buckets/b/keys/k',
    headers: { 'Content-Type': 'text/plain' },
  });
  client.dispatcher.holding = true;
  const deletion = client.call({ method: 'DELETE', target: '/buckets/b/keys/k?timeout=500' });
  client.clock.advance(200_000);
  client.dispatcher.holding = false;
  client.dispatcher.release();
  expect((await deletion).status).toBe(204);
  expect(client.dispatcher.gets.at(-1)?.timeoutMs).toBe(500);
  expect(client.dispatcher.puts.at(-1)?.timeoutMs).toBe(300);
});

test('a deletion on condition of a context deletes what that context names, whatever the read shows', async () => {
  const client = new TestingClient();
  const target = '/buckets/b/keys/k';
  const headers = { 'Content-Type': 'text/plain' };
  await client.call({ method: 'PUT', target, headers, body: 'one' });
  const { headers: shown } = await client.call({ method: 'GET', target });
  await client.call({ method: 'PUT', target, headers, body: 'two' });
  const context = shown['X-Riak-Vclock'] ?? '';
  await client.call({ method: 'DELETE', target, headers: { 'X-Riak-If-Not-Modified': context } });
  const deletion = client.dispatcher.puts.at(-1);
  expect(deletion?.content.tombstone).toBe(true);
  expect(deletion?.context).toEqual(deletion?.ifContext);
});

test('a deletion on condition is written on condition that the object is what was read', async () => {
  const client = new TestingClient();
  const target = '/buckets/b/keys/k';
  const conditionOf = async (headers: Record<string, string>): Promise<unknown> => {
    await client.call({ method: 'PUT', target, headers: { 'Content-Type': 'text/plain' }, body: 'one' });
    const { headers: shown } = await client.call({ method: 'GET', target });
    const stated = Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [
        name,
        value === 'its tag' ? (shown['ETag'] ?? '') : value,
      ]),
    );
    expect((await client.call({ method: 'DELETE', target, headers: stated })).status).toBe(204);
    const deletion = client.dispatcher.puts.at(-1);
    expect(deletion?.content.tombstone).toBe(true);
    return deletion?.ifContext === undefined ? undefined : deletion.ifContext === deletion.context;
  };
  expect(await conditionOf({})).toBe(undefined);
  expect(await conditionOf({ 'If-Match': 'its tag' })).toBe(true);
  expect(await conditionOf({ 'If-None-Match': '"another"' })).toBe(true);
});

test('a write whose conditions an absent key fulfils is written on condition that it is still absent', async () => {
  const client = new TestingClient();
  const target = '/buckets/b/keys/k';
  const put = (headers: Record<string, string>): ReturnType<TestingClient['call']> =>
    client.call({
      method: 'PUT',
      target,
      headers: { 'Content-Type': 'text/plain', ...headers },
      body: 'one',
    });
  for (const headers of [
    { 'If-None-Match': '"another"' },
    { 'If-Unmodified-Since': 'Sun, 06 Nov 1994 08:49:37 GMT' },
  ]) {
    expect((await put(headers)).status).toBe(204);
    expect(client.dispatcher.puts.at(-1)).toMatchObject({ ifNoneMatch: true, ifContext: undefined });
    expect((await client.call({ method: 'DELETE', target })).status).toBe(204);
  }
  await put({});
  expect(client.dispatcher.puts.at(-1)?.ifNoneMatch).toBe(false);
});

test('requests, errors, latencies and values are reported to the observer', async () => {
  const client = new TestingClient();
  const headers = { 'Content-Type': 'text/plain' };
  await client.call({ method: 'PUT', target: '/buckets/b/keys/k', headers, body: 'seven b' });
  await client.call({ method: 'GET', target: '/buckets/b/keys/k' });
  await client.call({ method: 'HEAD', target: '/buckets/b/keys/k' });
  await client.call({ method: 'GET', target: '/buckets/b/keys/absent' });
  await client.call({ method: 'PUT', target: '/buckets/b/keys/k', body: 'no type' });
  await client.call({ method: 'GET', target: '/ping' });
  expect(client.observer.describe()).toBe('write 2, read 3, failed 1');
  expect(client.observer.payloads).toEqual([7, 7]);
  expect(client.observer.latencies.length).toBe(5);
});

test('only the values that an answer holds are reported: of siblings those of its parts, or the one that was named', async () => {
  const client = new TestingClient();
  const target = '/types/maps/buckets/b/keys/k';
  const headers = { 'Content-Type': 'text/plain' };
  for (const body of ['one', 'three']) await client.call({ method: 'PUT', target, headers, body });
  const list = await client.call({ method: 'GET', target });
  const [, first = ''] = textOfAnswer(list).trim().split('\n');
  expect([list.status, client.observer.payloads]).toEqual([300, [3, 5]]);
  await client.call({ method: 'GET', target, headers: { Accept: 'multipart/mixed' } });
  expect(client.observer.payloads).toEqual([3, 5, 3, 5]);
  const one = await client.call({ method: 'GET', target: `${target}?vtag=${first}` });
  expect(client.observer.payloads.slice(4)).toEqual([textOfAnswer(one).length]);
});

test('a value beyond the limit is refused by handler and listener alike', async () => {
  const client = new TestingClient();
  const headers = { 'Content-Type': 'text/plain' };
  const body = 'x'.repeat(1001);
  const answer = await client.call({ method: 'PUT', target: '/buckets/b/keys/k', headers, body });
  expect([answer.status, textOfAnswer(answer)]).toEqual([
    413,
    'the value has 1001 bytes; at most 1000 are allowed\n',
  ]);
  const refused = client.service.refused(413, 'too large');
  expect([refused.status, textOfAnswer(refused)]).toEqual([
    413,
    'the value is too large; at most 1000 bytes are allowed\n',
  ]);
  expect(client.service.refused(408, 'too slow').status).toBe(408);
  for (const status of [400, 417, 431]) {
    const other = client.service.refused(status, 'not so');
    expect([other.status, other.headers['X-Lockstep-Error']]).toEqual([status, 'BadRequest']);
  }
});

test('a request refused before its handler gets plain text or problem details by its path', async () => {
  const client = new TestingClient();
  const own = [
    '/transactions',
    '/buckets/b/transactions',
    '/types/t/buckets/b/transactions',
    '/wasm/modules/m',
  ];
  const codes = { 400: 'BadRequest', 408: 'Timeout', 413: 'TooLarge', 417: 'BadRequest', 500: 'Internal' };
  for (const [words, code] of Object.entries({ ...codes, 503: 'Overloaded' })) {
    const status = Number(words);
    for (const path of [...own, '/cluster/leave', '/aae/sweep']) {
      const answer = client.service.refused(status, 'no', path);
      const { headers } = answer;
      expect([path, answer.status, headers['Content-Type'], headers['X-Lockstep-Error']]).toEqual([
        path,
        status,
        'application/problem+json',
        code,
      ]);
      expect(JSON.parse(textOfAnswer(answer))).toMatchObject({ type: 'about:blank', status, code });
    }
    for (const path of [undefined, '/buckets/b/keys/transactions', '/riak/b/k', '/mapred', '/types']) {
      const { headers, ...answer } = client.service.refused(status, 'no', path);
      expect([answer.status, headers['Content-Type'], headers['X-Lockstep-Error']]).toEqual([
        status,
        'text/plain',
        code,
      ]);
    }
  }
  const large = client.service.refused(413, 'no', '/transactions');
  expect(JSON.parse(textOfAnswer(large))).toMatchObject({
    detail: 'the body is too large; at most 1000 bytes are allowed',
  });
  const busy = client.service.refused(503, 'no room', '/transactions');
  expect(busy.headers['Retry-After']).toBe('1');
  const wrong = await client.call({ method: 'PUT', target: '/openapi.json' });
  expect([wrong.status, wrong.headers['Content-Type'], wrong.headers['Allow']]).toEqual([
    405,
    'application/problem+json',
    'GET',
  ]);
});
