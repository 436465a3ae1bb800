/** What simulated MapReduce clients asked and were answered, for the checks. Plain data. */
import type { Outcome } from './history.ts';

/**
 * The kinds of jobs:
 * - `objects`: the named keys, each as the job found it;
 * - `count`: how many keys were named, found or not;
 * - `whole`: every key of one bucket that holds a value.
 */
export const jobKinds = ['objects', 'count', 'whole'] as const;
/** One kind of job; `links`: as `objects`, by the links of the values. Plans have none: it follows one of `objects`. */
export type JobKind = (typeof jobKinds)[number] | 'links';

/** An object as a job found it: its key (`bucket/key`) and the tags of its values; no tags if it was not found. */
export interface FoundKey {
  readonly key: string;
  readonly tags: readonly string[];
}

/** One job: what the client asked, and what it was answered. */
export interface JobRecord {
  /** The job's id in the plan, or `final …` for one that ran after the calm. */
  readonly id: string;
  readonly client: string;
  readonly node: string;
  readonly kind: JobKind;
  /** The keys that the client named, as `bucket/key`; for `whole`, the bucket with a trailing slash. */
  readonly keys: readonly string[];
  readonly invokedUs: number;
  readonly completedUs: number;
  /** Never `unknown`: a job changes nothing, so one without an answer failed. */
  readonly outcome: Exclude<Outcome, 'unknown'>;
  readonly reason: string;
  readonly found: readonly FoundKey[];
  readonly counted: readonly unknown[];
  readonly final: boolean;
}

/** One line for people: `#j7 j1 objects at n2: ok, 12 keys`. */
export function describeJob({ id, client, kind, node, outcome, found, reason }: JobRecord): string {
  const why = reason === '' ? `, ${found.length} keys` : ` (${reason})`;
  return `#${id} ${client} ${kind} at ${node}: ${outcome}${why}`;
}

/** One listing of a bucket's keys: what the client asked, and what it was answered. */
export interface ListingRecord {
  readonly client: string;
  readonly node: string;
  readonly datacenter: string;
  readonly over: 'pbc' | 'http';
  /** The bucket, with a trailing slash. */
  readonly bucket: string;
  readonly invokedUs: number;
  readonly completedUs: number;
  /** Never `unknown`: a listing changes nothing. */
  readonly outcome: Exclude<Outcome, 'unknown'>;
  /** The keys as `bucket/key`, in the order of the answer. */
  readonly names: readonly string[];
  readonly final: boolean;
}

/** One line for people: `j1 lists newest/ at n2 over http: 12 keys`. */
export function describeListing({ client, node, over, bucket, names }: ListingRecord): string {
  return `${client} lists ${bucket} at ${node} over ${over}: ${names.length} keys`;
}
