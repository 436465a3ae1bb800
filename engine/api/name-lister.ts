/** What the listeners list names with: engine/mapreduce/listing, or a test's own. */
import type { Coverage } from '../mapreduce/listing/coverage.ts';

export type NameLister = Pick<Coverage, 'keys' | 'buckets'>;

/** How long a listing may take when the client does not say: a large bucket is read from the disk. */
export const listingTimeoutMs = 5 * 60_000;
