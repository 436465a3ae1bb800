/** The port through which the listeners list keys and buckets. */
import type { Coverage } from '../mapreduce/listing/coverage.ts';

/** Pages of keys of a bucket, or of buckets. `mapreduce/listing/` implements it; tests use a map. */
export type NameLister = Pick<Coverage, 'keys' | 'buckets'>;

/** Milliseconds that a listing may take if the client names no timeout. A large bucket is read from the disk. */
export const listingTimeoutMs = 5 * 60_000;
