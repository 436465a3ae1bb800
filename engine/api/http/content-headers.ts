/**
 * Converts an object's content to and from HTTP headers. Header values are byte strings already: HTTP carries bytes,
 * and the HTTP port passes them on as one character per byte.
 *
 * Content written over the binary protocol may hold bytes that no header can (a line feed in user metadata). Those are
 * percent-encoded, so no stored value can forge a header.
 */
import { LockstepError } from '../../base/errors.ts';
import type { ByteString } from '../../base/ids.ts';
import type { HttpRequest } from '../../io/http.ts';
import type { Content } from '../../replica/object/content.ts';
import { indexItem, indexOf, indexPrefix } from '../../replica/object/index-entries.ts';
import type { Sibling } from '../../replica/object/object.ts';
import { shownDateMs } from './conditions.ts';
import { formatHttpDate } from './http-date.ts';
import { formatLinks, parseLinks } from './link-header.ts';
import { percentOf } from './percent.ts';
import type { Place } from './place.ts';

const metaPrefix = 'x-riak-meta-';
/** Riak's separator between the values of one index. */
const listSeparator = /,[ \t]+/;
const mediaType = /^[^\s/;,"]+\/[^\s/;,"]+[ \t]*(?:;|$)/;
const typeParameter = /[ \t]*;[ \t]*(?:([^\s=;]+)[ \t]*=[ \t]*("(?:[^"\\]|\\[^])*"|[^;]*))?/y;
const noHeaderValue = /[^\t\x20-\x7e\x80-\xff]/g;
const noHeaderName = /[^!#$%&'*+.^_`|~0-9A-Za-z-]/g;

/** The content that a PUT or POST stores. Throws `BadRequest` or `UnsupportedMediaType`, with Riak's texts. */
export function contentOf(request: HttpRequest): Content {
  const typeHeader = request.headers['content-type'];
  if (typeHeader === undefined || typeHeader === '') {
    throw new LockstepError('BadRequest', 'Missing Content-Type request header');
  }
  const { contentType, charset } = splitContentType(typeHeader);
  const linkHeader = request.headers['link'];
  return {
    value: request.body,
    contentType,
    charset,
    contentEncoding: (request.headers['content-encoding'] ?? '') as ByteString,
    meta: metaOf(request),
    links: linkHeader === undefined ? [] : parseLinks(linkHeader),
    tombstone: false,
  };
}

/** Adds the headers that describe one sibling: all of a GET's except those of the object as a whole. */
export function addDescription(
  headers: Record<string, string>,
  sibling: Sibling,
  place: Place,
  nowMs: number,
): void {
  headers['Content-Type'] = contentTypeOf(sibling);
  headers['Last-Modified'] = formatHttpDate(shownDateMs(sibling.lastModifiedMs, nowMs));
  headers['Link'] = formatLinks(sibling.links, place);
  if (sibling.contentEncoding !== '') headers['Content-Encoding'] = safeValue(sibling.contentEncoding);
  if (sibling.tombstone) headers['X-Riak-Deleted'] = 'true';
  if (sibling.meta.length > 0) addMeta(headers, sibling.meta);
}

/** The bytes that a header carries in base64; undefined if it is absent or empty. Throws `BadRequest`. */
export function base64Header(request: HttpRequest, name: string): Buffer | undefined {
  const text = request.headers[name.toLowerCase()];
  if (text === undefined || text === '') return undefined;
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(text))
    throw new LockstepError('BadRequest', `Invalid ${name} header: no base64`);
  return Buffer.from(text, 'base64');
}

function metaOf(request: HttpRequest): Content['meta'] {
  const meta: (readonly [ByteString, ByteString])[] = [];
  for (const [name, value] of Object.entries(request.headers)) {
    if (value === undefined || !name.startsWith('x-riak-')) continue;
    if (name.startsWith(indexPrefix)) {
      const index = name.slice(indexPrefix.length) as ByteString;
      for (const one of value.split(listSeparator)) meta.push(indexItem(index, one as ByteString));
      continue;
    }
    if (!name.startsWith(metaPrefix)) continue;
    meta.push([name.slice(metaPrefix.length) as ByteString, value as ByteString]);
  }
  return meta;
}

/** Splits the charset from the other parameters, which stay with the type. */
function splitContentType(header: string): { contentType: ByteString; charset: ByteString } {
  if (!mediaType.test(header)) {
    throw new LockstepError(
      'UnsupportedMediaType',
      `"${header}" is not a valid media type for the Content-type header.`,
    );
  }
  let at = header.indexOf(';');
  if (at === -1) return { contentType: header.trim() as ByteString, charset: '' as ByteString };
  let contentType = header.slice(0, at).trim();
  let charset = '';
  while (at < header.length) {
    typeParameter.lastIndex = at;
    const [whole = '', name, value = ''] = typeParameter.exec(header) ?? [];
    if (whole === '')
      throw new LockstepError(
        'UnsupportedMediaType',
        `the Content-Type header has a bad parameter: ${header}`,
      );
    at += whole.length;
    if (name === undefined) continue;
    if (name.toLowerCase() === 'charset') charset = value.trim().replace(/^"(.*)"$/, '$1');
    else contentType += `; ${name}=${value.trim()}`;
  }
  return { contentType: contentType as ByteString, charset: charset as ByteString };
}

function contentTypeOf(content: Content): string {
  const type = content.contentType === '' ? 'application/octet-stream' : safeValue(content.contentType);
  return content.charset === '' ? type : `${type}; charset=${safeValue(content.charset)}`;
}

/** Names that differ only in case share one header, and so do the values of one index. */
function addMeta(headers: Record<string, string>, meta: Content['meta']): void {
  const names = new Map<string, string>();
  for (const [name, value] of meta) {
    const index = indexOf([name, value]);
    const of = index === undefined ? `X-Riak-Meta-${name}` : `X-Riak-Index-${index}`;
    const header = of.replace(noHeaderName, percentOf);
    const known = names.get(header.toLowerCase());
    if (known === undefined) {
      names.set(header.toLowerCase(), header);
      headers[header] = safeValue(value);
    } else {
      headers[known] = `${headers[known] ?? ''}, ${safeValue(value)}`;
    }
  }
}

function safeValue(value: ByteString): string {
  return value.replace(noHeaderValue, percentOf);
}
