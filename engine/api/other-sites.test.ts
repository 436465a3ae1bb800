import { expect, test } from 'vitest';
import { TestingClient } from './http/client.fixture.ts';
import { otherSiteOf } from './other-sites.ts';

const host = '127.0.0.1:8098';

test.each([
  [{ host }],
  [{ host, origin: 'http://127.0.0.1:8098' }],
  [{ host: 'kv.example', origin: 'https://kv.example' }],
  // Behind a proxy that names another host the browser's own word stands.
  [{ host, origin: 'https://kv.example', 'sec-fetch-site': 'same-origin' }],
  [{ host, 'sec-fetch-site': 'none' }],
])('a program, or a page of this listener, is no other site: %j', (headers) => {
  expect(otherSiteOf(headers)).toBeUndefined();
});

test.each([
  [{ host, origin: 'http://evil.example' }, 'http://evil.example'],
  [{ host, origin: 'http://127.0.0.1:3000' }, 'http://127.0.0.1:3000'],
  [{ host, origin: 'null' }, 'null'],
  [{ origin: 'null' }, 'null'],
  [{ host, origin: 'null', 'sec-fetch-site': 'cross-site' }, 'null'],
  [{ host, 'sec-fetch-site': 'same-site' }, 'same-site'],
])('a page of another site is told: %j', (headers, site) => {
  expect(otherSiteOf(headers)).toBe(site);
});

test("a page of another site writes nothing, and is told so; its reads are the browser's business", async () => {
  const client = new TestingClient();
  const headers = { Host: host, Origin: 'http://evil.example', 'Content-Type': 'text/plain' };
  const target = '/buckets/b/keys/k';
  const written = await client.call({ method: 'POST', target, headers, body: 'bad' });
  expect(written.status).toBe(403);
  expect(written.headers['X-Lockstep-Error']).toBe('Forbidden');
  expect((await client.call({ method: 'GET', target, headers })).status).toBe(404);
  const own = { ...headers, Origin: `http://${host}` };
  expect((await client.call({ method: 'POST', target, headers: own, body: 'good' })).status).toBe(204);
});
