import { expect, test } from 'vitest';

import { AnsweredHosts } from './answered-hosts.ts';
import { TestingClient, textOfAnswer } from './http/client.fixture.ts';

const [loopback, reachable] = [true, false];

function answers(
  names: readonly string[] | 'auto' | 'any',
  onLoopback: boolean,
  host: string | undefined,
  open = true,
): boolean {
  return new AnsweredHosts(names, onLoopback, { open }).includes(host);
}

test.each([
  undefined,
  '127.0.0.1:8098',
  '127.0.0.1',
  '10.1.2.3:80',
  '[::1]:8098',
  '[::ffff:127.0.0.1]',
  'localhost:8098',
  'LocalHost.',
  'n1.localhost:8098',
])('an open listener on loopback answers as %j', (host) => {
  expect(answers('auto', loopback, host)).toBe(true);
  expect(answers(['kv.example'], reachable, host)).toBe(true);
});

test.each([
  'evil.example:8098',
  'evil.example',
  'localhost.evil.example',
  'notlocalhost',
  '127.0.0.1.evil.example',
  '127.0.0.1.nip.io:8098',
  '1x.2',
  '[::1',
  'a:b',
  'evil.example:8098:8098',
  'user@127.0.0.1',
])('an open listener on loopback does not answer as %j', (host) => {
  expect(answers('auto', loopback, host)).toBe(false);
  expect(answers(['kv.example'], reachable, host)).toBe(false);
});

test('with credentials or off loopback, `auto` answers any name; a configured list always holds', () => {
  expect(answers('auto', reachable, 'n1.internal:8098')).toBe(true);
  expect(answers('auto', loopback, 'kv.example', false)).toBe(true);
  expect(answers('any', loopback, 'kv.example')).toBe(true);
  expect(answers(['other.example'], loopback, 'kv.example', false)).toBe(false);
});

test('configured names are answered in any letter case, with and without a port', () => {
  const hosts = new AnsweredHosts(['kv.example', 'n1'], loopback, { open: true });
  for (const host of ['kv.example', 'KV.Example:8098', 'kv.example.', 'n1:80']) {
    expect([host, hosts.includes(host)]).toEqual([host, true]);
  }
  expect(hosts.includes('www.kv.example')).toBe(false);
  expect(hosts.includes('n1:80')).toBe(true);
});

test('a DNS-rebinding page gets 403 for objects and unknown paths; /ping is open', async () => {
  const client = new TestingClient();
  const headers = { Host: 'evil.example:8098', 'Content-Type': 'text/plain' };
  const target = '/buckets/b/keys/k';
  await client.call({ method: 'PUT', target, headers: { ...headers, Host: 'localhost' }, body: 'mine' });
  for (const method of ['GET', 'PUT', 'POST', 'DELETE']) {
    const answer = await client.call({ method, target, headers, body: 'bad' });
    expect([method, answer.status, answer.headers['X-Lockstep-Error']]).toEqual([method, 403, 'Forbidden']);
  }
  const said = textOfAnswer(await client.call({ method: 'GET', target, headers }));
  expect(said).toContain(
    'does not answer as "evil.example:8098"; ask it by its address, or add the name to client_hosts',
  );
  for (const path of ['/nothing', '/buckets']) {
    expect((await client.call({ method: 'GET', target: path, headers })).status).toBe(403);
  }
  expect((await client.call({ method: 'GET', target: '/ping', headers })).status).toBe(200);
  const kept = await client.call({ method: 'GET', target, headers: { Host: 'localhost' } });
  expect(textOfAnswer(kept)).toBe('mine');
});
