/**
 * `GET /`: lists the resources that this listener serves, as Riak does, in HTML or JSON by the Accept header, and in
 * Link headers.
 */
import type { HttpRequest, HttpResponse, HttpRoute } from '../../io/http.ts';

/** Riak's names of its resources, and their paths here. */
const riakResources: readonly (readonly [string, string])[] = [
  ['riak_kv_wm_buckets', '/buckets'],
  ['riak_kv_wm_buckets', '/riak'],
  ['riak_kv_wm_bucket_type', '/types'],
  ['riak_kv_wm_keylist', '/buckets'],
  ['riak_kv_wm_mapred', '/mapred'],
  ['riak_kv_wm_object', '/buckets'],
  ['riak_kv_wm_object', '/riak'],
  ['riak_kv_wm_ping', '/ping'],
  ['riak_kv_wm_props', '/buckets'],
  ['riak_kv_wm_stats', '/stats'],
];

/** The route that lists Riak's resources that `paths` serve, and the product's own. */
export function resourceList(paths: readonly string[]): HttpRoute {
  const roots = [...new Set(paths.map((path) => `/${path.split('/')[1] ?? ''}`))];
  const riak = riakResources.filter(([, path]) => roots.includes(path));
  const known = new Set(riak.map(([, path]) => path));
  const own = roots
    .filter((path) => !known.has(path) && path !== '/')
    .map((path): readonly [string, string] => [`lockstep_${path.slice(1).replaceAll(/[^a-z]/g, '_')}`, path]);
  const resources = [...riak, ...own];
  const links = resources.map(([name, path]) => `<${path}>; rel="${name}"`).join(', ');
  const handle = (request: HttpRequest): HttpResponse => {
    const json = /json/.test(request.headers['accept'] ?? '');
    return {
      status: 200,
      headers: { 'Content-Type': json ? 'application/json' : 'text/html', Link: links, Vary: 'Accept' },
      body: json ? `${JSON.stringify(Object.fromEntries([...resources].reverse()))}\n` : htmlOf(resources),
    };
  };
  return { method: 'GET', path: '/', handle };
}

function htmlOf(resources: readonly (readonly [string, string])[]): string {
  const items = resources.map(([name, path]) => `<li><a href="${path}">${name}</a></li>`);
  return `<!DOCTYPE html><html><head><title>Lockstep</title></head><body><ul>${items.join('')}</ul></body></html>\n`;
}
