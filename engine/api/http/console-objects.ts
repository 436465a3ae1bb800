/**
 * The console's endpoints over data: the buckets of a type, the keys of a bucket, and one key's siblings with their
 * causal context. All are reads, and each answer is bounded:
 *
 * - Buckets: a listing reads every key of the type, so it ends after `bucketsMax` names or `bucketsUsMax` and says
 *   whether it was complete.
 * - Keys: one page in the order of tokens; `from` is the token that the next page begins at.
 * - A key: at most `siblingsShown` siblings, and of each the first bytes of its value as text or hexadecimal digits.
 *
 * Names are bytes. Each is shown as text beside its percent-encoded form, which is what paths take.
 */
import { asLockstepError, LockstepError } from '../../base/errors.ts';
import type { ByteString, Token } from '../../base/ids.ts';
import { parseToken, textOf, tokenMax } from '../../base/ids.ts';
import { objectKey } from '../../base/object-key.ts';
import type { Permit } from '../../auth/permit.ts';
import type { HttpRequest, HttpResponse } from '../../io/http.ts';
import type { Dot } from '../../replica/object/dots.ts';
import { instantMsOf } from '../../replica/object/dots.ts';
import type { Sibling } from '../../replica/object/object.ts';
import { encodeContext } from '../../replica/object/object.ts';
import type { GuardedRoute } from '../http-guard.ts';
import { reachable } from '../name-lister.ts';
import { Patience, readObject } from '../objects.ts';
import { vtagOf } from '../tags.ts';
import { mustKnow } from './bucket-routes.ts';
import type {
  ConsoleBuckets,
  ConsoleKeys,
  ConsoleObject,
  Preview,
  ShownDot,
  ShownName,
  ShownSibling,
} from './console-answers.ts';
import type { HttpDependencies } from './http-dependencies.ts';
import { percentEncode } from './percent.ts';
import type { Place } from './place.ts';
import { keyOf, placeOf } from './place.ts';
import { jsonAnswer, problemAnswer } from './problems.ts';
import { parseObjectQuery } from './quorum-query.ts';
import { reportFailure, requestIdOf } from './request-id.ts';

/** The most buckets of one answer. */
export const bucketsMax = 200;
/** How long a listing of buckets may take, in microseconds. */
export const bucketsUsMax = 3_000_000;
/** The most keys that a page may be asked for, and how many it has by default. A page may have some more. */
const keysMax = 200;
const keysDefault = 50;
/** How long one page of keys may take, in microseconds. */
const keysUsMax = 5_000_000;
/** The most keys of a page whose keys all have one token. */
const keysOfTokenMax = 1000;
/** The most siblings of one answer. */
export const siblingsShown = 20;
/** The most bytes that are shown of one value, and of one name or value of metadata. */
export const previewBytesMax = 1024;
const metaShown = 20;
const metaLengthMax = 200;
const contextShown = 100;

const typePath = '/console/types/:type/buckets';
const bucketPath = `${typePath}/:bucket/keys`;

type Handler = (parts: HttpDependencies, request: HttpRequest, permit: Permit) => Promise<HttpResponse>;

/** The routes of this module. */
export function consoleObjectRoutes(parts: HttpDependencies): readonly GuardedRoute[] {
  return [
    route(parts, typePath, listBuckets),
    route(parts, bucketPath, listKeys),
    route(parts, `${bucketPath}/:key`, showObject),
  ];
}

function route(parts: HttpDependencies, path: string, handler: Handler): GuardedRoute {
  const handle = async (request: HttpRequest, permit: Permit): Promise<HttpResponse> => {
    try {
      return withoutCache(await handler(parts, request, permit));
    } catch (caught) {
      const error = asLockstepError(caught);
      if (error.code === 'Internal') reportFailure(parts.io.log, error, request);
      return problemAnswer(error);
    }
  };
  return { method: 'GET', path, handle };
}

function withoutCache(answer: HttpResponse): HttpResponse {
  return { ...answer, headers: { ...answer.headers, 'Cache-Control': 'no-store' } };
}

async function listBuckets(
  parts: HttpDependencies,
  request: HttpRequest,
  permit: Permit,
): Promise<HttpResponse> {
  const { type } = placeOf(request, 'types');
  mustKnow(parts, type);
  const deadlineUs = parts.io.clock.nowUs() + bucketsUsMax;
  const all = parts.lister.buckets(type, deadlineUs);
  const buckets: ShownName[] = [];
  let complete = true;
  try {
    for await (const names of permit.isLimited ? reachable(all, type, permit) : all) {
      buckets.push(...names.map(shownName));
      // Ending the loop ends the listing at the replicas, too.
      if (buckets.length > bucketsMax || parts.io.clock.nowUs() > deadlineUs) {
        complete = false;
        break;
      }
    }
  } catch (caught) {
    if (asLockstepError(caught).code !== 'Timeout') throw caught;
    complete = false;
  }
  const answer: ConsoleBuckets = { buckets: buckets.slice(0, bucketsMax).toSorted(byText), complete };
  return jsonAnswer(200, answer);
}

async function listKeys(parts: HttpDependencies, request: HttpRequest): Promise<HttpResponse> {
  const { type, bucket } = knownPlace(parts, request);
  const first = tokenIn(request.query.get('from') ?? '0');
  const namesMax = countIn(request.query.get('limit') ?? String(keysDefault));
  const deadlineUs = parts.io.clock.nowUs() + keysUsMax;
  const keys: ShownName[] = [];
  let next: number = first;
  let complete = true;
  try {
    for await (const page of parts.lister.keys(type, bucket, { live: true, first, namesMax }, deadlineUs)) {
      keys.push(...page.names.map(({ name }) => shownName(name)));
      next = page.reached + 1;
      complete = next > tokenMax;
      // All keys of a bucket may have one token. A page passes it, since the next one begins at a token.
      if ((next > first && keys.length >= namesMax) || keys.length >= keysOfTokenMax) break;
      complete = true;
    }
  } catch (caught) {
    // What was listed until then is a page, and the next one continues behind it.
    if (asLockstepError(caught).code !== 'Timeout' || next <= first) throw caught;
    complete = next > tokenMax;
  }
  const answer: ConsoleKeys = { keys, next: complete || next <= first ? null : next, complete };
  return jsonAnswer(200, answer);
}

