/**
 * Riak's listings over HTTP: the buckets of a type, the keys of a bucket; whole or as a stream of JSON objects, of which
 * the last is empty. Both are made page by page while the client takes them, so neither holds more than a page.
 *
 * What fails before the first page is an error answer; afterwards the status has gone out, and the connection is cut.
 * Names that are no UTF-8 are shown with U+FFFD: JSON has no bytes (the binary protocol lists them as they are).
 */
import { LockstepError } from '../../base/errors.ts';
import type { ByteString } from '../../base/ids.ts';
import { textOf } from '../../base/ids.ts';
import { defaultType } from '../../base/object-key.ts';
import type { HttpRequest, HttpResponse, HttpRoute } from '../../io/http.ts';
import { listingTimeoutMs } from '../name-lister.ts';
import { bucketRoute, inRiaksWords, mustKnow, propertiesOf } from './bucket-routes.ts';
import type { HttpParts } from './http-parts.ts';
import { percentDecode } from './percent.ts';
import type { Place } from './place.ts';
import { jsonAnswer } from './problems.ts';
import { timeoutOf } from './quorum-query.ts';

/** `true`: one object; `stream`: one after the other. */
type Form = 'true' | 'stream';

type Names = AsyncGenerator<readonly ByteString[], void, undefined>;

export function listingRoutes(parts: HttpParts): readonly HttpRoute[] {
  return [
    bucketRoute(parts, 'GET', '/buckets/:bucket/keys', 'buckets', listKeys),
    bucketRoute(parts, 'GET', '/types/:type/buckets/:bucket/keys', 'types', listKeys),
    bucketRoute(parts, 'GET', '/riak/:bucket', 'riak', describeBucket),
    ...['/buckets', '/types/:type/buckets', '/riak'].map((path): HttpRoute => {
      return { method: 'GET', path, handle: (request) => listBuckets(parts, request) };
    }),
  ];
}

function listBuckets(parts: HttpParts, request: HttpRequest): Promise<HttpResponse> {
  return inRiaksWords(parts, async () => {
    const { type } = request.params;
    const named = type === undefined ? defaultType : percentDecode(type, 'the bucket type');
    mustKnow(parts, named);
    const form = formOf(request, 'buckets');
    if (form === undefined)
      throw new LockstepError('BadRequest', 'buckets=true or buckets=stream lists the buckets');
    return answer('buckets', form, parts.lister.buckets(named, deadlineOf(parts, request)), undefined);
  });
}

async function listKeys(parts: HttpParts, request: HttpRequest, place: Place): Promise<HttpResponse> {
  const form = formOf(request, 'keys');
  if (form === undefined) throw new LockstepError('BadRequest', 'keys=true or keys=stream lists the keys');
  return answer('keys', form, keysOf(parts, request, place), undefined);
}

/** The old form: the properties unless `props=false`, and the keys where `keys` asks for them. */
async function describeBucket(parts: HttpParts, request: HttpRequest, place: Place): Promise<HttpResponse> {
  const form = formOf(request, 'keys');
  const props = request.query.get('props') === 'false' ? undefined : propertiesOf(parts, place);
  if (form === undefined) return jsonAnswer(200, props === undefined ? {} : { props });
  return answer('keys', form, keysOf(parts, request, place), props);
}

async function* keysOf(parts: HttpParts, request: HttpRequest, { type, bucket }: Place): Names {
  const deadlineUs = deadlineOf(parts, request);
  for await (const { names } of parts.lister.keys(type, bucket, { live: true }, deadlineUs)) {
    yield names.map(({ name }) => name);
  }
}

async function answer(field: string, form: Form, names: Names, props: unknown): Promise<HttpResponse> {
  const first = await names.next();
  const write = form === 'stream' ? streamed : joined;
  const body = write(field, props, first, names);
  return { status: 200, headers: { 'Content-Type': 'application/json' }, body };
}

async function* streamed(
  field: string,
  props: unknown,
  first: IteratorResult<readonly ByteString[], void>,
  names: Names,
): AsyncGenerator<Uint8Array, void, undefined> {
  try {
    if (props !== undefined) yield jsonOf({ props });
    for (let page = first; page.done !== true; page = await names.next()) {
      yield jsonOf({ [field]: page.value.map(textOf) });
    }
    yield jsonOf({ [field]: [] });
  } finally {
    await names.return();
  }
}

async function* joined(
  field: string,
  props: unknown,
  first: IteratorResult<readonly ByteString[], void>,
  names: Names,
): AsyncGenerator<Uint8Array, void, undefined> {
  try {
    yield Buffer.from(`{${props === undefined ? '' : `"props":${JSON.stringify(props)},`}"${field}":[`);
    let mark = '';
    for (let page = first; page.done !== true; page = await names.next()) {
      if (page.value.length === 0) continue;
      yield Buffer.from(mark + page.value.map((name) => JSON.stringify(textOf(name))).join(','));
      mark = ',';
    }
    yield Buffer.from(']}');
  } finally {
    await names.return();
  }
}

function jsonOf(value: unknown): Buffer {
  return Buffer.from(JSON.stringify(value));
}

function formOf({ query }: HttpRequest, name: string): Form | undefined {
  const form = query.get(name);
  if (form === null || form === 'false') return undefined;
  if (form === 'true' || form === 'stream') return form;
  throw new LockstepError('BadRequest', `${name}=${form} given; allowed: true, stream, false`);
}

function deadlineOf({ io }: HttpParts, { query }: HttpRequest): number {
  return io.clock.nowUs() + (timeoutOf(query) ?? listingTimeoutMs) * 1000;
}
