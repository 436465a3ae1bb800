/** The port through which the listeners list keys and buckets. */
import type { Permit } from '../auth/permit.ts';
import type { ByteString } from '../base/ids.ts';
import type { Coverage } from '../mapreduce/listing/coverage.ts';

/** Pages of keys of a bucket, or of buckets. `mapreduce/listing/` implements it; tests use a map. */
export type NameLister = Pick<Coverage, 'keys' | 'buckets'>;

/** Milliseconds that a listing may take if the client names no timeout. A large bucket is read from the disk. */
export const listingTimeoutMs = 5 * 60_000;

/** The pages of a listing of a type's buckets, without those that the client may not reach. */
export async function* reachable(
  pages: AsyncIterable<readonly ByteString[]>,
  type: ByteString,
  permit: Permit,
): AsyncGenerator<readonly ByteString[], void, undefined> {
  for await (const names of pages) yield names.filter((bucket) => permit.mayReach(type, bucket));
}
