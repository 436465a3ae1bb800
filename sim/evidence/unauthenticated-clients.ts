/**
 * What unauthenticated and unauthorized clients asked of a cluster that demands credentials, and what it answered (the
 * fault `unauthorized-request`), for the checks. Plain data.
 */

/** The listeners that such a client can address. */
export const guardedListeners = ['http', 'pb', 'redis', 'stats'] as const;
/** One listener that demands credentials. */
export type GuardedListener = (typeof guardedListeners)[number];

/**
 * The client sends no credentials, wrong ones, those of a role that lacks the permission, those of a credential that is
 * limited to other buckets, or, faster than its rate allows, those of a role that lacks the permission.
 */
export const falseCredentials = ['missing', 'wrong', 'forbidden', 'limited', 'hurried'] as const;
/** How the credentials of an unauthenticated client are false. */
export type FalseCredential = (typeof falseCredentials)[number];

/** One request that the node must refuse, and its answer. */
export interface UnauthenticatedRecord {
  readonly id: string;
  readonly node: string;
  readonly atUs: number;
  /** Listener, false credential and request: `http forbidden: PUT /buckets/kept/props`. */
  readonly asked: string;
  /** A status, a code, the first word of an error, or whatever else came; undefined if the answer was lost. */
  readonly answered: string | undefined;
}

/**
 * A node's value of the key that only unauthenticated clients tried to write: `found` is empty for none, undefined
 * without an answer.
 */
export interface UntouchedRecord {
  readonly node: string;
  readonly atUs: number;
  readonly found: string | undefined;
}
