/**
 * Parses and formats Riak's links in the `Link` header: `</buckets/B/keys/K>; riaktag="T"` (also `</riak/B/K>` and
 * `tag=`), separated by commas. Grammar: RFC 8288 section 3.
 *
 * A value without a tag, or whose target is not an object path (`rel="up"`), is not a Riak link and is skipped. A value
 * that breaks the grammar is refused, since skipping it could lose a link.
 */
import { LockstepError } from '../../base/errors.ts';
import type { Link } from '../../replica/object/content.ts';
import type { Place } from './place.ts';
import { bucketPath, keyPath } from './place.ts';
import { percentDecode, percentDecodeLeniently, percentEncode } from './percent.ts';

const target = /[ \t,]*<([^>]*)>/y;
const parameter = /[ \t]*;[ \t]*([^\s=;,<>"]+)(?:[ \t]*=[ \t]*(?:"((?:[^"\\]|\\[^])*)"|([^\s;,"]*)))?/y;
const separator = /[ \t]*(?:,|$)/y;
const blank = /[ \t,]*$/y;
const escaped = /\\([^])/g;

/** The links of a request's header, in order. Throws `BadRequest` if the header breaks the grammar. */
export function parseLinks(header: string): readonly Link[] {
  const links: Link[] = [];
  let at = 0;
  while (matchAt(blank, header, at) === null) {
    const found = matchAt(target, header, at) ?? invalid();
    let tag: string | undefined;
    at += found[0].length;
    for (let next = matchAt(parameter, header, at); next !== null; next = matchAt(parameter, header, at)) {
      at += next[0].length;
      tag ??= tagOf(next);
    }
    at += (matchAt(separator, header, at) ?? invalid())[0].length;
    const link = tag === undefined ? undefined : linkTo(found[1] ?? '', tag);
    if (link !== undefined) links.push(link);
  }
  return links;
}

/** The header of an object: the link up to its bucket, then its own links. */
export function formatLinks(links: readonly Link[], place: Place): string {
  const up = `<${bucketPath(place)}>; rel="up"`;
  if (links.length === 0) return up;
  return [up, ...links.map((link) => formatLink(link, place))].join(', ');
}

function formatLink(link: Link, place: Place): string {
  // A link names no bucket type: it stands for an object of the default type.
  const form = place.form === 'riak' ? 'riak' : 'buckets';
  const path = keyPath({ form, type: place.type, bucket: link.bucket }, link.key);
  return `<${path}>; riaktag="${percentEncode(link.tag)}"`;
}

function matchAt(form: RegExp, text: string, at: number): RegExpExecArray | null {
  form.lastIndex = at;
  return form.exec(text);
}

function tagOf(match: RegExpExecArray): string | undefined {
  const name = match[1]?.toLowerCase();
  if (name !== 'riaktag' && name !== 'tag') return undefined;
  return match[2]?.replace(escaped, '$1') ?? match[3];
}

function linkTo(path: string, tag: string): Link | undefined {
  const [root, first, ...rest] = path.split('/').slice(1);
  if (root === 'types')
    throw new LockstepError('BadRequest', 'Invalid Link header. A link names no bucket type');
  const modern = root === 'buckets' && rest.length === 2 && rest[0] === 'keys';
  const old = root === 'riak' && rest.length === 1;
  const key = rest.at(-1);
  if (!(modern || old) || !path.startsWith('/')) return undefined;
  if (first === undefined || first === '' || key === undefined || key === '') return undefined;
  return {
    bucket: percentDecode(first, 'the bucket of a link'),
    key: percentDecode(key, 'the key of a link'),
    tag: percentDecodeLeniently(tag),
  };
}

function invalid(): never {
  const form = '</buckets/BUCKET/keys/KEY>; riaktag="TAG"';
  throw new LockstepError('BadRequest', `Invalid Link header. Links must be of the form\n${form}`);
}
