import { describe, expect, it } from 'vitest';

import { Gate } from '../../auth/gate.ts';
import type { HttpRequest, HttpResponse, HttpService } from '../../io/http.ts';
import { Exposition } from '../../metrics/exposition.ts';
import { NodeStats } from '../../metrics/node-stats.ts';
import { Publication } from '../../metrics/publisher.ts';
import { takeSnapshot } from '../../metrics/snapshot.ts';
import { AnsweredHosts } from '../answered-hosts.ts';
import { textOfAnswer } from '../http/client.fixture.ts';
import { TestClock, TestLog } from '../testing/test-io.fixture.ts';
import type { HealthWarningCode, NotReadyCode } from './health.ts';
import { healthWarnings, notReadyReasons } from './health.ts';
import { statsService } from './service.ts';

const identity = { source: 'n1', version: '0', rack: 'r', dc: 'd', pool: 'lockstep', server: 'store_local' };
const servers = [
  { name: 'n3', dc: 'd2', rack: 'r1', host: '127.0.0.1', port: 8103, tokens: [7] },
  { name: 'n2', dc: 'd1', rack: 'r2', host: '127.0.0.1', port: 8102, tokens: [] },
  { name: 'n1', dc: 'd1', rack: 'r2', host: '127.0.0.1', port: 8101, tokens: [3, 9] },
];

const health: { node: string; notReady: NotReadyCode[]; warnings: HealthWarningCode[] } = {
  ...{ node: 'n1', notReady: [], warnings: [] },
};

function publish(stats: NodeStats, sequence: number): Publication {
  const instant = { sequence, uptimeSeconds: 1, timestampSeconds: 2, residentBytes: 3 };
  const snapshot = takeSnapshot(stats, identity, instant);
  return new Publication(snapshot, new Exposition());
}

function setting(): {
  stats: NodeStats;
  service: HttpService;
  publication: Publication;
  get: (target: string) => Promise<HttpResponse>;
} {
  const stats = new NodeStats();
  const publication = publish(stats, 17);
  const service = statsService({
    stats,
    publisher: { current: publication },
    gate: new Gate({ log: new TestLog(), clock: new TestClock() }, undefined),
    hosts: new AnsweredHosts('any', true, { open: true }),
    clock: new TestClock(),
    headerLinesMax: 256,
    servers: () => servers,
    health,
  });
  const get = async (target: string): Promise<HttpResponse> => {
    const request = requestFor(target);
    const route = service.routes.find(({ path, method }) => path === request.path && method === 'GET');
    return route === undefined ? service.notFound(request) : route.handle(request);
  };
  return { stats, service, publication, get };
}

function requestFor(target: string, method: HttpRequest['method'] = 'GET'): HttpRequest {
  const url = new URL(target, 'http://localhost');
  const remote = '127.0.0.1:1';
  return {
    method,
    params: {},
    path: url.pathname,
    query: url.searchParams,
    headers: {},
    body: Buffer.alloc(0),
    remote,
    onGone: () => undefined,
  };
}

