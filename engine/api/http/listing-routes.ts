/**
 * Riak's listings over HTTP: the buckets of a type and the keys of a bucket, whole or as a stream of JSON objects, the
 * last of which is empty. A stream is produced page by page as the client takes it, and holds at most one page.
 *
 * A whole listing is collected first and sent with a Content-Length, since some clients cannot read chunks unless they
 * asked for a stream. All listings that are collected, or collected and not yet taken by their client, hold about
 * `collectedBytesMax` bytes together. A listing beyond that is sent in chunks.
 *
 * A failure before the first byte is an error answer; a later one cuts the connection. Names that are not UTF-8 are
 * shown with U+FFFD, since JSON cannot carry bytes (the binary protocol lists names as they are).
 */
import { LockstepError } from '../../base/errors.ts';
import type { ByteString } from '../../base/ids.ts';
import { textOf } from '../../base/ids.ts';
import { defaultType } from '../../base/object-key.ts';
import type { HttpRequest, HttpResponse } from '../../io/http.ts';
import type { Permit } from '../../auth/permit.ts';
import type { GuardedRoute } from '../http-guard.ts';
import { listingTimeoutMs, reachable } from '../name-lister.ts';
import { bucketRoute, asRiakText, mustKnow, propertiesOf } from './bucket-routes.ts';
import { CollectedBody, CollectedBytes } from './collected-body.ts';
import type { HttpDependencies } from './http-dependencies.ts';
import { percentDecode } from './percent.ts';
import type { Place } from './place.ts';
import { jsonAnswer } from './problems.ts';
import { timeoutOf } from './quorum-query.ts';

/** `true`: one object; `stream`: one object after another. */
type Form = 'true' | 'stream';

type Names = AsyncGenerator<readonly ByteString[], void, undefined>;

interface Listing {
  readonly field: string;
  readonly form: Form;
  readonly names: Names;
  /** The properties that the old form shows beside the names. */
  readonly props: unknown;
}

type Sender = (listing: Listing, request: HttpRequest) => Promise<HttpResponse>;

type BucketHandler = Parameters<typeof bucketRoute>[4];

/** Bytes that all whole listings of one listener may hold until their clients have taken them. */
const collectedBytesMax = 64 * 1024 * 1024;

/** The routes of the listings. `bytesMax`: bytes that all collected listings may hold. */
export function listingRoutes(
  parts: HttpDependencies,
  bytesMax = collectedBytesMax,
): readonly GuardedRoute[] {
  const budget = new CollectedBytes(bytesMax);
  const send: Sender = (listing, request) => sendListing(listing, request, budget);
  const listKeys: BucketHandler = async (_, request, place) => keysAnswer(parts, request, place, send);
  const describe: BucketHandler = async (_, request, place) => bucketAnswer(parts, request, place, send);
  return [
    bucketRoute(parts, 'GET', '/buckets/:bucket/keys', 'buckets', listKeys),
    bucketRoute(parts, 'GET', '/types/:type/buckets/:bucket/keys', 'types', listKeys),
    bucketRoute(parts, 'GET', '/riak/:bucket', 'riak', describe),
    ...['/buckets', '/types/:type/buckets', '/riak'].map((path): GuardedRoute => {
      return { method: 'GET', path, handle: (request, permit) => listBuckets(parts, request, permit, send) };
    }),
  ];
}

function listBuckets(
  parts: HttpDependencies,
  request: HttpRequest,
  permit: Permit,
  send: Sender,
): Promise<HttpResponse> {
  return asRiakText(parts, async () => {
    const { type } = request.params;
    const named = type === undefined ? defaultType : percentDecode(type, 'the bucket type');
    mustKnow(parts, named);
    const form = formOf(request, 'buckets');
    if (form === undefined)
      throw new LockstepError('BadRequest', 'buckets=true or buckets=stream lists the buckets');
    const all = parts.lister.buckets(named, deadlineOf(parts, request));
    const names = permit.isLimited ? reachable(all, named, permit) : all;
    return send({ field: 'buckets', form, names, props: undefined }, request);
  });
}

async function keysAnswer(
  parts: HttpDependencies,
  request: HttpRequest,
  place: Place,
  send: Sender,
): Promise<HttpResponse> {
  const form = formOf(request, 'keys');
  if (form === undefined) throw new LockstepError('BadRequest', 'keys=true or keys=stream lists the keys');
  return send({ field: 'keys', form, names: keysOf(parts, request, place), props: undefined }, request);
}

/** The old form: the properties unless `props=false`, and the keys if `keys` asks for them. */
async function bucketAnswer(
  parts: HttpDependencies,
  request: HttpRequest,
  place: Place,
  send: Sender,
): Promise<HttpResponse> {
  const form = formOf(request, 'keys');
  const props = request.query.get('props') === 'false' ? undefined : propertiesOf(parts, place);
  if (form === undefined) return jsonAnswer(200, props === undefined ? {} : { props });
  return send({ field: 'keys', form, names: keysOf(parts, request, place), props }, request);
}

async function* keysOf(parts: HttpDependencies, request: HttpRequest, { type, bucket }: Place): Names {
  const deadlineUs = deadlineOf(parts, request);
  for await (const { names } of parts.lister.keys(type, bucket, { live: true }, deadlineUs)) {
    yield names.map(({ name }) => name);
  }
}

async function sendListing(
  { field, form, names, props }: Listing,
  request: HttpRequest,
  budget: CollectedBytes,
): Promise<HttpResponse> {
  const first = await names.next();
  const headers = { 'Content-Type': 'application/json' };
  if (form === 'stream') return { status: 200, headers, body: streamed(field, props, first, names) };
  const pieces = joined(field, props, first, names);
  // A stream's body is not produced for HEAD.
  if (request.method === 'HEAD') return { status: 200, headers, body: pieces };
  const body = new CollectedBody(pieces, request, budget);
  const length = await body.collect();
  if (length === undefined) return { status: 200, headers, body };
  return { status: 200, headers: { ...headers, 'Content-Length': String(length) }, body };
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

function deadlineOf({ io }: HttpDependencies, { query }: HttpRequest): number {
  return io.clock.nowUs() + (timeoutOf(query) ?? listingTimeoutMs) * 1000;
}
