/** Which disks know durably of the flushes of the database that clients flush. Plain data and pure functions. */

/** A rack: a flush needs all of `members`, or any of `others` if there are none. */
export interface FlushRack {
  readonly datacenter: string;
  /** Nodes that are members throughout. */
  readonly members: readonly string[];
  /** Nodes that join, leave or die for good. */
  readonly others: readonly string[];
}

/** What the disks of a run held of flushes. */
export interface FlushCopies {
  readonly racks: readonly FlushRack[];
  /** Since when the node's disk holds durably a flush that reached its first disk at `fromUs` or later; or infinite. */
  knownSince(node: string, fromUs: number): number;
}
