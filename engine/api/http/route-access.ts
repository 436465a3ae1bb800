/**
 * The access that each route of the HTTP interface needs: a role, or nothing. A route without a row fails at start
 * (`api/http-guard.ts`), and `route-access.test.ts` compares rows and routes. Changes of the cluster, and of what
 * buckets guarantee, need the admin role.
 */
import type { Access } from '../../auth/role.ts';
import type { RouteAccess } from '../http-guard.ts';

const objects = [
  '/buckets/:bucket/keys/:key',
  '/types/:type/buckets/:bucket/keys/:key',
  '/riak/:bucket/:key',
];
const keys = ['/buckets/:bucket/keys', '/types/:type/buckets/:bucket/keys'];
const batches = [
  '/transactions',
  '/buckets/:bucket/transactions',
  '/types/:type/buckets/:bucket/transactions',
];
const properties = ['/buckets/:bucket/props', '/types/:type/buckets/:bucket/props'];

function rows(access: Access, methods: string, paths: readonly string[]): readonly [string, Access][] {
  return paths.flatMap((path) =>
    methods.split(' ').map((method): [string, Access] => [`${method} ${path}`, access]),
  );
}

/** Access by `METHOD /path`, as the routes state them. */
export const routeAccess: RouteAccess = new Map([
  ...rows('open', 'GET', ['/ping']),
  ...rows('read', 'GET', ['/', '/stats', '/openapi.json', '/cluster']),
  ...rows('read', 'GET', [...objects, ...keys, ...properties, '/riak/:bucket']),
  ...rows('read', 'GET', ['/buckets', '/types/:type/buckets', '/riak', '/types', '/types/:type/props']),
  ...rows('read', 'GET POST', ['/mapred']),
  ...rows('read', 'GET', ['/transactions', '/transactions/:id', '/wasm/modules', '/wasm/modules/:id']),
  ...rows('read', 'GET', ['/console', '/console/page.js', '/console/page.css']),
  ...rows('read', 'GET', ['/console/overview', '/console/versions']),
  ...rows('read', 'GET', [
    '/console/types/:type/buckets',
    '/console/types/:type/buckets/:bucket/keys',
    '/console/types/:type/buckets/:bucket/keys/:key',
  ]),
  ...rows('write', 'PUT POST DELETE', objects),
  ...rows('write', 'POST', [...keys, '/riak/:bucket', ...batches]),
  ...rows('admin', 'PUT DELETE', [...properties, '/wasm/modules/:id']),
  ...rows('admin', 'PUT', ['/riak/:bucket', '/types/:type/props']),
  ...rows('admin', 'GET', ['/aae', '/upgrade']),
  ...rows('admin', 'POST', ['/types', '/transactions/:id/resolve', '/aae/sweep']),
  ...rows('admin', 'POST', ['/cluster/leave', '/cluster/standby', '/upgrade/finalize']),
  ...rows('admin', 'POST', [
    '/backup/hold',
    '/backup/cut',
    '/backup/release',
    '/backup/end',
    '/backup/restore',
  ]),
  ...rows('admin', 'GET', ['/backup/:id/segments/:number']),
]);

const riaksPath = /^\/($|buckets|riak|types|mapred|stats)/;
/** A key under Riak's `/buckets/B/keys` may have any name, `transactions` too. */
const batchPath = /^(\/types\/[^/]+)?\/buckets\/[^/]+\/transactions\/?$/;

/**
 * Whether a path is Riak's. Riak's endpoints refuse in plain text, the product's own with problem details. `path` is a
 * request's or a route's.
 */
export function isRiaks(path: string): boolean {
  return riaksPath.test(path) && !batchPath.test(path);
}
