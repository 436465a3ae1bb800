/**
 * Riak's endpoints for the properties of buckets and bucket types, and the product's own for creating types:
 *
 *     GET PUT DELETE  /buckets/B/props, /types/T/buckets/B/props    read, set some, reset to those of the type
 *     PUT             /riak/B                                       the old form (`listing-routes.ts` reads it)
 *     GET PUT         /types/T/props                                for the type's buckets that have set none
 *     GET POST        /types                                        list the types; create {"name": "t", "props": {…}}
 */
import { LockstepError, asLockstepError } from '../../base/errors.ts';
import type { ByteString } from '../../base/ids.ts';
import { byteStringOf, parseNodeId, textOf } from '../../base/ids.ts';
import { parseFlat } from '../../base/json-text.ts';
import { defaultType, objectKey } from '../../base/object-key.ts';
import type { HttpMethod, HttpRequest, HttpResponse, HttpRoute } from '../../io/http.ts';
import { readProperties, showProperties } from '../property-json.ts';
import { answerOf, emptyAnswer } from './answers.ts';
import type { HttpDependencies } from './http-dependencies.ts';
import { percentDecode } from './percent.ts';
import type { PathForm, Place } from './place.ts';
import { placeOf } from './place.ts';
import { jsonAnswer, problemAnswer } from './problems.ts';

type Handler = (
  parts: HttpDependencies,
  request: HttpRequest,
  place: Place,
) => HttpResponse | Promise<HttpResponse>;

const bytesMax = 64 * 1024;

/** The routes of this module; `parts` is what their handlers work with. */
export function bucketRoutes(parts: HttpDependencies): readonly HttpRoute[] {
  const forms: readonly { readonly form: PathForm; readonly path: string }[] = [
    { form: 'buckets', path: '/buckets/:bucket/props' },
    { form: 'types', path: '/types/:type/buckets/:bucket/props' },
  ];
  return [
    ...forms.flatMap(({ form, path }) => [
      bucketRoute(parts, 'GET', path, form, getProperties),
      bucketRoute(parts, 'PUT', path, form, putProperties),
      bucketRoute(parts, 'DELETE', path, form, resetProperties),
    ]),
    bucketRoute(parts, 'PUT', '/riak/:bucket', 'riak', putProperties),
    typeRoute(parts, 'GET', '/types/:type/props', getTypeProperties),
    typeRoute(parts, 'PUT', '/types/:type/props', putTypeProperties),
    { method: 'GET', path: '/types', handle: () => listTypes(parts) },
    { method: 'POST', path: '/types', handle: (request) => createType(parts, request) },
  ];
}

/** A route whose handler gets a bucket with a known type and well-formed names. Errors are Riak's plain texts. */
export function bucketRoute(
  parts: HttpDependencies,
  method: HttpMethod,
  path: string,
  form: PathForm,
  handler: Handler,
): HttpRoute {
  const handle = (request: HttpRequest): Promise<HttpResponse> =>
    asRiakText(parts, async () => {
      const place = placeOf(request, form);
      mustKnow(parts, place.type);
      // Checks the lengths of the names.
      objectKey(place.type, place.bucket, 'k' as ByteString);
      return handler(parts, request, place);
    });
  return { method, path, handle };
}

/** Runs `work` and turns an error into Riak's plain text. */
export async function asRiakText(
  parts: HttpDependencies,
  work: () => Promise<HttpResponse>,
): Promise<HttpResponse> {
  try {
    return await work();
  } catch (caught) {
    const error = asLockstepError(caught);
    if (error.code === 'Internal') parts.io.log.event('error', 'api.http.failed', { detail: error.message });
    return answerOf(error, 'read');
  }
}

/** Throws Riak's `NotFound` for an unknown bucket type. */
export function mustKnow(parts: HttpDependencies, type: ByteString): void {
  if (type === defaultType || parts.knowsType(type)) return;
  throw new LockstepError('NotFound', `Unknown bucket type: ${textOf(type)}`);
}

/** The value of `props` in `GET …/props`, which the old form's answer has, too. */
export function propertiesOf(
  parts: HttpDependencies,
  { type, bucket }: Place,
): Readonly<Record<string, unknown>> {
  return showProperties(parts.buckets.of(type, bucket), parts.terms, textOf(bucket));
}

