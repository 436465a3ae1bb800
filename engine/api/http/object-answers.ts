/**
 * Builds the answers that show an object: one version, several siblings as a list or as parts (300), or nothing (404).
 */
import { present } from '../../base/assert.ts';
import type { HttpResponse } from '../../io/http.ts';
import type { Io } from '../../io/io.ts';
import { latestDateMs } from '../../replica/object/dates.ts';
import type { Sibling, StoredObject } from '../../replica/object/object.ts';
import { encodeContext, liveSiblings } from '../../replica/object/object.ts';
import type { SiblingsForm } from '../tags.ts';
import { contextTagOf, partsBoundaryOf, vtagOf } from '../tags.ts';
import { absenceAnswer, plainText } from './answers.ts';
import type { Current } from './conditions.ts';
import { shownDateMs } from './conditions.ts';
import { addDescription } from './content-headers.ts';
import { formatHttpDate } from './http-date.ts';
import type { Place } from './place.ts';

/** An object as one request sees it: a single version, or all siblings. */
export type View =
  | {
      readonly kind: 'one';
      readonly object: StoredObject;
      readonly sibling: Sibling;
      readonly current: Current;
    }
  | {
      readonly kind: 'several';
      readonly object: StoredObject;
      readonly form: SiblingsForm;
      readonly current: Current;
    };

/**
 * The view of an object that is not deleted, for a client with that Accept header. Undefined if `vtag` names a version
 * that the object does not have.
 */
export function viewOf(
  object: StoredObject,
  vtag: string | undefined,
  accept: string | undefined,
): View | undefined {
  const { siblings } = object;
  const chosen = vtag === undefined ? siblings : siblings.filter((sibling) => vtagOf(sibling.dot) === vtag);
  if (chosen.length === 0) return undefined;
  if (chosen.length > 1) {
    const form = wantsParts(accept) ? 'parts' : 'list';
    return { kind: 'several', object, form, current: currentOfSeveral(object, form) };
  }
  const sibling = present(chosen[0], 'the only version');
  const tag = vtagOf(sibling.dot);
  const current = { tag, tags: [tag], lastModifiedMs: sibling.lastModifiedMs };
  return { kind: 'one', object, sibling, current };
}

/** The answer that carries the object. `status` applies to a single version; several siblings are 300. */
export function objectAnswer(
  view: View,
  place: Place,
  { clock }: Pick<Io, 'clock'>,
  status = 200,
): HttpResponse {
  const nowMs = clock.wallMs();
  const headers: Record<string, string> = {
    'X-Riak-Vclock': contextHeader(view.object),
    ETag: `"${view.current.tag}"`,
    Vary: varyOf(view),
  };
  if (view.kind === 'one') {
    addDescription(headers, view.sibling, place, nowMs);
    return { status, headers, body: view.sibling.value };
  }
  headers['Last-Modified'] = formatHttpDate(shownDateMs(view.current.lastModifiedMs, nowMs));
  return view.form === 'parts'
    ? partsAnswer(view.object, place, headers, nowMs)
    : listAnswer(view.object, headers);
}

/** The 304 for a client that already has the object. */
export function notModifiedAnswer(view: View, nowMs: number): HttpResponse {
  const headers = {
    'X-Riak-Vclock': contextHeader(view.object),
    ETag: `"${view.current.tag}"`,
    Vary: varyOf(view),
    'Last-Modified': formatHttpDate(shownDateMs(view.current.lastModifiedMs, nowMs)),
  };
  return { status: 304, headers, body: '' };
}

/** The 404. For a deleted object it has the context that a writer needs to replace the tombstone. */
export function notFoundAnswer(deleted: StoredObject | undefined): HttpResponse {
  if (deleted === undefined) return absenceAnswer('not found');
  return absenceAnswer('not found', {
    'X-Riak-Vclock': contextHeader(deleted),
    'X-Riak-Deleted': 'true',
  });
}

function listAnswer(object: StoredObject, headers: Readonly<Record<string, string>>): HttpResponse {
  const tags = object.siblings.map((sibling) => `${vtagOf(sibling.dot)}\n`);
  return {
    status: 300,
    headers: { ...headers, 'Content-Type': plainText },
    body: `Siblings:\n${tags.join('')}`,
  };
}

/**
 * One part per sibling. The boundary is derived from the values. So the same siblings give the same bytes on every
 * node, which their strong tag requires, and no client can craft a value that holds the boundary.
 */
function partsAnswer(
  object: StoredObject,
  place: Place,
  headers: Readonly<Record<string, string>>,
  nowMs: number,
): HttpResponse {
  const boundary = partsBoundaryOf(object.siblings);
  const chunks: Uint8Array[] = [];
  for (const sibling of object.siblings) {
    const described: Record<string, string> = { Etag: `"${vtagOf(sibling.dot)}"` };
    addDescription(described, sibling, place, nowMs);
    const head = Object.entries(described)
      .map(([name, value]) => `${name}: ${value}\r\n`)
      .join('');
    chunks.push(Buffer.from(`\r\n--${boundary}\r\n${head}\r\n`, 'latin1'), sibling.value);
  }
  chunks.push(Buffer.from(`\r\n--${boundary}--\r\n`, 'latin1'));
  const type = `multipart/mixed; boundary=${boundary}`;
  return { status: 300, headers: { ...headers, 'Content-Type': type }, body: Buffer.concat(chunks) };
}

function contextHeader(object: StoredObject): string {
  return encodeContext(object.context).toString('base64');
}

/** Each form of the answer is a representation with its own tag (RFC 9110, 8.8.3.3). */
function currentOfSeveral(object: StoredObject, form: SiblingsForm): Current {
  const tags = { list: contextTagOf(object.context, 'list'), parts: contextTagOf(object.context, 'parts') };
  const valueTags = liveSiblings(object).map(({ dot }) => vtagOf(dot));
  return { tag: tags[form], tags: [tags.list, tags.parts], valueTags, lastModifiedMs: latestDateMs(object) };
}

/** The request headers that a cache must compare in addition to the target. */
function varyOf(view: View): string {
  return view.kind === 'one' ? 'Accept-Encoding' : 'Accept';
}

/** Whether the client prefers `multipart/mixed` to the plain list (RFC 9110 section 12.5.1); at a tie the list wins. */
function wantsParts(accept: string | undefined): boolean {
  if (accept === undefined) return false;
  return quality(accept, 'multipart', 'mixed') > quality(accept, 'text', 'plain');
}

/** The client's weight of a media type in thousandths, by the most specific range that covers it. */
function quality(accept: string, type: string, subtype: string): number {
  const ranges = [`${type}/${subtype}`, `${type}/*`, '*/*'];
  let best = { rank: ranges.length, quality: 0 };
  for (const item of accept.toLowerCase().split(',')) {
    const [range = '', ...parameters] = item.split(';').map((part) => part.trim());
    const rank = ranges.indexOf(range);
    if (rank === -1 || rank >= best.rank) continue;
    const weight = parameters.find((parameter) => /^q\s*=/.test(parameter))?.replace(/^q\s*=\s*/, '') ?? '1';
    best = {
      rank,
      quality: /^(0(\.\d{0,3})?|1(\.0{0,3})?)$/.test(weight) ? Math.round(Number(weight) * 1000) : 0,
    };
  }
  return best.quality;
}
