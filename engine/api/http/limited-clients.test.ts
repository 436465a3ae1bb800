/** Clients whose credentials are limited, over HTTP: to some buckets, and to a rate. */
import { expect, test } from 'vitest';

import { limitedCredential, limitedToken } from '../../auth/credentials.fixture.ts';
import type { HttpResponse } from '../../io/http.ts';
import type { Call } from './client.fixture.ts';
import { TestingClient } from './client.fixture.ts';
import { routeAccess } from './route-access.ts';

const headers = { 'Content-Type': 'application/json', Authorization: `Bearer ${limitedToken}` };

function ask(client: TestingClient, call: Call): Promise<HttpResponse> {
  return client.call({ ...call, headers });
}

test('every route that names a bucket is refused out of reach, and no other for its bucket', async () => {
  const client = new TestingClient([limitedCredential('admin', 'bucket=shop:*')]);
  const refused: string[] = [];
  for (const { method, path } of client.service.routes) {
    const target = path.replaceAll(/:[a-z]+/g, 'x');
    if ((await ask(client, { method, target })).status === 403) refused.push(`${method} ${path}`);
  }
  const served = client.service.routes.map(({ method, path }) => `${method} ${path}`);
  const expected = served.filter((route) => route.includes('/:bucket') || routeAccess.get(route) === 'admin');
  expect(refused).toEqual(expected);
  expect(client.dispatcher.puts).toEqual([]);
});

test('a client reaches its own bucket, however the path encodes its name', async () => {
  const client = new TestingClient([limitedCredential('write', 'bucket=shop:*')]);
  for (const target of ['/buckets/shop:a/keys/k', '/buckets/shop%3Aa/keys/k', '/riak/shop:a/k'])
    expect((await ask(client, { method: 'PUT', target, body: '1' })).status).toBe(204);
  const other = await ask(client, { method: 'PUT', target: '/types/maps/buckets/shop:a/keys/k', body: '1' });
  expect(other.status).toBe(403);
  expect((await ask(client, { method: 'GET', target: '/buckets/%ZZ/keys/k' })).status).toBe(400);
});

test('a listing of buckets shows those in reach', async () => {
  const client = new TestingClient([limitedCredential('read', 'bucket=shop:*')]);
  for (const bucket of ['shop:a', 'other', 'more', 'shop:b']) client.lister.names.set(bucket, ['k']);
  const { body } = await ask(client, { method: 'GET', target: '/buckets?buckets=true' });
  const chunks: Uint8Array[] = [];
  if (typeof body !== 'string' && !(body instanceof Uint8Array))
    for await (const chunk of body) chunks.push(chunk);
  expect(JSON.parse(Buffer.concat(chunks).toString())).toEqual({ buckets: ['shop:a', 'shop:b'] });
});

test('a request beyond the rate is answered 429 with Retry-After, and served a second later', async () => {
  const client = new TestingClient([limitedCredential('read', 'rate=1')]);
  const get: Call = { method: 'GET', target: '/buckets/b/keys/k' };
  expect((await ask(client, get)).status).toBe(404);
  const refused = await ask(client, get);
  expect([refused.status, refused.headers['Retry-After'], refused.headers['X-Lockstep-Error']]).toEqual([
    429,
    '1',
    'RateLimited',
  ]);
  expect(refused.headers['WWW-Authenticate']).toBeUndefined();
  client.clock.advance(1_000_000);
  expect((await ask(client, get)).status).toBe(404);
});

test('what an admin asked for is logged with its outcome, and what others asked for is not', async () => {
  const client = new TestingClient([limitedCredential('admin', 'bucket=shop:*')]);
  await ask(client, { method: 'DELETE', target: '/buckets/shop:a/props' });
  await ask(client, { method: 'DELETE', target: '/buckets/other/props' });
  await ask(client, { method: 'PUT', target: '/buckets/shop:a/keys/k', body: '1' });
  const audited = client.log.events.filter(({ name }) => name === 'audit.admin.requested');
  expect(audited.map(({ fields }) => fields)).toEqual([
    expect.objectContaining({ name: 'lena', what: 'DELETE /buckets/shop:a/props', outcome: 'done' }),
    expect.objectContaining({ name: 'lena', what: 'DELETE /buckets/other/props', outcome: 'Forbidden' }),
  ]);
});
