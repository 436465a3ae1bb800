/**
 * Finds the bucket and key that a path names, and builds such paths. Three forms lead to the same objects: Riak's
 * `/buckets`, `/types` for a bucket type, and the old `/riak`. An answer uses the form of its request.
 */
import type { ByteString } from '../../base/ids.ts';
import { defaultType } from '../../base/object-key.ts';
import type { HttpRequest } from '../../io/http.ts';
import { percentDecode, percentEncode } from './percent.ts';

/** The form of a path: `/buckets/B`, `/types/T/buckets/B`, or the old `/riak/B`. */
export type PathForm = 'buckets' | 'types' | 'riak';

/** A bucket, and the path form in which the request named it. */
export interface Place {
  readonly form: PathForm;
  readonly type: ByteString;
  readonly bucket: ByteString;
}

/** The bucket of a request's path. Throws `BadRequest` on invalid percent-encoding. */
export function placeOf(request: HttpRequest, form: PathForm): Place {
  const { type, bucket = '' } = request.params;
  return {
    form,
    type: type === undefined ? defaultType : percentDecode(type, 'the bucket type'),
    bucket: percentDecode(bucket, 'the bucket'),
  };
}

/** The key of a request's path. Throws `BadRequest` on invalid percent-encoding. */
export function keyOf(request: HttpRequest): ByteString {
  return percentDecode(request.params['key'] ?? '', 'the key');
}

/** The path of a bucket in its form, percent-encoded. */
export function bucketPath(place: Place): string {
  const bucket = percentEncode(place.bucket);
  if (place.form === 'riak') return `/riak/${bucket}`;
  return place.form === 'types'
    ? `/types/${percentEncode(place.type)}/buckets/${bucket}`
    : `/buckets/${bucket}`;
}

/** The path of a key in its bucket's form, percent-encoded. */
export function keyPath(place: Place, key: ByteString): string {
  return `${bucketPath(place)}${place.form === 'riak' ? '' : '/keys'}/${percentEncode(key)}`;
}
