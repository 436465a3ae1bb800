/**
 * The stats listener: `/`, `/info`, `/stats` (legacy JSON), `/metrics` (text exposition), and the original's `/ping`
 * and `/cluster_describe`. It hands out what the publisher has published: the first reader of a format has it rendered,
 * and all readers of one publication share the bytes, so scraping cannot cost more than one rendering a second.
 *
 * Every answer made of a publication names it in `X-Lockstep-Snapshot` (the snapshot's sequence number), so that a
 * reader of two formats can tell whether both speak of the same instant. (HEAD, 405 and 404: engine/io/http.ts.)
 */
import type { Gate } from '../../auth/gate.ts';
import type { Access } from '../../auth/role.ts';
import type { ErrorCode } from '../../base/errors.ts';
import { serverName } from '../../base/version.ts';
import type { Clock } from '../../io/clock.ts';
import type { HttpRequest, HttpResponse, HttpRoute, HttpService } from '../../io/http.ts';
import { expositionContentType } from '../../metrics/exposition.ts';
import { renderPrettyJson } from '../../metrics/legacy-json.ts';
import type { NodeStats } from '../../metrics/node-stats.ts';
import type { Publication, StatsPublisher } from '../../metrics/publisher.ts';
import type { AnsweredHosts } from '../answered-hosts.ts';
import type { RouteAccess } from '../http-guard.ts';
import { guardService } from '../http-guard.ts';
import type { ClusterServer } from './cluster-description.ts';
import { describeCluster } from './cluster-description.ts';

export interface StatsServiceOptions {
  readonly stats: NodeStats;
  /** Started: there is a first publication. */
  readonly publisher: Pick<StatsPublisher, 'current'>;
  readonly gate: Gate;
  readonly hosts: AnsweredHosts;
  readonly clock: Clock;
  /** Header lines of a request at most. */
  readonly headerLinesMax: number;
  /** All nodes of the cluster as this one knows them, itself included. */
  readonly servers: () => readonly ClusterServer[];
}

type Answer = HttpResponse | Promise<HttpResponse>;

const paths = ['/', '/info', '/stats', '/metrics'];
const jsonType = 'application/json; charset=utf-8';

/** Connections at most: what scrapes, and a few people. */
const connectionCountMax = 64;

/** What each route asks of who uses it; every route has a row. */
export const statsAccess: RouteAccess = new Map<string, Access>([
  ['GET /', 'read'],
  ['GET /info', 'read'],
  ['GET /stats', 'read'],
  ['GET /metrics', 'read'],
  ['GET /ping', 'open'],
  ['GET /cluster_describe', 'read'],
]);

export function statsService(options: StatsServiceOptions): HttpService {
  const { stats, publisher, servers, gate, hosts, clock, headerLinesMax } = options;
  const legacy = (request: HttpRequest): HttpResponse => legacyJson(publisher.current, request);
  const handlers: readonly (readonly [string, (request: HttpRequest) => Answer])[] = [
    ['/', legacy],
    ['/info', legacy],
    ['/stats', legacy],
    ['/metrics', () => metrics(publisher.current)],
    ['/ping', () => ok('text/plain; charset=utf-8', 'OK\r\n')],
    ['/cluster_describe', () => ok(jsonType, describeCluster(servers()))],
  ];
  const service: HttpService = {
    serverName,
    routes: handlers.map(([path, handle]): HttpRoute => {
      return { method: 'GET', path, handle: (request) => counted(stats, handle(request)) };
    }),
    bodyBytesMax: 1024,
    connectionCountMax,
    headerLinesMax,
    requestTimeoutMs: 10_000,
    answerTimeoutMs: 10_000,
    notFound: ({ path }) => counted(stats, problem(404, 'NotFound', notFoundDetail(path))),
    methodNotAllowed: ({ method, path }, allow) => {
      const allowed = allow.join(', ');
      const detail = `${path} does not offer ${method}; it offers ${allowed}`;
      return counted(stats, problem(405, 'MethodNotAllowed', detail, { Allow: allowed }));
    },
    refused: (status, reason) => problem(status, status === 413 ? 'TooLarge' : 'BadRequest', reason),
    observer: countConnections(stats),
  };
  return guardService(service, {
    gate,
    listener: 'stats',
    hosts,
    clock,
    access: statsAccess,
    answer: ({ code, status, message }) => counted(stats, problem(status, code, message)),
  });
}

function legacyJson(publication: Publication, { query }: HttpRequest): HttpResponse {
  const body = wantsPretty(query) ? renderPrettyJson(publication.snapshot) : publication.json();
  return published(publication, jsonType, body);
}

async function metrics(publication: Publication): Promise<HttpResponse> {
  return published(publication, expositionContentType, await publication.metrics());
}

/** `?pretty`, `?pretty=true`, `?pretty=1`; `?pretty=false` and `?pretty=0` say no. */
function wantsPretty(query: URLSearchParams): boolean {
  const wish = query.get('pretty');
  return wish !== null && wish !== 'false' && wish !== '0';
}

function published(publication: Publication, type: string, body: Uint8Array | string): HttpResponse {
  const sequence = String(publication.snapshot.sequence);
  return {
    status: 200,
    headers: { 'Content-Type': type, 'Cache-Control': 'no-store', 'X-Lockstep-Snapshot': sequence },
    body,
  };
}

function ok(type: string, body: string): HttpResponse {
  return { status: 200, headers: { 'Content-Type': type, 'Cache-Control': 'no-store' }, body };
}

/** RFC 9457. */
function problem(
  status: number,
  code: ErrorCode,
  detail: string,
  headers: Readonly<Record<string, string>> = {},
): HttpResponse {
  return {
    status,
    headers: { 'Content-Type': 'application/problem+json', 'X-Lockstep-Error': code, ...headers },
    body: `${JSON.stringify({ code, status, detail })}\n`,
  };
}

function notFoundDetail(path: string): string {
  return `there is no ${path} here; the stats are at ${paths.join(', ')}`;
}

function counted<T extends Answer>(stats: NodeStats, response: T): T {
  stats.pool.stats_count += 1;
  return response;
}

/** The stats listener's own connections are not clients': they have a gauge of their own. */
function countConnections(stats: NodeStats): HttpService['observer'] {
  let open = 0;
  stats.register({
    name: 'svc_stats_connections',
    help: 'Connections to the stats listener open now.',
    type: 'gauge',
    labels: [],
    collect: () => [{ labels: {}, value: open }],
  });
  return {
    opened: () => (open += 1),
    closed: () => (open -= 1),
  };
}
