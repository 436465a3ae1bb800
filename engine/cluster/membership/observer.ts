/** What membership reports of its peers, for metrics and logs. */
import type { NodeId } from '../../base/ids.ts';
import type { Address } from '../../io/network.ts';
import type { PeerState } from './states.ts';
import type { RefusalReason } from './table.ts';

/** Another node and where to reach it. */
export interface KnownPeer {
  readonly node: NodeId;
  readonly address: Address;
  readonly datacenter: string;
  readonly rack: string;
  /** Its number in metrics, for the life of this process. */
  readonly index: number;
}

/** Receives the events of membership as they happen. */
export interface MembershipObserver {
  /** A peer became known, or came back after it had left. */
  appeared(peer: KnownPeer): void;
  /** A peer left the cluster for good. */
  left(peer: KnownPeer): void;
  /** A peer's state has changed. */
  moved(peer: KnownPeer, from: PeerState, to: PeerState): void;
  /** The detector's score, after every heartbeat. */
  scored(peer: KnownPeer, milliPhi: number): void;
  /** A record or a gossip message was refused. */
  refused(reason: RefusalReason | 'malformed'): void;
  /** A gossip message of `bytes` was sent. */
  sent(bytes: number): void;
  /** Who owns what, or is about to, has changed. */
  ringChanged(): void;
}
