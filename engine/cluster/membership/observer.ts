/** What membership tells of the peers that it knows. */
import type { NodeId } from '../../base/ids.ts';
import type { Address } from '../../io/network.ts';
import type { PeerState } from './states.ts';
import type { RefusalReason } from './table.ts';

/** Another node and where it is reached. */
export interface KnownPeer {
  readonly node: NodeId;
  readonly address: Address;
  readonly datacenter: string;
  readonly rack: string;
  /** Its number in metrics, for the life of this process. */
  readonly index: number;
}

export interface MembershipObserver {
  /** A peer became known, or came back after it had left. */
  appeared(peer: KnownPeer): void;
  /** A peer left the cluster for good. */
  left(peer: KnownPeer): void;
  moved(peer: KnownPeer, from: PeerState, to: PeerState): void;
  /** The detector's score, after every beat. */
  scored(peer: KnownPeer, milliPhi: number): void;
  refused(reason: RefusalReason | 'malformed'): void;
  /** A message of gossip was sent. */
  sent(bytes: number): void;
  /** Who owns what, or will, has changed. */
  ringChanged(): void;
}
