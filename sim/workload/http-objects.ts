/**
 * What a simulated client of single keys says over HTTP: Riak's requests for an object, and their answers as values.
 * Siblings come as parts (`multipart/mixed`).
 */
import type { ErrorCode } from '../../engine/base/errors.ts';
import { errorTable } from '../../engine/base/errors.ts';
import type { HttpClientRequest, HttpClientResponse } from '../world/http/http-client.ts';

/** Where a key is, as requests name it. */
export interface KeyPlace {
  readonly type: Uint8Array;
  readonly bucket: Uint8Array;
  readonly key: Uint8Array;
}

/** How one request over HTTP ended. `lost`: it may or may not have been carried out. */
export type HttpExchange =
  | { readonly kind: 'answered'; readonly response: HttpClientResponse }
  | { readonly kind: 'lost' | 'neverSent'; readonly reason: string };

/** An object as HTTP shows it. `tag` and `context` are those of the headers; absent ones are undefined. */
export interface HttpObject {
  readonly values: readonly Buffer[];
  readonly context: Uint8Array | undefined;
  readonly tag: string | undefined;
  /** The entity tag of each of `values`, as `If-None-Match` states it; empty if the answer shows none. */
  readonly valueTags: readonly string[];
  /** The headers that describe each of `values`, by name in lower case. */
  readonly headers: readonly Readonly<Record<string, string>>[];
}

/** One value of an object with siblings. */
interface Part {
  readonly value: Buffer;
  readonly headers: Readonly<Record<string, string>>;
}

/** What an error answer says. */
export interface HttpFailure {
  /** Whether the request certainly had no effect. */
  readonly definite: boolean;
  /** Whether a condition of the request did not hold. */
  readonly unmet: boolean;
  readonly text: string;
}

/** The path of a key, with a query. */
export function objectPath({ type, bucket, key }: KeyPlace, query: Readonly<Record<string, string>>): string {
  const [ofType, ofBucket, ofKey] = [type, bucket, key].map((bytes) =>
    encodeURIComponent(Buffer.from(bytes).toString()),
  );
  const at = ofType === 'default' ? '' : `/types/${ofType}`;
  return `${at}/buckets/${ofBucket}/keys/${ofKey}?${new URLSearchParams(query).toString()}`;
}

/** A read that accepts siblings as parts; `headers` are its condition. */
export function readRequest(
  place: KeyPlace,
  query: Readonly<Record<string, string>>,
  headers: Readonly<Record<string, string>> = {},
): HttpClientRequest {
  const all = { Accept: 'multipart/mixed', ...headers };
  return { method: 'GET', path: objectPath(place, query), headers: all };
}

/** A put; `headers` are its context and its condition. */
export function putRequest(
  place: KeyPlace,
  query: Readonly<Record<string, string>>,
  headers: Readonly<Record<string, string>>,
  body: Uint8Array,
): HttpClientRequest {
  const all = { 'Content-Type': 'application/octet-stream', ...headers };
  return { method: 'PUT', path: objectPath(place, query), headers: all, body };
}

/** A deletion. */
export function deleteRequest(
  place: KeyPlace,
  query: Readonly<Record<string, string>>,
  headers: Readonly<Record<string, string>>,
): HttpClientRequest {
  return { method: 'DELETE', path: objectPath(place, query), headers };
}

/** The object of an answer to a read; undefined if the answer is an error. */
export function objectOf({ status, headers, body }: HttpClientResponse): HttpObject | undefined {
  const context = headers['x-riak-vclock'];
  const shared = {
    context: context === undefined ? undefined : Buffer.from(context, 'base64'),
    tag: headers['etag'],
  };
  if (status === 404 && headers['x-lockstep-error'] === 'NotFound')
    return { values: [], valueTags: [], headers: [], ...shared };
  if (status === 200)
    return {
      values: [body],
      valueTags: shared.tag === undefined ? [] : [shared.tag],
      headers: [headers],
      ...shared,
    };
  if (status !== 300) return undefined;
  const boundary = /boundary=(\S+)/.exec(headers['content-type'] ?? '')?.[1];
  if (boundary === undefined) return undefined;
  const parts = partsOf(body, boundary);
  return {
    values: parts.map(({ value }) => value),
    valueTags: parts.map((part) => part.headers['etag'] ?? ''),
    headers: parts.map((part) => part.headers),
    ...shared,
  };
}

/** What an error answer says. */
export function failureOf({ status, headers, body }: HttpClientResponse): HttpFailure {
  const code = headers['x-lockstep-error'];
  const row = code === undefined ? undefined : errorTable[code as ErrorCode];
  return {
    definite: headers['x-lockstep-definite'] === 'true' || row?.definite === true,
    unmet: status === 412 || (status === 409 && code === 'Conflict'),
    text: `${status} ${code ?? ''} ${body.toString('utf8').slice(0, 120).trim()}`,
  };
}

/** The parts that are no deletions. */
function partsOf(body: Buffer, boundary: string): readonly Part[] {
  const mark = Buffer.from(`\r\n--${boundary}`);
  const values: Part[] = [];
  for (let at = body.indexOf(mark); at >= 0;) {
    const next = body.indexOf(mark, at + mark.length);
    if (next < 0) break;
    const part = body.subarray(at + mark.length + 2, next);
    const end = part.indexOf('\r\n\r\n');
    const head = part.subarray(0, end).toString('latin1');
    const lines = head.split('\r\n').map((line) => /^([^:]+): ?(.*)$/.exec(line) ?? []);
    const described = Object.fromEntries(lines.map(([, name = '', text = '']) => [name.toLowerCase(), text]));
    if (described['x-riak-deleted'] !== 'true')
      values.push({ value: part.subarray(end + 4), headers: described });
    at = next;
  }
  return values;
}
