/** What the members of a cluster know of one that has lost its disk, and tell it when it asks (cluster/changes/rebuild.ts). */
import type { NodeId } from '../../base/ids.ts';

/** What a member knows of another one's earlier lives. */
export interface LostDiskState {
  /** It coordinates transactions that an earlier life has a part in, and would give that part again. */
  readonly open: boolean;
  /** There are objects in its store. */
  readonly holds: boolean;
  /** Its own disk has all that it should have. */
  readonly whole: boolean;
  /** The members that have ever been there, as far as it knows. */
  readonly heard: readonly NodeId[];
}
