/** What an operator asked of an upgrade, and what nodes stated of their versions of peer messages. */

/** One call of `POST /upgrade/finalize`. Times are virtual microseconds. */
export interface FinalizeCall {
  readonly id: string;
  readonly node: string;
  readonly invokedUs: number;
  readonly completedUs: number;
  /**
   * `finalized`: every member has recorded it. `refused`: a member lacks the version or was not reached, and nothing has
   * changed. `partly`: some members may have recorded it. `unknown`: no answer came. `unsent`: the node was not reached.
   */
  readonly outcome: 'finalized' | 'refused' | 'partly' | 'unknown' | 'unsent';
  /** What the answer says. */
  readonly detail: string;
  /** The cluster's minimum, as the answer states it; undefined without one. */
  readonly minimum: number | undefined;
  /** The version that the asked node spoke when it was asked. */
  readonly wanted: number;
  /** Members that were down, or ran a build that lacks the version, from the call to its answer. */
  readonly lacking: readonly string[];
}

/** A start of a build that speaks less than today's, after which the node served. */
export interface OlderStart {
  readonly node: string;
  readonly atUs: number;
  /** The highest version that the build speaks. */
  readonly version: number;
}

/** What one node stated of the cluster's minimum; `minimum` is undefined if it did not answer. */
export interface VersionStatement {
  readonly node: string;
  readonly atUs: number;
  readonly minimum: number | undefined;
}

/** Everything about upgrades in one run. */
export interface UpgradeEvidence {
  /** The cluster's minimum at the start. */
  readonly first: number;
  /** The highest version that today's build speaks. */
  readonly newest: number;
  readonly calls: readonly FinalizeCall[];
  readonly starts: readonly OlderStart[];
  /** After the calm, when every member runs today's build, and before the last call. */
  readonly settled: readonly VersionStatement[];
  /** After the last call; empty if there was none. */
  readonly final: readonly VersionStatement[];
  /** The last call, which the operator repeats until it succeeds; undefined if there was none. */
  readonly last: FinalizeCall | undefined;
  /** Nodes whose disks may forget what they have recorded. */
  readonly forgetful: readonly string[];
}
