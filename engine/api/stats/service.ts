/**
 * Serves the statistics of a node over HTTP: `/`, `/info`, `/stats` (legacy JSON), `/metrics` (text exposition), and
 * Dynomite's `/ping` and `/cluster_describe`; and the node's health (`health.ts`). It answers with the publisher's current snapshot. The first reader of a
 * format triggers its rendering, and all readers of one snapshot share the bytes. So scraping costs at most one
 * rendering a second.
 *
 * Every answer made from a snapshot names its sequence number in `X-Lockstep-Snapshot`, so that a reader of two formats
 * can tell whether both show the same instant. `io/http.ts` answers HEAD, 405 and 404.
 */
import type { Gate } from '../../auth/gate.ts';
import type { Access } from '../../auth/role.ts';
import type { ErrorCode } from '../../base/errors.ts';
import { serverName } from '../../base/version.ts';
import type { Clock } from '../../io/clock.ts';
import type { HttpRequest, HttpResponse, HttpRoute, HttpService } from '../../io/http.ts';
import { expositionContentType } from '../../metrics/exposition.ts';
import { renderPrettyJson } from '../../metrics/legacy-json.ts';
import { gaugeOf } from '../../metrics/family.ts';
import type { NodeStats } from '../../metrics/node-stats.ts';
import type { Publication, StatsPublisher } from '../../metrics/publisher.ts';
import type { AnsweredHosts } from '../answered-hosts.ts';
import type { RouteAccess } from '../http-guard.ts';
import { guardService } from '../http-guard.ts';
import type { ClusterServer } from './cluster-description.ts';
import { describeCluster } from './cluster-description.ts';
import type { HealthAnswer, HealthSource } from './health.ts';
import { liveAnswer, readyAnswer } from './health.ts';

/** What the stats listener of one node works with. */
export interface StatsServiceOptions {
  readonly stats: NodeStats;
  /** The publisher has been started, so that there is a first snapshot. */
  readonly publisher: Pick<StatsPublisher, 'current'>;
  readonly gate: Gate;
  readonly hosts: AnsweredHosts;
  readonly clock: Clock;
  /** The most header lines of a request. */
  readonly headerLinesMax: number;
  /** All nodes of the cluster that this node knows, itself included. */
  readonly servers: () => readonly ClusterServer[];
  readonly health: HealthSource;
}

type Answer = HttpResponse | Promise<HttpResponse>;

const paths = ['/', '/info', '/stats', '/metrics'];
const jsonType = 'application/json; charset=utf-8';

/** The codes of requests that reach no handler, by status; others are malformed. */
const refusalCodes: Readonly<Record<number, ErrorCode>> = {
  408: 'Timeout',
  413: 'TooLarge',
  500: 'Internal',
  503: 'Overloaded',
};

/** The most connections: scrapers and a few people. */
const connectionCountMax = 64;

/** The access that each route needs; every route has a row. */
export const statsAccess: RouteAccess = new Map<string, Access>([
  ['GET /', 'read'],
  ['GET /info', 'read'],
  ['GET /stats', 'read'],
  ['GET /metrics', 'read'],
  ['GET /ping', 'open'],
  ['GET /cluster_describe', 'read'],
  ['GET /health/live', 'open'],
  ['GET /health/ready', 'open'],
]);

/** The stats listener's routes, behind the guard. It registers the connection gauge. */
export function statsService(options: StatsServiceOptions): HttpService {
  const { stats, publisher, servers, gate, hosts, clock, headerLinesMax, health } = options;
  const legacy = (request: HttpRequest): HttpResponse => legacyJson(publisher.current, request);
  const handlers: readonly (readonly [string, (request: HttpRequest) => Answer])[] = [
    ['/', legacy],
    ['/info', legacy],
    ['/stats', legacy],
    ['/metrics', () => metrics(publisher.current)],
    ['/ping', () => ok('text/plain; charset=utf-8', 'OK\r\n')],
    ['/cluster_describe', () => ok(jsonType, describeCluster(servers()))],
    ['/health/live', () => healthAnswer(liveAnswer(health))],
    ['/health/ready', () => healthAnswer(readyAnswer(health))],
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
    refused: (status, reason) => problem(status, refusalCodes[status] ?? 'BadRequest', reason),
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

/** `?pretty`, `?pretty=true` and `?pretty=1` ask for indentation; `?pretty=false` and `?pretty=0` do not. */
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

function healthAnswer({ status, body }: HealthAnswer): HttpResponse {
  return { ...ok(jsonType, body), status };
}

/** An error answer (RFC 9457). */
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

/** Counts the stats listener's connections in a gauge of their own, apart from those of clients. */
function countConnections(stats: NodeStats): HttpService['observer'] {
  let open = 0;
  stats.register(gaugeOf('svc_stats_connections', 'Connections to the stats listener open now.', () => open));
  return {
    opened: () => (open += 1),
    closed: () => (open -= 1),
  };
}
