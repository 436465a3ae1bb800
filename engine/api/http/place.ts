/**
 * Which bucket and key a path names, and the paths that name them. Three forms lead to the same objects: Riak's
 * `/buckets`, `/types` for a bucket type, and the old `/riak`; an answer speaks in the form it was asked in.
 */
import type { ByteString } from '../../base/ids.ts';
import { defaultType } from '../../base/object-key.ts';
import type { HttpRequest } from '../../io/http.ts';
import { percentDecode, percentEncode } from './percent.ts';

export type PathForm = 'buckets' | 'types' | 'riak';

/** A bucket, and how the request spelled it. */
export interface Place {
  readonly form: PathForm;
  readonly type: ByteString;
  readonly bucket: ByteString;
}

/** The bucket of a request's path. Throws `BadRequest` on bad percent-encoding. */
export function placeOf(request: HttpRequest, form: PathForm): Place {
  const { type, bucket = '' } = request.params;
  return {
    form,
    type: type === undefined ? defaultType : percentDecode(type, 'the bucket type'),
    bucket: percentDecode(bucket, 'the bucket'),
  };
}

/** The key of a request's path. Throws `BadRequest` on bad percent-encoding. */
export function keyOf(request: HttpRequest): ByteString {
  return percentDecode(request.params['key'] ?? '', 'the key');
}

export function bucketPath(place: Place): string {
  const bucket = percentEncode(place.bucket);
  if (place.form === 'riak') return `/riak/${bucket}`;
  return place.form === 'types'
    ? `/types/${percentEncode(place.type)}/buckets/${bucket}`
    : `/buckets/${bucket}`;
}

export function keyPath(place: Place, key: ByteString): string {
  return `${bucketPath(place)}${place.form === 'riak' ? '' : '/keys'}/${percentEncode(key)}`;
}
