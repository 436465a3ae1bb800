/**
 * What those who may not asked of a cluster that wants credentials, and were answered (`unauthorized-request`), as
 * the checks read it. Plain data.
 */

export const strangerListeners = ['http', 'pb', 'redis', 'stats'] as const;
export type GuardedListener = (typeof strangerListeners)[number];

/** Without credentials, with wrong ones, or with those of too small a role. */
export const strangerGuises = ['missing', 'wrong', 'forbidden'] as const;
export type FalseCredential = (typeof strangerGuises)[number];

export interface UnauthenticatedRecord {
  readonly id: string;
  readonly node: string;
  readonly atUs: number;
  /** `http forbidden: PUT /buckets/kept/props`. */
  readonly asked: string;
  /** A status, a code or the first word of an error, or what came instead; undefined when the answer was lost. */
  readonly answered: string | undefined;
}

/** What a node says of a key that only strangers ever tried to write: its value, empty for none; undefined: no answer. */
export interface UntouchedRecord {
  readonly node: string;
  readonly atUs: number;
  readonly found: string | undefined;
}
