/** The operators' commands that read and write data, against a cluster of three real processes. */
import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';

import { main, TestingCluster } from '../local-cluster/cluster.fixture.ts';
import { lockstep } from './operators.fixture.ts';

let cluster: TestingCluster | undefined;
let directory = '';
let node: readonly string[] = [];
let origin = '';

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'lockstep-operators-'));
  cluster = await TestingCluster.start(15_898);
  const http = cluster.nodes[0]?.http ?? '';
  origin = `http://${http}`;
  node = ['--node', http];
});

afterAll(async () => {
  await cluster?.stop();
  rmSync(directory, { recursive: true, force: true });
});

async function put(path: string, body: string, headers: Readonly<Record<string, string>>): Promise<void> {
  expect((await fetch(origin + path, { method: 'PUT', body, headers })).status).toBe(204);
}

test('objects are written, read, listed and deleted, and a transaction is whole', async () => {
  expect((await lockstep('put', 'accounts/ann', '90', ...node)).code).toBe(0);
  expect(await lockstep('get', 'accounts/ann', ...node)).toEqual({ code: 0, out: '90', err: '' });
  expect((await lockstep('put', 'accounts/ann', '91', '--new', ...node)).code).toBe(1);
  const done = await lockstep(
    'tx',
    '--put',
    'accounts/ann=80',
    '--put',
    'accounts/bob=110',
    '--id',
    't1',
    ...node,
  );
  expect([done.code, done.out]).toEqual([0, expect.stringMatching(/^committed /)]);
  expect((await lockstep('get', 'bob', '--bucket', 'accounts', ...node)).out).toBe('110');
  const guarded = join(directory, 'tx.json');
  const operations = [{ op: 'put', bucket: 'accounts', key: 'ann', value: '0', if_absent: true }];
  writeFileSync(guarded, JSON.stringify({ operations }));
  const aborted = await lockstep('tx', '--file', guarded, ...node);
  expect([aborted.code, aborted.out]).toEqual([1, expect.stringMatching(/^aborted /)]);
  expect((await lockstep('ls', ...node)).out).toBe('accounts\n');
  expect((await lockstep('ls', 'accounts', ...node)).out.split('\n').sort()).toEqual(['', 'ann', 'bob']);
  expect((await lockstep('del', 'accounts/bob', ...node)).code).toBe(0);
  const gone = await lockstep('get', 'accounts/bob', ...node);
  expect([gone.code, gone.err]).toEqual([1, 'lockstep: there is no accounts/bob\n']);
});

