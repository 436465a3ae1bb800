/** The access that each route of the HTTP interface needs, and the answers to clients without it. */
import { expect, test } from 'vitest';

import { threeCredentials, tokens } from '../../auth/credentials.fixture.ts';
import { mayUse, roles } from '../../auth/role.ts';
import type { HttpResponse } from '../../io/http.ts';
import { wrongDelayUs } from '../http-guard.ts';
import { settle } from '../testing/test-io.fixture.ts';
import { routeDescriptions } from './api-descriptions.ts';
import { isRiaks, routeAccess } from './route-access.ts';
import type { Call } from './client.fixture.ts';
import { TestingClient, textOfAnswer } from './client.fixture.ts';

const put: Call = { method: 'PUT', target: '/buckets/b/keys/k', body: 'value' };
const get: Call = { method: 'GET', target: '/buckets/b/keys/k' };

function as(token: string, call: Call): Call {
  return { ...call, headers: { 'Content-Type': 'text/plain', Authorization: `Bearer ${token}` } };
}

/** Waits for the answer while advancing the clock. */
async function answerTo(client: TestingClient, call: Call): Promise<HttpResponse> {
  const answer = client.call(call);
  await settle();
  client.clock.advance(wrongDelayUs);
  return answer;
}

test('exactly the described routes have a row', () => {
  expect([...routeAccess.keys()].sort()).toEqual([...routeDescriptions.keys()].sort());
});

test('every route that changes something needs at least write access', () => {
  const harmless = ['POST /mapred'];
  const lax = [...routeAccess].filter(
    ([route, access]) => !/^GET /.test(route) && !mayUse(access === 'open' ? 'read' : access, 'write'),
  );
  expect(lax.map(([route]) => route)).toEqual(harmless);
});

test('without credentials only /ping answers; every other route has no effect', async () => {
  const client = new TestingClient(threeCredentials);
  for (const call of [
    put,
    get,
    { method: 'GET', target: '/' },
    { method: 'GET', target: '/buckets?buckets=true' },
  ]) {
    const { status, headers } = await client.call(call);
    expect([status, headers['X-Lockstep-Error'], headers['WWW-Authenticate']]).toEqual([
      401,
      'Unauthorized',
      'Basic realm="lockstep", Bearer realm="lockstep"',
    ]);
  }
  for (const target of ['/no/such/path', '/buckets/b/keys/k']) {
    const { status } = await client.call({ method: 'PATCH', target });
    expect(status).toBe(401);
  }
  expect(client.dispatcher.puts).toEqual([]);
  expect((await client.call({ method: 'GET', target: '/ping' })).status).toBe(200);
});

test('a wrong token, or a malformed header, is refused after a delay', async () => {
  const client = new TestingClient(threeCredentials);
  for (const header of [
    'Bearer of-nobody',
    'Digest x',
    `Basic ${Buffer.from(`rita:${tokens.admin}`).toString('base64')}`,
  ]) {
    let answered = false;
    const answer = client
      .call({ ...put, headers: { Authorization: header } })
      .finally(() => (answered = true));
    client.clock.advance(wrongDelayUs - 1);
    await settle();
    expect(answered).toBe(false);
    client.clock.advance(1);
    const { status, headers } = await answer;
    expect(status).toBe(401);
    expect(headers['WWW-Authenticate']).toContain('error="invalid_token"');
  }
  expect(client.dispatcher.puts).toEqual([]);
});

test('each role may use the routes of the table and no others', async () => {
  for (const role of roles) {
    const client = new TestingClient(threeCredentials);
    const forbidden: string[] = [];
    for (const { method, path } of client.service.routes) {
      const target = path.replaceAll(/:[a-z]+/g, 'x');
      const answer = await answerTo(client, as(tokens[role], { method, target }));
      expect(answer.status).not.toBe(401);
      if (answer.status !== 403) continue;
      forbidden.push(`${method} ${path}`);
      expect(answer.headers['X-Lockstep-Error']).toBe('Forbidden');
      expect(answer.headers['WWW-Authenticate']).toContain('error="insufficient_scope"');
    }
    const served = client.service.routes.map(({ method, path }) => `${method} ${path}`);
    expect(forbidden).toEqual(served.filter((route) => !mayUse(role, routeAccess.get(route) ?? 'admin')));
  }
});

test('Basic credentials give the same access as the bearer token', async () => {
  const client = new TestingClient(threeCredentials);
  const basic = `Basic ${Buffer.from(`will:${tokens.write}`).toString('base64')}`;
  const answer = await client.call({
    ...put,
    headers: { 'Content-Type': 'text/plain', Authorization: basic },
  });
  expect(answer.status).toBe(204);
});

test('Riak’s endpoints refuse in plain text, the product’s own with problem details', async () => {
  const client = new TestingClient(threeCredentials);
  const riak = await client.call(as(tokens.read, put));
  expect(riak.headers['Content-Type']).toBe('text/plain');
  expect(textOfAnswer(riak)).toBe('rita has the role read; this asks for write\n');
  const own = await client.call(as(tokens.read, { method: 'GET', target: '/openapi.json' }));
  expect(own.status).toBe(200);
  const paths = [...routeAccess.keys()].map((route) => route.slice(route.indexOf(' ') + 1));
  expect([...new Set(paths.filter((path) => !isRiaks(path)))].sort()).toEqual([
    '/aae',
    '/aae/sweep',
    '/backup/:id/segments/:number',
    '/backup/cut',
    '/backup/end',
    '/backup/hold',
    '/backup/release',
    '/backup/restore',
    '/buckets/:bucket/transactions',
    '/cluster',
    '/cluster/leave',
    '/cluster/standby',
    '/console',
    '/console/overview',
    '/console/page.css',
    '/console/page.js',
    '/console/types/:type/buckets',
    '/console/types/:type/buckets/:bucket/keys',
    '/console/types/:type/buckets/:bucket/keys/:key',
    '/console/versions',
    '/openapi.json',
    '/ping',
    '/transactions',
    '/transactions/:id',
    '/transactions/:id/resolve',
    '/types/:type/buckets/:bucket/transactions',
    '/upgrade',
    '/upgrade/finalize',
    '/wasm/modules',
    '/wasm/modules/:id',
  ]);
  const problem = await client.call({ method: 'GET', target: '/openapi.json' });
  expect(problem.headers['Content-Type']).toBe('application/problem+json');
  expect(JSON.parse(textOfAnswer(problem))).toMatchObject({ status: 401, code: 'Unauthorized' });
});

test('a refused request counts as failed and not as a request', async () => {
  const client = new TestingClient(threeCredentials);
  await client.call(put);
  await client.call(as(tokens.read, put));
  expect(client.observer.describe()).toBe('failed 2');
  expect(client.gate.family.collect().filter(({ value }) => value > 0)).toEqual([
    { labels: { listener: 'http', reason: 'missing' }, value: 1 },
    { labels: { listener: 'http', reason: 'forbidden' }, value: 1 },
  ]);
});
