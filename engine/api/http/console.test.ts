/** The console's endpoints: what they bound, what they show of bytes, and which headers its page has. */
import { expect, test } from 'vitest';

import { limitedCredential, limitedToken, threeCredentials, tokens } from '../../auth/credentials.fixture.ts';
import { fullPermits } from '../../auth/permit.ts';
import { present } from '../../base/assert.ts';
import { LockstepError } from '../../base/errors.ts';
import type { HttpRequest, HttpResponse } from '../../io/http.ts';
import type { GuardedRoute } from '../http-guard.ts';
import { TestingClient, textOfAnswer } from './client.fixture.ts';
import type { ConsoleBuckets, ConsoleKeys, ConsoleObject, NodeReport } from './console-answers.ts';
import { bucketsMax, previewBytesMax, previewOf, siblingsShown } from './console-objects.ts';
import { consoleRoutes } from './console-routes.ts';

const plain = { 'Content-Type': 'text/plain' };

function jsonOf<T>(answer: HttpResponse): T {
  return JSON.parse(textOfAnswer(answer)) as T;
}

function get(client: TestingClient, target: string, headers = {}): Promise<HttpResponse> {
  return client.call({ method: 'GET', target, headers });
}

test('a listing of buckets ends at its limit, and at its deadline, and says so', async () => {
  const client = new TestingClient();
  for (const name of ['pear', 'apple']) client.lister.names.set(name, []);
  const all = jsonOf<ConsoleBuckets>(await get(client, '/console/types/default/buckets'));
  expect(all).toEqual({
    buckets: ['apple', 'pear'].map((text) => ({ text, path: text })),
    complete: true,
  });
  for (let at = 0; at < bucketsMax + 50; at++) client.lister.names.set(`b${at}`, []);
  const many = jsonOf<ConsoleBuckets>(await get(client, '/console/types/default/buckets'));
  expect([many.buckets.length, many.complete]).toEqual([bucketsMax, false]);
  expect(client.lister.abandoned).toBe(1);
  client.lister.failure = { error: new LockstepError('Timeout', 'too late'), afterPages: 1 };
  const late = jsonOf<ConsoleBuckets>(await get(client, '/console/types/default/buckets'));
  expect([late.buckets.length, late.complete]).toEqual([2, false]);
  client.lister.failure = { error: new LockstepError('NoTargets', 'nobody'), afterPages: 1 };
  expect((await get(client, '/console/types/default/buckets')).status).toBe(503);
});

test('a limited client is shown its own buckets, keys and objects alone', async () => {
  const client = new TestingClient([limitedCredential('read', 'bucket=shop:*')]);
  const headers = { Authorization: `Bearer ${limitedToken}` };
  for (const name of ['shop:a', 'other']) client.lister.names.set(name, ['k']);
  const { buckets } = jsonOf<ConsoleBuckets>(await get(client, '/console/types/default/buckets', headers));
  expect(buckets.map(({ text }) => text)).toEqual(['shop:a']);
  const statuses = [];
  for (const path of ['shop:a/keys', 'other/keys', 'other/keys/k'])
    statuses.push((await get(client, `/console/types/default/buckets/${path}`, headers)).status);
  expect(statuses).toEqual([200, 403, 403]);
});

test('keys are bytes: shown as text, and percent-encoded for paths', async () => {
  const client = new TestingClient();
  client.lister.names.set('b', ['<img onerror=x>', 'ä']);
  const { keys, complete } = jsonOf<ConsoleKeys>(await get(client, '/console/types/default/buckets/b/keys'));
  expect(keys).toEqual([
    { text: '<img onerror=x>', path: '%3Cimg%20onerror%3Dx%3E' },
    { text: 'ä', path: '%C3%A4' },
  ]);
  expect(complete).toBe(true);
  for (const query of ['limit=0', 'limit=201', 'from=-1', 'from=4294967296', 'from=x'])
    expect((await get(client, `/console/types/default/buckets/b/keys?${query}`)).status, query).toBe(400);
  expect((await get(client, '/console/types/unknown/buckets/b/keys')).status).toBe(404);
});

