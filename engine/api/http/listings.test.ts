import { expect, test } from 'vitest';

import { fullPermit } from '../../auth/permit.ts';
import { present } from '../../base/assert.ts';
import { LockstepError } from '../../base/errors.ts';
import type { HttpResponse } from '../../io/http.ts';
import { listingRoutes } from './listing-routes.ts';
import { TestingClient, textOfAnswer } from './client.fixture.ts';

async function chunksOf({ body }: HttpResponse): Promise<string[]> {
  if (typeof body === 'string' || body instanceof Uint8Array) return [Buffer.from(body).toString()];
  const chunks: string[] = [];
  for await (const chunk of body) chunks.push(Buffer.from(chunk).toString());
  return chunks;
}

function clientWithFruit(): TestingClient {
  const client = new TestingClient();
  client.lister.names.set('fruit', ['apple', 'pear "green"', 'plüm']);
  client.lister.names.set('cars', ['k']);
  return client;
}

test('keys come as one object, or as a stream of objects whose last one is empty', async () => {
  const client = clientWithFruit();
  const whole = await client.call({ method: 'GET', target: '/buckets/fruit/keys?keys=true' });
  expect(whole.headers['Content-Type']).toBe('application/json');
  expect(JSON.parse((await chunksOf(whole)).join(''))).toEqual({ keys: ['apple', 'pear "green"', 'plüm'] });
  const stream = await client.call({ method: 'GET', target: '/types/maps/buckets/fruit/keys?keys=stream' });
  const chunks = (await chunksOf(stream)).map((chunk) => JSON.parse(chunk) as unknown);
  expect(chunks).toEqual([{ keys: ['apple', 'pear "green"'] }, { keys: ['plüm'] }, { keys: [] }]);
});

test('a whole listing has a Content-Length unless it exceeds the bound for collecting', async () => {
  const client = clientWithFruit();
  const targets = ['/buckets/fruit/keys?keys=true', '/buckets?buckets=true', '/riak/fruit?keys=true'];
  for (const target of targets) {
    const answer = await client.call({ method: 'GET', target });
    const length = Buffer.byteLength((await chunksOf(answer)).join(''));
    expect(answer.headers['Content-Length']).toBe(String(length));
  }
  const [small] = listingRoutes(client.parts, 20);
  const request = {
    method: 'GET',
    path: '',
    params: { bucket: 'fruit' },
    query: new URLSearchParams('keys=true'),
  };
  const body = Buffer.alloc(0);
  const rest = { headers: {}, body, remote: 'client:1', onGone: (): void => undefined } as const;
  for (let time = 0; time < 2; time++) {
    const answer = await small?.handle({ ...request, ...rest }, fullPermit);
    expect(answer?.headers['Content-Length']).toBeUndefined();
    expect(JSON.parse((await chunksOf(present(answer, 'an answer'))).join(''))).toEqual({
      keys: ['apple', 'pear "green"', 'plüm'],
    });
  }
});

test('an empty bucket yields an empty list', async () => {
  const client = new TestingClient();
  const whole = await client.call({ method: 'GET', target: '/buckets/none/keys?keys=true' });
  expect((await chunksOf(whole)).join('')).toBe('{"keys":[]}');
});

test('buckets are listed for the default type, for another type, and in the old form', async () => {
  const client = clientWithFruit();
  for (const target of ['/buckets?buckets=true', '/types/maps/buckets?buckets=true', '/riak?buckets=true']) {
    const chunks = await chunksOf(await client.call({ method: 'GET', target }));
    expect(JSON.parse(chunks.join(''))).toEqual({ buckets: ['fruit', 'cars'] });
  }
  const stream = await client.call({ method: 'GET', target: '/buckets?buckets=stream' });
  expect(await chunksOf(stream)).toEqual(['{"buckets":["fruit","cars"]}', '{"buckets":[]}']);
});

test('the old form shows properties, keys, or both', async () => {
  const client = clientWithFruit();
  const text = async (query: string): Promise<unknown> =>
    JSON.parse(
      (await chunksOf(await client.call({ method: 'GET', target: `/riak/cars?${query}` }))).join(''),
    );
  expect(await text('')).toMatchObject({ props: { name: 'cars', n_val: 3 } });
  expect(await text('keys=true')).toMatchObject({ props: { name: 'cars' }, keys: ['k'] });
  expect(await text('props=false&keys=true')).toEqual({ keys: ['k'] });
  expect(await text('props=false')).toEqual({});
});

test('a failure before the first byte is an error answer, a later one cuts the body', async () => {
  const client = clientWithFruit();
  client.lister.failure = { error: new LockstepError('NoTargets', 'nobody holds them'), afterPages: 0 };
  const refused = await client.call({ method: 'GET', target: '/buckets/fruit/keys?keys=true' });
  expect([refused.status, refused.headers['X-Lockstep-Error']]).toEqual([503, 'NoTargets']);
  client.lister.failure = { error: new LockstepError('Timeout'), afterPages: 1 };
  const cut = await client.call({ method: 'GET', target: '/buckets/fruit/keys?keys=stream' });
  await expect(chunksOf(cut)).rejects.toMatchObject({ code: 'Timeout' });
});

test('a client that disconnects ends the listing', async () => {
  const client = clientWithFruit();
  const { body } = await client.call({ method: 'GET', target: '/buckets/fruit/keys?keys=stream' });
  if (typeof body === 'string' || body instanceof Uint8Array) throw new Error('no stream');
  const chunks = body[Symbol.asyncIterator]();
  await chunks.next();
  await chunks.return?.();
  expect(client.lister.abandoned).toBe(1);
});

test('an invalid parameter is refused with the allowed values', async () => {
  const client = clientWithFruit();
  const text = async (target: string): Promise<string> => {
    const answer = await client.call({ method: 'GET', target });
    return `${answer.status} ${textOfAnswer(answer).trim()}`;
  };
  expect(await text('/buckets')).toBe('400 buckets=true or buckets=stream lists the buckets');
  expect(await text('/buckets/b/keys')).toBe('400 keys=true or keys=stream lists the keys');
  expect(await text('/buckets/b/keys?keys=all')).toBe('400 keys=all given; allowed: true, stream, false');
  expect(await text('/types/cards/buckets/b/keys?keys=true')).toBe('404 Unknown bucket type: cards');
  expect(await text('/buckets/b/keys?keys=true&timeout=soon')).toContain('400 Bad timeout value "soon"');
});

test('the resource list names the served resources, in HTML or JSON', async () => {
  const client = new TestingClient();
  const html = await client.call({ method: 'GET', target: '/' });
  expect(html.headers['Content-Type']).toBe('text/html');
  expect(html.headers['Link']).toContain(
    '</buckets>; rel="riak_kv_wm_buckets", </riak>; rel="riak_kv_wm_buckets"',
  );
  expect(textOfAnswer(html)).toContain('<a href="/ping">riak_kv_wm_ping</a>');
  const json = await client.call({ method: 'GET', target: '/', headers: { Accept: 'application/json' } });
  expect(JSON.parse(textOfAnswer(json))).toMatchObject({ riak_kv_wm_ping: '/ping' });
});
