/** The messages of a gossip round. */
import type { DigestEntry } from './gossip-progress.ts';
import type { MemberRecord } from './member-record.ts';

/** What a node knows of a topic that all nodes shall know (membership.ts). Nodes with equal digests know the same. */
export interface News {
  readonly topic: string;
  readonly digest: string;
}

/** One message of a round. */
export interface GossipMessage {
  /** How far the sender knows every member. Empty if the sender lacks nothing. */
  readonly digest: readonly DigestEntry[];
  /** Records that the receiver lacks, as far as the sender can tell. */
  readonly records: readonly MemberRecord[];
  /** The sender's ring view (cluster/view/ring-view-agreement.ts). */
  readonly view: string;
  readonly news?: readonly News[];
}