describe('the stats listener', () => {
  it('answers /, /info and /stats with the published line', async () => {
    const { publication, get } = setting();
    for (const path of ['/', '/info', '/stats', '/stats?pretty=false', '/?pretty=0']) {
      const response = await get(path);
      expect(response.status).toBe(200);
      expect(response.headers['Content-Type']).toBe('application/json; charset=utf-8');
      expect(response.headers['X-Lockstep-Snapshot']).toBe('17');
      expect(response.body).toBe(publication.json());
    }
  });

  it('answers /metrics with the exposition text of the same snapshot', async () => {
    const { publication, get } = setting();
    const response = await get('/metrics');
    expect(response.headers['Content-Type']).toBe('text/plain; version=0.0.4; charset=utf-8');
    expect(response.headers['X-Lockstep-Snapshot']).toBe('17');
    expect(response.body).toBe(await publication.metrics());
  });

  it('indents the JSON for ?pretty', async () => {
    const { publication, get } = setting();
    for (const path of ['/?pretty', '/info?pretty=true', '/stats?pretty=1']) {
      const body = textOfAnswer(await get(path));
      expect(body.startsWith('{\n  "service": "lockstep",\n')).toBe(true);
      expect(JSON.parse(body)).toEqual(JSON.parse(publication.json().toString()));
    }
  });

  it('answers the paths of Dynomite', async () => {
    const { get } = setting();
    expect((await get('/ping')).body).toBe('OK\r\n');
    expect((await get('/cluster_describe')).body).toBe(
      '{"dcs":[{"name":"d1","racks":[{"name":"r2","servers":[' +
        '{"name":"n1","host":"127.0.0.1","port":8101,"token":3},' +
        '{"name":"n2","host":"127.0.0.1","port":8102,"token":0}]}]},' +
        '{"name":"d2","racks":[{"name":"r1","servers":[' +
        '{"name":"n3","host":"127.0.0.1","port":8103,"token":7}]}]}]}',
    );
  });

  it('answers probes with the health of the node, and names every reason', async () => {
    const { get } = setting();
    health.notReady = [];
    const ready = await get('/health/ready');
    expect([ready.status, ready.body]).toEqual([
      200,
      '{"status":"ready","node":"n1","reasons":[],"warnings":[]}\n',
    ]);
    health.warnings = ['hint_store_full'];
    const warned = await get('/health/ready');
    expect([warned.status, JSON.parse(textOfAnswer(warned))]).toEqual([
      200,
      {
        ...{ status: 'ready', node: 'n1', reasons: [] },
        warnings: [{ code: 'hint_store_full', detail: healthWarnings.hint_store_full }],
      },
    ]);
    health.warnings = [];
    health.notReady = ['disk_full', 'ring_not_agreed'];
    const live = await get('/health/live');
    expect([live.status, live.body]).toEqual([200, '{"status":"live","node":"n1"}\n']);
    const refused = await get('/health/ready');
    expect(refused.status).toBe(503);
    expect(JSON.parse(textOfAnswer(refused))).toEqual({
      status: 'not_ready',
      node: 'n1',
      reasons: health.notReady.map((code) => ({ code, detail: notReadyReasons[code] })),
      warnings: [],
    });
  });

  it('answers an unknown path with a 404 that names the four paths', async () => {
    const { get } = setting();
    const response = await get('/help');
    expect(response.status).toBe(404);
    expect(response.headers['Content-Type']).toBe('application/problem+json');
    expect(JSON.parse(textOfAnswer(response))).toEqual({
      code: 'NotFound',
      status: 404,
      detail: 'there is no /help here; the stats are at /, /info, /stats, /metrics',
    });
  });

  it('answers another method with a 405 that names the allowed ones', async () => {
    const { service } = setting();
    const response = service.methodNotAllowed(requestFor('/stats', 'POST'), ['GET', 'HEAD']);
    expect(response.status).toBe(405);
    expect(response.headers['Allow']).toBe('GET, HEAD');
    expect(textOfAnswer(response)).toContain('"code":"MethodNotAllowed"');
  });

  it('names why a request reached no handler', () => {
    const { service } = setting();
    const codes = [400, 408, 413, 431, 503].map(
      (status) => service.refused(status, '').headers['X-Lockstep-Error'],
    );
    expect(codes).toEqual(['BadRequest', 'Timeout', 'TooLarge', 'BadRequest', 'Overloaded']);
  });

  it('counts every request, whatever the answer', async () => {
    const { stats, service, get } = setting();
    for (const path of ['/', '/metrics', '/ping', '/cluster_describe', '/nowhere']) await get(path);
    service.methodNotAllowed(requestFor('/stats', 'POST'), ['GET', 'HEAD']);
    expect(stats.pool.stats_count).toBe(6);
  });

  it('counts its connections apart from the clients’', async () => {
    const { stats, service } = setting();
    service.observer.opened();
    service.observer.opened();
    service.observer.closed('eof');
    const text = (await publish(stats, 18).metrics()).toString();
    expect(text).toContain('\nsvc_stats_connections 1\n');
    expect(text).toContain('\nsvc_pool_client_connections{pool="lockstep"} 0\n');
  });
});
