/** What a member answers to a node that has lost its disk (cluster/changes/rebuild.ts). */
import type { NodeId } from '../../base/ids.ts';

/** What a member knows of the asking node's earlier incarnations, and of itself. */
export interface LostDiskState {
  /**
   * True if the member coordinates transactions in which an earlier incarnation has a branch that it would send again.
   */
  readonly open: boolean;
  /** True if the member's store holds objects. */
  readonly holds: boolean;
  /** True if the member's own disk has everything that it should have. */
  readonly whole: boolean;
  /** The members that have ever been heard, as far as the member knows. */
  readonly heard: readonly NodeId[];
}
