/** The listings of a node over its own store. */
import { Coverage } from '../coverage/coverage.ts';
import { LocalListing } from '../coverage/local-listing.ts';
import type { DispatchParts } from '../dispatch/parts.ts';
import type { Io } from '../io/io.ts';
import type { StoreDriver } from '../store/driver.ts';
import type { Store } from '../store/store.ts';

export function coverageOf(io: Io, parts: DispatchParts, store: Store, driver: StoreDriver): Coverage {
  const listing = new LocalListing({
    keysOfTokens: (from, to) => store.keysOfTokens(from, to),
    keysOfBucket: (prefix) => store.keysOfBucket(prefix),
    tokenOf: (key) => store.tokenOf(key),
    wallMs: () => io.clock.wallMs(),
    tryRead: (key, done) => driver.tryRead(key, done),
  });
  return new Coverage(io, parts, listing);
}
