/**
 * The fields of requests over HTTP: parameters of the query (`?r`), headers (`If-Match`), and fields of JSON
 * (`operations.key`, for one of a list of objects too).
 */
import { routeDescriptions } from '../../../engine/api/http/api-descriptions.ts';
import { statsAccess } from '../../../engine/api/stats/service.ts';
import type { HttpMessage } from '../../world/http/http-text.ts';
import type { FoundField } from './message-fields.ts';
import { itself } from './entry.ts';

/** The entry of what every request over HTTP may carry. */
export const everyRequest = 'every request over HTTP';
/** The entry of the fields of a job, over either protocol. */
export const jobEntry = 'MapReduce job';
/** The entry of bucket properties by value, over either protocol or in a configuration. */
export const propertyEntry = 'bucket properties';
/** The field of a request that names a bucket type in its path. */
export const typedPath = '/types';

/** A listener that serves HTTP. */
export type HttpListener = 'http' | 'stats';

/** One entry for the two forms of a path, with a bucket type and without; the statistics listener is named. */
function entryOf(listener: HttpListener, method: string, path: string): string {
  const plain = path.startsWith('/types/:type/buckets') ? path.slice('/types/:type'.length) : path;
  return `${method} ${plain}${listener === 'stats' ? ' (statistics)' : ''}`;
}

interface Route {
  readonly entry: string;
  readonly method: string;
  readonly isTyped: boolean;
  readonly form: RegExp;
}

function routeOf(listener: HttpListener, method: string, path: string): Route {
  return {
    entry: entryOf(listener, method, path),
    method,
    isTyped: path.startsWith('/types/:type/buckets'),
    form: new RegExp(`^${path.replaceAll(/:[a-z]+/g, '[^/]+')}$`),
  };
}

/** Paths without variable parts come first: `/types/:type` would match them, too. */
function routesOf(listener: HttpListener, names: Iterable<string>): readonly Route[] {
  const objects = (name: string): boolean => /^GET .*\/keys\/:key$/.test(name) && !name.includes('console');
  const all = [...names].flatMap((name) => {
    const [method = '', path = ''] = name.split(' ');
    const route = routeOf(listener, method, path);
    return objects(name) ? [route, routeOf(listener, 'HEAD', path)] : [route];
  });
  return all.toSorted(
    (left, right) => left.form.source.split('[').length - right.form.source.split('[').length,
  );
}

const routes: Readonly<Record<HttpListener, readonly Route[]>> = {
  http: routesOf('http', routeDescriptions.keys()),
  stats: routesOf('stats', statsAccess.keys()),
};

/** Every request that a listener of HTTP serves. */
export function acceptedRoutes(): readonly string[] {
  return [...new Set([...routes.http, ...routes.stats].map(({ entry }) => entry))];
}

/** Headers that fields of entries name by their beginning: `X-Riak-Meta-*`. */
const families = ['x-riak-meta-', 'x-riak-index-'];

/** Calls `found` for each parameter, header and field of JSON that the request has. */
export function fieldsInHttp(
  listener: HttpListener,
  { start, headers, body }: HttpMessage,
  found: FoundField,
): void {
  const [method = '', target = ''] = start.split(' ');
  const at = target.indexOf('?');
  const path = at < 0 ? target : target.slice(0, at);
  const route = routes[listener].find((one) => one.method === method && one.form.test(path));
  if (route === undefined) return;
  const { entry } = route;
  found(entry, itself);
  found(everyRequest, itself);
  if (route.isTyped) found(entry, typedPath);
  if (at >= 0) for (const name of new URLSearchParams(target.slice(at + 1)).keys()) found(entry, `?${name}`);
  for (const name of Object.keys(headers)) {
    const family = families.find((one) => name.startsWith(one));
    const shown = headerName(family === undefined ? name : `${family}*`);
    found(entry, shown);
    found(everyRequest, shown);
  }
  if (body.length > 0 && isJson(route)) fieldsInJson(entry, body, found);
}

/** `If-Match`, `X-Riak-Meta-*`. */
function headerName(lowerCase: string): string {
  return lowerCase.replaceAll(
    /(^|-)([a-z])/g,
    (_, dash: string, letter: string) => dash + letter.toUpperCase(),
  );
}

function isJson({ entry, method }: Route): boolean {
  if (entry.includes('/keys') || entry.startsWith('POST /riak/') || entry.includes('/wasm/')) return false;
  return method === 'PUT' || method === 'POST';
}

/** Calls `found` for each field of a text of JSON; text that is none has no fields. */
export function fieldsInJson(entry: string, body: Uint8Array, found: FoundField): void {
  let value: unknown;
  try {
    value = JSON.parse(Buffer.from(body).toString('utf8'));
  } catch {
    return;
  }
  if (entry === 'POST /mapred') walk(jobEntry, value, '', found);
  else walk(entry, value, '', found);
  const props: unknown =
    typeof value === 'object' && value !== null ? Reflect.get(value, 'props') : undefined;
  if (typeof props === 'object' && props !== null)
    for (const [name, one] of Object.entries(props)) found(propertyEntry, propertyField(name, one));
}

/** `allow_mult=true`, `dw=number`: the property with its value, or with the kind of it. */
export function propertyField(name: string, value: unknown): string {
  if (name === 'chash_keyfun' && typeof value === 'object') return `${name}=function`;
  if (name === 'wasm_keyfun') return `${name}=${value === '' ? 'none' : 'module'}`;
  if (typeof value === 'number') return `${name}=number`;
  return typeof value === 'string' || typeof value === 'boolean' ? `${name}=${value}` : name;
}

function walk(entry: string, value: unknown, prefix: string, found: FoundField): void {
  if (Array.isArray(value)) {
    for (const one of value) if (!Array.isArray(one)) walk(entry, one, prefix, found);
  } else if (typeof value === 'object' && value !== null)
    for (const [name, one] of Object.entries(value)) {
      found(entry, `${prefix}${name}`);
      if (name !== 'props' && name !== 'value' && name !== 'meta')
        walk(entry, one, `${prefix}${name}.`, found);
    }
}

/** Calls `found` for each property that the text of a job states. */
export const fieldsInJob = (body: Uint8Array, found: FoundField): void =>
  fieldsInJson('POST /mapred', body, found);
