import { expect, test } from 'vitest';

import { riakVersion, version } from '../../base/version.ts';
import type { HttpRequest, HttpResponse } from '../../io/http.ts';
import { NodeStats } from '../../metrics/node-stats.ts';
import { takeSnapshot } from '../../metrics/snapshot.ts';
import type { MemberView } from './cluster-routes.ts';
import { riakStatsRoute } from './riak-stats.ts';
import { textOfAnswer } from './client.fixture.ts';

const identity = { source: 'n1', version, rack: 'r1', dc: 'dc1', pool: 'lockstep', server: 'store' };
const instant = { sequence: 7, uptimeSeconds: 1, timestampSeconds: 1, residentBytes: 4096 };

function member(node: string, state: string): MemberView {
  const place = { datacenter: 'dc1', rack: 'r1', address: `${node}:8101` };
  return { node, ...place, state, move: 'none', owns: true, share: 33_333, tokens: 16 };
}

function ask(accept: string | undefined): HttpResponse {
  const stats = new NodeStats();
  stats.pool.client_read_requests = 5;
  stats.pool.client_write_requests = 6;
  stats.server.read_requests = 7;
  stats.server.write_requests = 8;
  stats.readRepairs.started = 9;
  const snapshot = takeSnapshot(stats, identity, instant);
  const members = [member('n1', 'NORMAL'), member('n2', 'DOWN'), member('n3', 'NORMAL')];
  const route = riakStatsRoute({ snapshot: () => snapshot, describe: () => ({ node: 'n1', members }) });
  const request: HttpRequest = {
    method: 'GET',
    params: {},
    path: '/stats',
    query: new URLSearchParams(),
    headers: { accept },
    body: Buffer.alloc(0),
    remote: 'client:1',
    onGone: () => undefined,
  };
  // The handler answers synchronously.
  return route.handle(request) as HttpResponse;
}

test('the stats show the compatible version of Riak and the version of the product', () => {
  const { status, headers, ...answer } = ask(undefined);
  expect([status, headers['Content-Type'], headers['X-Lockstep-Snapshot']]).toEqual([
    200,
    'application/json',
    '7',
  ]);
  expect(JSON.parse(textOfAnswer({ status, headers, ...answer }))).toMatchObject({
    riak_kv_version: riakVersion,
    riak_core_version: riakVersion,
    lockstep_version: version,
    nodename: 'n1',
  });
});

test('every number under a Riak name equals the published one', () => {
  expect(JSON.parse(textOfAnswer(ask('multipart/mixed, application/json, */*;q=0.5')))).toMatchObject({
    node_gets_total: 5,
    node_puts_total: 6,
    vnode_gets_total: 7,
    vnode_puts_total: 8,
    read_repairs_total: 9,
    memory_total: 4096,
    connected_nodes: ['n3'],
    ring_members: ['n1', 'n2', 'n3'],
    ring_num_partitions: 48,
  });
});

test('Accept: text/plain gets one line per number', () => {
  const answer = ask('text/plain');
  expect([answer.headers['Content-Type'], answer.headers['Vary']]).toEqual(['text/plain', 'Accept']);
  expect(textOfAnswer(answer).split('\n')).toContain('  "node_gets_total": 5,');
});
