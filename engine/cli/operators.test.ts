/** The operators' commands that read and write data, against a cluster of three real processes. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';

import { TestingCluster } from './cluster.fixture.ts';
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