function getProperties(parts: HttpDependencies, _: HttpRequest, place: Place): HttpResponse {
  return jsonAnswer(200, { props: propertiesOf(parts, place) });
}

async function putProperties(
  parts: HttpDependencies,
  request: HttpRequest,
  place: Place,
): Promise<HttpResponse> {
  const { props } = bodyOf(request);
  await parts.buckets.set(place.type, place.bucket, readProperties(asObject(props), parts.terms));
  return emptyAnswer(204, { 'Content-Type': 'application/json' });
}

async function resetProperties(parts: HttpDependencies, _: HttpRequest, place: Place): Promise<HttpResponse> {
  await parts.buckets.reset(place.type, place.bucket);
  return emptyAnswer(204, { 'Content-Type': 'application/json' });
}

type TypeHandler = (
  parts: HttpDependencies,
  request: HttpRequest,
  type: ByteString,
) => HttpResponse | Promise<HttpResponse>;

function typeRoute(
  parts: HttpDependencies,
  method: HttpMethod,
  path: string,
  handler: TypeHandler,
): HttpRoute {
  const handle = (request: HttpRequest): Promise<HttpResponse> =>
    asRiakText(parts, async () => {
      const type = percentDecode(request.params['type'] ?? '', 'the bucket type');
      mustKnow(parts, type);
      return handler(parts, request, type);
    });
  return { method, path, handle };
}

function getTypeProperties(parts: HttpDependencies, _: HttpRequest, type: ByteString): HttpResponse {
  const properties = parts.buckets.ofType(type);
  if (properties === undefined) throw new LockstepError('NotFound', `Unknown bucket type: ${textOf(type)}`);
  return jsonAnswer(200, { props: showProperties(properties, parts.terms) });
}

async function putTypeProperties(
  parts: HttpDependencies,
  request: HttpRequest,
  type: ByteString,
): Promise<HttpResponse> {
  await parts.buckets.setType(type, readProperties(asObject(bodyOf(request).props), parts.terms));
  return emptyAnswer(204, { 'Content-Type': 'application/json' });
}

function listTypes(parts: HttpDependencies): HttpResponse {
  const types = parts.buckets.typeNames().flatMap((type) => {
    const properties = parts.buckets.ofType(type);
    const shown = properties === undefined ? undefined : showProperties(properties, parts.terms);
    return shown === undefined ? [] : [{ name: textOf(type), props: shown }];
  });
  return jsonAnswer(200, { types });
}

async function createType(parts: HttpDependencies, request: HttpRequest): Promise<HttpResponse> {
  try {
    const { name, props = {} } = bodyOf(request);
    const type = typeof name === 'string' ? parseNodeId(name) : undefined;
    if (type === undefined) {
      const detail = `name: ${JSON.stringify(name ?? null)} given; allowed: 1 to 64 of A-Z a-z 0-9 _ . -`;
      throw new LockstepError('BadRequest', detail);
    }
    await parts.buckets.createType(byteStringOf(type), readProperties(asObject(props), parts.terms));
    return {
      ...jsonAnswer(201, { name: type }),
      headers: { 'Content-Type': 'application/json', Location: `/types/${type}/props` },
    };
  } catch (error) {
    return problemAnswer(asLockstepError(error));
  }
}

interface Body {
  readonly name?: unknown;
  readonly props?: unknown;
}

function bodyOf(request: HttpRequest): Body {
  const type = request.headers['content-type'] ?? '';
  if (!/^application\/json\s*(;|$)/i.test(type)) {
    throw new LockstepError(
      'UnsupportedMediaType',
      `Content-Type: ${type || 'none'} given; allowed: application/json`,
    );
  }
  if (request.body.length > bytesMax) {
    const detail = `the body has ${request.body.length} bytes; at most ${bytesMax} are allowed`;
    throw new LockstepError('TooLarge', detail);
  }
  let body: unknown;
  try {
    body = parseFlat(Buffer.from(request.body).toString('utf8'));
  } catch (error) {
    if (error instanceof LockstepError) throw error;
    throw new LockstepError('BadRequest', 'the body is not valid JSON', { cause: error });
  }
  return asObject(body, 'the body is {"props": {…}}');
}

function asObject(
  value: unknown,
  rule = 'props is an object of properties: {"props": {"allow_mult": true}}',
): Readonly<Record<string, unknown>> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { ...value };
  throw new LockstepError('BadRequest', rule);
}
