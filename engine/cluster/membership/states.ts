/**
 * The seven states of a peer, their codes (`peer_state_current`) and the moves between them, as a table.
 *
 * A node declares JOINING, NORMAL, STANDBY or LEAVING of itself; UNKNOWN, DOWN and RESET are an observer's opinion.
 * A peer is RESET between the arrival of a new life of it (a restart, another address) and its first heartbeat.
 */
import type { NodeId } from '../../base/ids.ts';
import type { LogLevel } from '../../io/log.ts';

export type PeerState = 'UNKNOWN' | 'JOINING' | 'NORMAL' | 'STANDBY' | 'DOWN' | 'RESET' | 'LEAVING';

/** In the order of their codes. */
export const peerStates: readonly PeerState[] = [
  'UNKNOWN',
  'JOINING',
  'NORMAL',
  'STANDBY',
  'DOWN',
  'RESET',
  'LEAVING',
];

/** What a node may say of itself. */
export type DeclaredState = Extract<PeerState, 'JOINING' | 'NORMAL' | 'STANDBY' | 'LEAVING'>;

export const declaredStates: readonly DeclaredState[] = ['JOINING', 'NORMAL', 'STANDBY', 'LEAVING'];

/**
 * How far a member's part of the ring has moved. `queued`: it waits for its turn, nothing has changed. `copying`: writes
 * go to the owners before and after the move, reads to those before. `switching`: writes go to both, reads to those after.
 */
export type MoveStage = 'none' | 'queued' | 'copying' | 'switching';

export const moveStages: readonly MoveStage[] = ['none', 'queued', 'copying', 'switching'];

/** Where each state may lead. Staying is no move. */
const moves: Readonly<Record<PeerState, readonly PeerState[]>> = {
  UNKNOWN: ['JOINING', 'NORMAL', 'STANDBY', 'DOWN', 'LEAVING'],
  JOINING: ['NORMAL', 'STANDBY', 'DOWN', 'RESET', 'LEAVING'],
  NORMAL: ['STANDBY', 'DOWN', 'RESET', 'LEAVING'],
  STANDBY: ['JOINING', 'NORMAL', 'DOWN', 'RESET', 'LEAVING'],
  DOWN: ['JOINING', 'NORMAL', 'STANDBY', 'RESET', 'LEAVING'],
  RESET: ['JOINING', 'NORMAL', 'STANDBY', 'DOWN', 'LEAVING'],
  LEAVING: ['JOINING', 'DOWN', 'RESET'],
};

/** The number that `peer_state_current` shows. */
export function stateCode(state: PeerState): number {
  return peerStates.indexOf(state);
}

/** A peer may go from one state to the other. */
export function isLegalMove(from: PeerState, to: PeerState): boolean {
  return moves[from].includes(to);
}

/** Peers in this state take all new work; `svc_peer_state` calls them up. */
export function isRoutableState(state: PeerState): boolean {
  return state === 'NORMAL' || state === 'JOINING';
}

/**
 * A peer in this state answers what it is asked: a leaving one until it has left, one in STANDBY takes every write and is
 * read when no other replica will do.
 */
export function isServingState(state: PeerState): boolean {
  return isRoutableState(state) || state === 'LEAVING' || state === 'STANDBY';
}

/** A line per state, for the golden. */
export function describeMoves(): string {
  return peerStates
    .map((state) => {
      const routable = isRoutableState(state) ? ' (routable)' : '';
      return `${stateCode(state)} ${state}${routable} -> ${moves[state].join(', ')}`;
    })
    .join('\n');
}

/**
 * How loud a peer's change of state is in the log: who goes without a word, and the return of such a one, is seen at the
 * quieter level too.
 */
export class PeerNews {
  readonly #missed = new Set<NodeId>();

  /** `away`: the peer has said that it goes. */
  level(node: NodeId, from: PeerState, to: PeerState, away: boolean): LogLevel {
    if (to === 'DOWN' && !away) {
      this.#missed.add(node);
      return 'warn';
    }
    return from === 'DOWN' && this.#missed.delete(node) ? 'warn' : 'info';
  }
}