async function showObject(parts: HttpDependencies, request: HttpRequest): Promise<HttpResponse> {
  const { io, observer, dispatcher, terms } = parts;
  const startUs = io.clock.nowUs();
  observer.received('read');
  try {
    const place = knownPlace(parts, request);
    const key = keyOf(request);
    const named = objectKey(place.type, place.bucket, key);
    const { reading, timeoutMs } = parseObjectQuery(
      new URLSearchParams(),
      terms,
      parts.buckets.of(place.type, place.bucket),
    );
    const object = await readObject(dispatcher, named, reading, terms, new Patience(io.clock, timeoutMs));
    if (object === undefined) return absent();
    const { context, siblings } = object;
    const answer: ConsoleObject = {
      type: shownName(place.type),
      bucket: shownName(place.bucket),
      key: shownName(key),
      owners: parts.ownersOf?.(named) ?? [],
      context: context.slice(0, contextShown).map(shownDot),
      context_total: context.length,
      context_base64: context.length > contextShown ? '' : encodeContext(context).toString('base64'),
      siblings: siblings.slice(0, siblingsShown).map(shownSibling),
      siblings_total: siblings.length,
    };
    return jsonAnswer(200, answer);
  } finally {
    observer.answered(io.clock.nowUs() - startUs, 'http', 'read', undefined, requestIdOf(request));
  }
}

/** As for every read, the answer that there is no such object is no failure. */
function absent(): HttpResponse {
  const { status, headers, body } = problemAnswer(
    new LockstepError('NotFound', 'no replica asked holds the key'),
  );
  return { status, headers, body };
}

/** The bucket of the path. Throws `NotFound` for an unknown type and `BadRequest` for a name that no bucket can have. */
function knownPlace(parts: HttpDependencies, request: HttpRequest): Place {
  const place = placeOf(request, 'types');
  mustKnow(parts, place.type);
  // Checks the lengths of the names.
  objectKey(place.type, place.bucket, 'k' as ByteString);
  return place;
}

function tokenIn(text: string): Token {
  const token = /^\d{1,10}$/.test(text) ? parseToken(Number(text)) : undefined;
  if (token !== undefined) return token;
  throw new LockstepError('BadRequest', `from is a token: a whole number from 0 to ${tokenMax}`);
}

function countIn(text: string): number {
  const count = /^\d{1,4}$/.test(text) ? Number(text) : 0;
  if (count >= 1 && count <= keysMax) return count;
  throw new LockstepError('BadRequest', `limit is a whole number from 1 to ${keysMax}`);
}

function shownName(name: ByteString): ShownName {
  return { text: textOf(name), path: percentEncode(name) };
}

function byText(left: ShownName, right: ShownName): number {
  return left.text < right.text ? -1 : left.text > right.text ? 1 : 0;
}

/** An actor is `node.epoch`, or `node.epoch+n` for a key with an actor of its own. A node's name may have dots. */
function shownDot(dot: Dot): ShownDot {
  const actor = textOf(dot.actor);
  const at = actor.lastIndexOf('.');
  const [node, incarnation] = at < 0 ? [actor, ''] : [actor.slice(0, at), actor.slice(at + 1)];
  return { node, incarnation, counter: dot.counter, at_ms: instantMsOf(dot) };
}

function shownSibling(sibling: Sibling): ShownSibling {
  const { dot, value, meta, links } = sibling;
  return {
    tag: vtagOf(dot),
    dot: shownDot(dot),
    deleted: sibling.tombstone,
    last_modified_ms: sibling.lastModifiedMs,
    content_type: textOf(sibling.contentType),
    charset: textOf(sibling.charset),
    content_encoding: textOf(sibling.contentEncoding),
    meta: meta.slice(0, metaShown).map(([name, item]) => [shortened(name), shortened(item)]),
    meta_total: meta.length,
    links: links.length,
    bytes: value.length,
    preview: previewOf(value),
  };
}

function shortened(bytes: ByteString): string {
  const text = textOf(bytes.slice(0, metaLengthMax) as ByteString);
  return bytes.length > metaLengthMax ? `${text}…` : text;
}

/** The beginning of a value: text if its bytes are UTF-8 without control characters, else hexadecimal digits. */
export function previewOf(value: Uint8Array): Preview {
  const bytes = Buffer.from(value.buffer, value.byteOffset, Math.min(value.length, previewBytesMax));
  const text = asText(bytes);
  if (text !== undefined) return { form: 'text', shown: text, bytes: bytes.length };
  return { form: 'hex', shown: bytes.toString('hex'), bytes: bytes.length };
}

function asText(bytes: Uint8Array): string | undefined {
  try {
    // `stream`: a character that the limit cuts is left out, and is no error.
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes, { stream: true });
    return [...text].some(isControl) ? undefined : text;
  } catch {
    // The bytes are not UTF-8: the caller shows them as digits.
    return undefined;
  }
}

/** Line ends and tabs are text; the other control characters are not. */
function isControl(character: string): boolean {
  return (character < ' ' && !'\t\n\r'.includes(character)) || character === '\u007f';
}
