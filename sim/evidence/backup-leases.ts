/** What became of backups whose process vanished after it had a node's writes held back. Plain data. */

/** One hold without an end. Times are virtual microseconds. */
export interface LeaseRecord {
  readonly id: string;
  readonly node: string;
  /** When the node was asked to hold, and when it had answered that it does. */
  readonly invokedUs: number;
  readonly heldUs: number;
  readonly leaseUs: number;
  /** When the node let its writes go on, by its log; undefined: not before the operator's last look at it. */
  readonly resumedUs: number | undefined;
  /** The operator's last look, after the lease. */
  readonly lookedUs: number;
  /** The node's incarnation was the same until the last look, and ran all the time. */
  readonly lived: boolean;
  /** What the node answered to a cut after the lease; undefined if it was not asked, or did not answer. */
  readonly lateCut: number | undefined;
  /** Whether the node stated, at a release after the lease, that it had held without a break. */
  readonly lateHeld: boolean | undefined;
  /** What the node answered to the hold of another backup after the lease: a status, and the detail of an error. */
  readonly next: { readonly status: number; readonly detail: string } | undefined;
}
