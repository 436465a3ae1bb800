/**
 * What clients put beside their traced values: type, charset, encoding, user metadata, an entry of an index and a link,
 * each derived from the value's tag, so that a read shows whether a value still has what was put with it. Every third
 * value of a client has none but the link, since the engine encodes such values by another path.
 */
import type { RpbContent } from '../../engine/api/pbc/object-messages.ts';
import { bufferOf } from '../../engine/base/ids.ts';
import { linkHeader, linkTagOf, linksOf } from '../evidence/value-links.ts';
import { readTag } from './traced-value.ts';

/** What is beside a value; a text is empty where nothing is. */
export interface Description {
  readonly contentType: string;
  readonly charset: string;
  readonly contentEncoding: string;
  readonly usermeta: string;
  readonly index: string;
  /** The tag of the link. */
  readonly link: string;
}

/** The names of the user metadata and of the index, in lower case, as HTTP shows them. */
const metaName = 'writer';
const indexName = 'writer_bin';
/** A put over HTTP states a type at least; a read over HTTP shows this one for a value without a type. */
const anyType = 'application/octet-stream';

/** What is between the marks of a value's tag. A disk is searched for whole tags, and must not find one here. */
const numbered = /^«w:(.+:(\d+))»$/;

interface Place {
  readonly bucket: Uint8Array;
  readonly key: Uint8Array;
}

/** What is put beside the value of that tag. */
export function descriptionOf(valueTag: string): Description {
  const [, name = '', digits = '0'] = numbered.exec(valueTag) ?? [];
  const count = Number(digits);
  const link = linkTagOf(valueTag) ?? '';
  if (count % 3 === 0)
    return { contentType: '', charset: '', contentEncoding: '', usermeta: '', index: '', link };
  return {
    contentType: `text/x-${count % 7}`,
    charset: count % 2 === 0 ? 'utf-8' : 'latin1',
    contentEncoding: `x-${count % 5}`,
    usermeta: `${name} wrote it`,
    index: name,
    link,
  };
}

/** The fields of a put over the binary protocol, beside the value. */
export function describedContent(place: Place, valueTag: string): Omit<RpbContent, 'value'> {
  const { contentType, charset, contentEncoding, usermeta, index } = descriptionOf(valueTag);
  const links = linksOf(place, valueTag);
  return {
    ...(links.length === 0 ? {} : { links: [...links] }),
    ...(contentType === ''
      ? {}
      : {
          content_type: Buffer.from(contentType),
          charset: Buffer.from(charset),
          content_encoding: Buffer.from(contentEncoding),
          usermeta: [{ key: Buffer.from(metaName), value: Buffer.from(usermeta) }],
          indexes: [{ key: Buffer.from(indexName), value: Buffer.from(index) }],
        }),
  };
}

/** The headers of a put over HTTP. */
export function describedHeaders(place: Place, valueTag: string): Readonly<Record<string, string>> {
  const { contentType, charset, contentEncoding, usermeta, index } = descriptionOf(valueTag);
  if (contentType === '') return linkHeader(place, valueTag);
  return {
    ...linkHeader(place, valueTag),
    'Content-Type': `${contentType}; charset=${charset}`,
    'Content-Encoding': contentEncoding,
    [`X-Riak-Meta-${metaName}`]: usermeta,
    [`X-Riak-Index-${indexName}`]: index,
  };
}

/** What the content of an answer over the binary protocol has beside its value. */
export function seenInContent(content: RpbContent): Description {
  const pairs = (list: RpbContent['usermeta']): string =>
    (list ?? []).map(({ key, value }) => `${textOf(key)}=${textOf(value)}`).join(' ');
  return {
    contentType: textOf(content.content_type),
    charset: textOf(content.charset),
    contentEncoding: textOf(content.content_encoding),
    usermeta: withoutName(pairs(content.usermeta), metaName),
    index: withoutName(pairs(content.indexes), indexName),
    link: (content.links ?? []).map(({ tag }) => textOf(tag)).join(' '),
  };
}

/** What the headers of an answer over HTTP, or of one of its parts, say beside the value; names in lower case. */
export function seenInHeaders(headers: Readonly<Record<string, string>>): Description {
  const [contentType = '', charset = ''] = (headers['content-type'] ?? '').split('; charset=');
  return {
    contentType,
    charset,
    contentEncoding: headers['content-encoding'] ?? '',
    usermeta: headers[`x-riak-meta-${metaName}`] ?? '',
    index: headers[`x-riak-index-${indexName}`] ?? '',
    link: decodeURIComponent(/riaktag="([^"]*)"/.exec(headers['link'] ?? '')?.[1] ?? ''),
  };
}

/** As `readTag`; for a whole value that lacks what was put beside it, a text that is no tag and says so. */
export function readDescribedTag(value: Uint8Array, seen: Description): string {
  const tag = readTag(value);
  if (!numbered.test(tag)) return tag;
  const put = descriptionOf(tag);
  const isPlain = put.contentType === '' && (seen.contentType === anyType || seen.contentType === '');
  const shown = isPlain ? { ...seen, contentType: '' } : seen;
  const lost = Object.entries(put).filter(([name, text]) => Reflect.get(shown, name) !== text);
  if (lost.length === 0) return tag;
  const words = lost.map(([name]) => `${name} ${JSON.stringify(Reflect.get(shown, name))}`).join(', ');
  return `(beside ${tag}: ${words})`;
}

/** `writer=c0:17 wrote it` without the name; another name stays, and is none that a client put. */
function withoutName(pair: string, name: string): string {
  return pair.startsWith(`${name}=`) ? pair.slice(name.length + 1) : pair;
}

function textOf(bytes: Uint8Array | undefined): string {
  return bytes === undefined ? '' : bufferOf(bytes).toString();
}