test('a value that is larger than a pipe arrives whole, however late its reader begins', async () => {
  await put('/buckets/large/keys/k', 'x'.repeat(1_000_000), { 'Content-Type': 'text/plain' });
  const child = spawn(process.execPath, [main, 'get', 'large/k', ...node], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await sleep(1500);
  let bytes = 0;
  for await (const chunk of child.stdout as AsyncIterable<Buffer>) bytes += chunk.length;
  expect(bytes).toBe(1_000_000);
  expect((await lockstep('del', 'large/k', ...node)).code).toBe(0);
});

test('names with every kind of line separator are exported and imported', async () => {
  const file = join(directory, 'lines.jsonl');
  const keys = ['a\u2028b', 'a\u2029b', 'a\u0085b', 'a\nb', 'a\r\nb'];
  for (const key of keys)
    await put(`/buckets/lines/keys/${encodeURIComponent(key)}`, key, { 'Content-Type': 'text/plain' });
  expect((await lockstep('export', '--bucket', 'lines', '--out', file, ...node)).code).toBe(0);
  const { code, out } = await lockstep('import', file, '--json', ...node);
  expect([code, JSON.parse(out)]).toMatchObject([0, { objects: keys.length, whole: true }]);
  for (const key of keys) expect((await lockstep('del', key, '--bucket', 'lines', ...node)).code).toBe(0);
});

test('keys that are called . and .. are objects like others', async () => {
  const file = join(directory, 'dots.jsonl');
  for (const key of ['.', '..']) {
    expect((await lockstep('put', `dots/${key}`, `at ${key}`, ...node)).code).toBe(0);
    expect((await lockstep('get', `dots/${key}`, ...node)).out).toBe(`at ${key}`);
  }
  expect((await lockstep('export', '--bucket', 'dots', '--out', file, ...node)).code).toBe(0);
  for (const key of ['.', '..']) expect((await lockstep('del', `dots/${key}`, ...node)).code).toBe(0);
  const { code, out } = await lockstep('import', file, '--json', ...node);
  expect([code, JSON.parse(out)]).toMatchObject([0, { objects: 2, whole: true }]);
  for (const key of ['.', '..']) expect((await lockstep('del', `dots/${key}`, ...node)).code).toBe(0);
});

test('an export holds all siblings and metadata, and an import proves that it wrote all of it', async () => {
  const headers = {
    'Content-Type': 'text/plain; charset=utf-8',
    'X-Riak-Meta-By': 'me',
    'X-Riak-Index-age_int': '7',
    Link: '</buckets/accounts/keys/ann>; riaktag="of"',
  };
  const json = { 'Content-Type': 'application/json' };
  for (const bucket of ['opinions', 'taken'])
    await put(`/buckets/${bucket}/props`, '{"props":{"allow_mult":true}}', json);
  for (const value of ['yes', 'no']) await put('/buckets/opinions/keys/q%2F%C3%A9', value, headers);
  const file = join(directory, 'opinions.jsonl');
  expect((await lockstep('export', '--bucket', 'opinions', '--out', file, ...node)).code).toBe(0);
  const [, line = '', end] = readFileSync(file, 'utf8').split('\n');
  const { key, siblings } = JSON.parse(line) as {
    key: string;
    siblings: { value: string; headers: object }[];
  };
  expect([key, siblings.map(({ value }) => Buffer.from(value, 'base64').toString()).sort()]).toEqual([
    'q/é',
    ['no', 'yes'],
  ]);
  expect(siblings[0]?.headers).toEqual({
    'content-type': 'text/plain; charset=utf-8',
    'x-riak-meta-by': 'me',
    'x-riak-index-age_int': '7',
    link: '</buckets/accounts/keys/ann>; riaktag="of"',
  });
  expect(end).toMatch(/^\{"end":\{"objects":1,"siblings":2,"hash":"[0-9a-f]{64}"\}\}$/);
  expect((await lockstep('del', 'q/é', '--bucket', 'opinions', ...node)).code).toBe(0);
  for (const attempt of [1, 2]) {
    const { code, out } = await lockstep('import', file, '--json', ...node);
    expect([attempt, code, JSON.parse(out)]).toMatchObject([
      attempt,
      0,
      { objects: 1, siblings: 2, whole: true },
    ]);
  }
  await put('/buckets/opinions/keys/q%2F%C3%A9', 'later', headers);
  const held = await lockstep('import', file, ...node);
  expect([held.code, held.err]).toEqual([1, expect.stringContaining('opinions/q/é holds something else')]);
  expect((await lockstep('import', file, '--replace', ...node)).code).toBe(0);
  writeFileSync(file, readFileSync(file, 'utf8').replace('"me"', '"him"'));
  expect((await lockstep('import', file, ...node)).code).toBe(2);
});

test('a backup of the running cluster is verified, shared with the next one, expired, and restored', async () => {
  const backups = join(directory, 'backups');
  const members = cluster?.nodes.flatMap(({ http }) => ['--node', http]) ?? [];
  const json = { 'Content-Type': 'application/json' };
  await put('/buckets/saved/props', '{"props":{"allow_mult":true}}', json);
  const plain = { 'Content-Type': 'text/plain', 'X-Riak-Meta-By': 'me' };
  for (const value of ['yes', 'no']) await put('/buckets/saved/keys/two', value, plain);
  for (let key = 0; key < 50; key++) await put(`/buckets/other/keys/${key}`, `v${key}`, plain);
  const partial = await lockstep('backup', backups, ...node);
  expect([partial.code, partial.err]).toEqual([1, expect.stringContaining('n2, n3 belong to the cluster')]);
  const taken = await lockstep('backup', backups, ...members, '--json');
  expect([taken.code, JSON.parse(taken.out)]).toMatchObject([0, { nodes: ['n1', 'n2', 'n3'], without: [] }]);
  expect((await lockstep('backup', 'verify', backups)).out).toMatch(/^sound: .* every byte read\n$/);
  await put('/buckets/other/keys/0', 'later', plain);
  expect((await lockstep('backup', backups, ...members)).code).toBe(0);
  const { id } = JSON.parse(taken.out) as { id: string };
  expect((await lockstep('backup', 'list', backups, '--json')).out.trim().split('\n')).toHaveLength(2);
  await put('/buckets/saved/props', '{"props":{"allow_mult":false}}', json);
  for (const object of ['saved/two', 'other/1'])
    expect((await lockstep('del', object, ...node)).code).toBe(0);
  const dry = await lockstep('restore', backups, '--id', id, '--dry-run', '--json', ...node);
  expect(JSON.parse(dry.out)).toMatchObject({ sent: false, unreadable_keys: 0, in_doubt: [] });
  // The deletions are newer than what the backup holds, so they stay.
  const again = await lockstep('restore', backups, '--id', id, '--only', 'saved', '--json', ...node);
  expect([again.code, JSON.parse(again.out)]).toMatchObject([0, { objects: 1, sent: true }]);
  expect((await lockstep('get', 'saved/two', ...node)).code).toBe(1);
  const back = await lockstep('restore', backups, '--id', id, '--overwrite', '--json', ...node);
  expect([back.code, JSON.parse(back.out)]).toMatchObject([0, { unreadable_keys: 0, unreadable_copies: 0 }]);
  expect((await lockstep('get', 'other/1', ...node)).out).toBe('v1');
  expect((await lockstep('get', 'other/0', ...node)).out).toBe('v0');
  const two = JSON.parse((await lockstep('get', 'saved/two', '--json', ...node)).out) as {
    siblings: unknown[];
  };
  expect(two.siblings).toHaveLength(2);
  expect((await lockstep('backup', 'expire', backups, '--keep', '1')).code).toBe(0);
  expect((await lockstep('backup', 'list', backups)).out).not.toContain(id);
  expect((await lockstep('backup', 'verify', backups)).code).toBe(0);
  const [segment = ''] = readdirSync(join(backups, 'segments'));
  const path = join(backups, 'segments', segment);
  const bytes = readFileSync(path);
  bytes[100] = (bytes[100] ?? 0) ^ 1;
  writeFileSync(path, bytes);
  const damaged = await lockstep('backup', 'verify', backups);
  expect([damaged.code, damaged.out]).toEqual([1, expect.stringContaining('do not have the hash')]);
});

test('a restore into a new cluster makes the types of run time, and keeps the siblings of the default type', async () => {
  const backups = join(directory, 'typed');
  const members = cluster?.nodes.flatMap(({ http }) => ['--node', http]) ?? [];
  const json = { 'Content-Type': 'application/json' };
  const text = { 'Content-Type': 'text/plain' };
  const multOf = async (at: string, path: string): Promise<unknown> => {
    const shown = (await (await fetch(`http://${at}${path}/props`)).json()) as { props: object };
    return Reflect.get(shown.props, 'allow_mult');
  };
  const body = '{"name":"carts","props":{}}';
  expect((await fetch(`${origin}/types`, { method: 'POST', body, headers: json })).status).toBe(201);
  await put('/types/default/props', '{"props":{"allow_mult":true}}', json);
  const objects = ['/types/carts/buckets/open/keys/k', '/buckets/plain/keys/k'];
  for (const path of objects) for (const value of ['a', 'b']) await put(path, value, text);
  expect((await lockstep('backup', backups, ...members)).code).toBe(0);
  await put('/types/default/props', '{"props":{"allow_mult":false}}', json);
  // The other buckets of the type are not part of what is restored.
  const part = await lockstep('restore', backups, '--only', 'plain', ...node);
  expect([part.code, part.err]).toEqual([0, '']);
  const [, at = ''] = node;
  expect([await multOf(at, '/types/default'), await multOf(at, '/buckets/plain')]).toEqual([false, true]);
  const fresh = await TestingCluster.start(15_948);
  try {
    const http = fresh.nodes[0]?.http ?? '';
    const whole = await lockstep('restore', backups, '--node', http);
    expect([whole.code, whole.err]).toEqual([0, '']);
    expect([await multOf(http, '/types/default'), await multOf(http, '/types/carts')]).toEqual([true, true]);
    for (const path of objects) expect((await fetch(`http://${http}${path}`)).status).toBe(300);
  } finally {
    await fresh.stop();
  }
});

test('a load has a fixed rate and names its latencies', async () => {
  const line = ['load', '--rate', '100', '--for', '500ms', '--keys', '10', '--clean', '--json', ...node];
  const { code, out } = await lockstep(...line);
  const { reads, writes, failures } = JSON.parse(out) as {
    reads: { count: number };
    writes: { count: number };
    failures: object;
  };
  expect([code, reads.count + writes.count, failures]).toEqual([0, 50, {}]);
  expect((await lockstep('ls', 'lockstep-load', ...node)).out).toBe('');
});
