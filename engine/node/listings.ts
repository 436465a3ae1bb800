/** The listings of a node over its own store. */
import { Coverage } from '../mapreduce/listing/coverage.ts';
import { LocalListing } from '../mapreduce/listing/local-listing.ts';
import type { RoundDependencies } from '../replication/round-dependencies.ts';
import type { Io } from '../io/io.ts';
import type { StoreDriver } from '../storage/driver.ts';
import type { Store } from '../storage/store.ts';

export function coverageOf(io: Io, parts: RoundDependencies, store: Store, driver: StoreDriver): Coverage {
  const listing = new LocalListing({
    keysOfTokens: (from, to) => store.keysOfTokens(from, to),
    keysOfBucket: (prefix) => store.keysOfBucket(prefix),
    tokenOf: (key) => store.tokenOf(key),
    wallMs: () => io.clock.wallMs(),
    tryRead: (key, done) => driver.tryRead(key, done),
  });
  return new Coverage(io, parts, listing);
}