test('siblings are shown with their dots, the context, and bounded previews', async () => {
  const client = new TestingClient();
  const target = '/buckets/b/keys/k';
  const headers = { ...plain, 'X-Riak-Meta-Note': 'x'.repeat(300) };
  for (let at = 0; at < siblingsShown + 2; at++)
    await client.call({ method: 'PUT', target, headers, body: `value ${at} `.repeat(90) });
  const shown = jsonOf<ConsoleObject>(await get(client, '/console/types/default/buckets/b/keys/k'));
  expect([shown.siblings.length, shown.siblings_total]).toEqual([siblingsShown, siblingsShown + 2]);
  const [first] = shown.siblings;
  expect(first?.dot.node).not.toBe('');
  expect(first?.meta[0]?.[1]).toBe(`${'x'.repeat(200)}…`);
  expect(shown.context.length).toBeGreaterThan(0);
  const vclock = (await get(client, target)).headers['X-Riak-Vclock'];
  expect(shown.context_base64).toBe(vclock);
  expect((await get(client, '/console/types/default/buckets/b/keys/absent')).status).toBe(404);
});

test('a key that is absent is no failure', async () => {
  const client = new TestingClient();
  const answer = await get(client, '/console/types/default/buckets/b/keys/k');
  expect([answer.status, client.observer.describe()]).toEqual([404, 'read 1']);
});

test('a preview is text, or digits of what is no text, and never longer than its limit', () => {
  expect(previewOf(Buffer.from('<b>ä\n</b>'))).toEqual({ form: 'text', shown: '<b>ä\n</b>', bytes: 10 });
  expect(previewOf(Uint8Array.of(0, 255))).toEqual({ form: 'hex', shown: '00ff', bytes: 2 });
  expect(previewOf(Buffer.from('a\u0000b')).form).toBe('hex');
  // The limit cuts the last letter, of two bytes, in half.
  const long = previewOf(Buffer.from(`x${'ä'.repeat(previewBytesMax)}`));
  expect([long.form, long.bytes, long.shown.length]).toEqual(['text', previewBytesMax, 512]);
});

const files = { script: 'script()', style: 'a{}' };

function routeOf(path: string, page: typeof files | undefined): GuardedRoute {
  const report = (): NodeReport => ({ node: 'n1' }) as NodeReport;
  const source = { report, versions: () => Promise.resolve({ members: [] }) };
  return present(
    consoleRoutes(source, page).find((one) => one.path === path),
    'the route',
  );
}

test('the page loads its own files alone, is framed by no other page, and has no inline script', async () => {
  for (const path of ['/console', '/console/page.js', '/console/page.css']) {
    const answer = await routeOf(path, files).handle({} as HttpRequest, fullPermits.read);
    const { headers } = answer;
    const policy = headers['Content-Security-Policy'] ?? '';
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("script-src 'self'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toMatch(/unsafe|https?:|\*/);
    expect(headers['X-Content-Type-Options']).toBe('nosniff');
    expect(headers['Cache-Control']).toBe('no-store');
    expect(textOfAnswer(answer)).not.toMatch(/<script>|\son[a-z]+=|style="|https?:\/\//);
  }
  expect((await routeOf('/console', undefined).handle({} as HttpRequest, fullPermits.read)).status).toBe(404);
});

test('the page learns whether its client may act: an admin without bucket rules', async () => {
  const client = new TestingClient(threeCredentials);
  const may: [string, boolean][] = [];
  for (const token of [tokens.read, tokens.write, tokens.admin]) {
    const permit = client.gate.permitOf('http', 'r', client.gate.identify(token));
    const answer = await routeOf('/console/overview', files).handle({} as HttpRequest, permit);
    const { client: seen } = jsonOf<{ client: { role: string; may_act: boolean } }>(answer);
    may.push([seen.role, seen.may_act]);
  }
  expect(may).toEqual([
    ['read', false],
    ['write', false],
    ['admin', true],
  ]);
  const limited = new TestingClient([limitedCredential('admin', 'bucket=shop:*')]);
  const permit = limited.gate.permitOf('http', 'r', limited.gate.identify(limitedToken));
  const answer = await routeOf('/console/overview', files).handle({} as HttpRequest, permit);
  expect(jsonOf<{ client: object }>(answer).client).toEqual({ role: 'admin', may_act: false });
});
