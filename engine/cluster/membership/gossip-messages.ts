/** What one node says to another in a round of gossip. */
import type { DigestEntry } from './gossip-progress.ts';
import type { MemberRecord } from './member-record.ts';

/** What a node tells of something that all nodes shall know: those that show one digest know the same of it. */
export interface News {
  readonly topic: string;
  readonly digest: string;
}

/** One message of a round. */
export interface GossipMessage {
  /** How far the sender knows everyone. */
  readonly digest: readonly DigestEntry[];
  /** Records that the receiver lacks, as far as the sender can tell. */
  readonly records: readonly MemberRecord[];
  /** The sender's view of who owns what (engine/cluster/view/ring-view-agreement.ts). */
  readonly view: string;
  readonly news?: readonly News[];
}
