/**
 * `causality` (INV9), causality on the disks. A dot (the name of one write) identifies one content of one key,
 * permanently and on every disk, also after a disk was wiped or rolled back. Where the dot is ahead of the clock that
 * dated the write, it identifies one content per key. No record replaces another of its key unless it holds every value
 * of the other, or covers it by its context. A put of a client that never retries
 * is under one dot: a second one shows that it was applied twice. A merge of a store keeps the newest record of every
 * key, the engine's own included, and lets no record count again that is older than a removal. No manifest gives up a
 * durable record whose replacement is not durable.
 *
 * A context loses entries only where a coordinator prunes them, by the limits of the bucket: both what disks show and
 * what nodes log is judged (observe/context-pruning.ts).
 *
 * Skipped: replaced values of an incarnation that the new record's context does not know at all (its entry was pruned),
 * a copy that its node has reported as unreadable (the contract of faults has that exception), and records that do not
 * decode (other checks report those).
 */
import { invariant } from '../invariant.ts';
import type { BadEvent, CheckReport } from '../report.ts';
import { Tally } from '../report.ts';

/** Findings of the object observer. */
export interface DotRecords {
  /** Number of values seen again under a known dot, and of replaced values looked for in their replacement. */
  readonly compared: number;
  readonly skipped: number;
  readonly reused: readonly BadEvent[];
  readonly lost: readonly BadEvent[];
  /** Puts that were found under a second dot. */
  readonly twice: readonly BadEvent[];
}

/** The row of `causality`. */
export const causalityRow = invariant({
  name: 'causality',
  code: 'INV9',
  promise: 'no version replaces one that it has not seen',
  gravity: 'data',
  breach: 'a replica drops a write as known that it never saw',
  needs: ['disk-records'],
  everydayFloor: 150,
  check: ({ dots }: { readonly dots: DotRecords }) => checkDots(dots),
});

/** Turns the observer's findings into a report. */
export function checkDots({ compared, skipped, reused, lost, twice }: DotRecords): CheckReport {
  const tally = new Tally('causality');
  const bad = [...reused, ...lost, ...twice];
  for (let count = bad.length; count < compared; count++) tally.compare(true, 0, () => '');
  for (const { atUs, text } of bad) tally.compare(false, atUs, () => text);
  tally.skip(skipped);
  return tally.report();
}
