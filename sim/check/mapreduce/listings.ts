/**
 * `listings` (INV40): a listing of a bucket names each key once, whichever protocol asked. Each name is of a key of the
 * bucket that some client had put by then, by a put that was not certainly refused. A listing names every key that a
 * majority of a datacenter's replicas had acknowledged before it, with the exceptions that jobs have (`held-keys.ts`).
 * After the calm it names exactly the keys of which reads return a value; a key of which only the reads of some datacenters
 * return one may be named. So may one that holds nothing but values that a pruned context may bring back
 * (evidence/prunings.ts).
 *
 * Skipped: failed listings, and after the calm keys with a write of unknown outcome.
 */
import type { History } from '../../evidence/history.ts';
import { byKey, isWrite } from '../../evidence/history.ts';
import type { ListingRecord } from '../../evidence/jobs.ts';
import { describeListing } from '../../evidence/jobs.ts';
import { invariant } from '../invariant.ts';
import type { CheckReport } from '../report.ts';
import { Tally } from '../report.ts';
import type { JobSurroundings } from './held-keys.ts';
import { describeShown, heldThroughout, shownAfterCalm, staysUntil } from './held-keys.ts';

/** The listings of clients, and what they are compared with. */
export interface ListingEvidence extends JobSurroundings {
  readonly history: History;
  readonly listings: readonly ListingRecord[];
}

/** The row of `listings`. */
export const listingsRow = invariant({
  name: 'listings',
  code: 'INV40',
  promise: 'a listing names each key that is there, once',
  gravity: 'data',
  breach: 'a program that walks a bucket by its listing misses keys, or meets some twice',
  needs: [],
  check: ({ history, listings, ...around }: ListingEvidence) => checkListings(history, listings, around),
});

/** Checks the listings against the history of single operations. */
export function checkListings(
  history: History,
  listings: readonly ListingRecord[],
  around: JobSurroundings,
): CheckReport {
  const tally = new Tally('listings');
  const known = byKey(history);
  for (const listing of listings) {
    if (listing.outcome === 'ok') checkListing(listing, known, around, tally);
    else tally.skip();
  }
  return tally.report();
}

function checkListing(
  listing: ListingRecord,
  known: ReadonlyMap<string, History>,
  around: JobSurroundings,
  tally: Tally,
): void {
  const { names, completedUs, bucket, final } = listing;
  const listed = new Set(names);
  tally.compare(listed.size === names.length, completedUs, () => {
    const twice = names.find((name, index) => names.indexOf(name) !== index);
    return `${describeListing(listing)}: it names ${twice ?? ''} twice`;
  });
  for (const name of listed) {
    const writes = (known.get(name) ?? []).filter(isWrite);
    const isThere = writes.some(
      ({ kind, outcome, invokedUs }) => kind === 'put' && outcome !== 'fail' && invokedUs <= completedUs,
    );
    tally.compare(isThere, completedUs, () => {
      return `${describeListing(listing)}: it names ${name}, which no client had put by then`;
    });
  }
  const isHeld = heldThroughout(listing, around);
  for (const [key, operations] of known) {
    if (!key.startsWith(bucket)) continue;
    const shown = final ? shownAfterCalm(operations) : undefined;
    if (shown !== undefined) {
      const stays = staysUntil(completedUs, operations, around.prunings);
      const mayBeBack = operations.some((one) => isWrite(one) && one.kind === 'put' && !stays(one.tag));
      const isRight = shown.some(
        (values) => listed.has(key) === values.length > 0 || (mayBeBack && !values.some(stays)),
      );
      tally.compare(isRight, completedUs, () => {
        const how = listed.has(key) ? 'names' : 'leaves out';
        return `${describeListing(listing)}: it ${how} ${key}, reads after the calm show ${describeShown(shown)}`;
      });
      continue;
    }
    const held = isHeld(operations);
    if (held === undefined) continue;
    tally.compare(listed.has(key), completedUs, () => {
      return `${describeListing(listing)}: it leaves out ${key}, of which a majority held the put ${held.tag}`;
    });
  }
}
