import { expect, test } from 'vitest';
import { TestingClient } from './http/client.fixture.ts';
import { otherSiteOf } from './http-guard.ts';

const host = '127.0.0.1:8098';

test.each([
  [{ host }],
  [{ host, origin: 'http://127.0.0.1:8098' }],
  [{ host: 'kv.example', origin: 'https://kv.example' }],
  // A proxy may name another host; then the browser's Sec-Fetch-Site decides.
  [{ host, origin: 'https://kv.example', 'sec-fetch-site': 'same-origin' }],
  [{ host, 'sec-fetch-site': 'none' }],
])('a request of a program or of a page of the listener itself is not cross-site: %j', (headers) => {
  expect(otherSiteOf(headers)).toBeUndefined();
});

test.each([
  [{ host, origin: 'http://evil.example' }, 'http://evil.example'],
  [{ host, origin: 'http://127.0.0.1:3000' }, 'http://127.0.0.1:3000'],
  [{ host, origin: 'null' }, 'null'],
  [{ origin: 'null' }, 'null'],
  [{ host, origin: 'null', 'sec-fetch-site': 'cross-site' }, 'null'],
  [{ host, 'sec-fetch-site': 'same-site' }, 'same-site'],
])('a request of a page of another site is detected: %j', (headers, site) => {
  expect(otherSiteOf(headers)).toBe(site);
});

test('writes of a page of another site get 403; the browser guards reads', async () => {
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
