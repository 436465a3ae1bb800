/**
 * The seven states of a peer, their codes (`peer_state_current`) and the transitions between them, as a table.
 *
 * A node declares JOINING, NORMAL, STANDBY or LEAVING of itself; UNKNOWN, DOWN and RESET are an observer's opinion. A
 * peer is RESET between the arrival of a new incarnation (a restart, another address) and its first heartbeat.
 */
import type { NodeId } from '../../base/ids.ts';
import type { LogLevel } from '../../io/log.ts';

/** The state of a peer in an observer's opinion. */
export type PeerState = 'UNKNOWN' | 'JOINING' | 'NORMAL' | 'STANDBY' | 'DOWN' | 'RESET' | 'LEAVING';

/** All states, in the order of their codes. */
export const peerStates: readonly PeerState[] = [
  'UNKNOWN',
  'JOINING',
  'NORMAL',
  'STANDBY',
  'DOWN',
  'RESET',
  'LEAVING',
];

/** The states that a node may declare of itself. */
export type DeclaredState = Extract<PeerState, 'JOINING' | 'NORMAL' | 'STANDBY' | 'LEAVING'>;

/** All declared states. */
export const declaredStates: readonly DeclaredState[] = ['JOINING', 'NORMAL', 'STANDBY', 'LEAVING'];

/**
 * How far a member's ring change is. `queued`: it waits for its turn, and nothing has changed. `copying`: writes go to
 * the owners before and after the change, reads to those before. `switching`: writes go to both, reads to those after.
 */
export type MoveStage = 'none' | 'queued' | 'copying' | 'switching';

/** All stages, in their sequence. */
export const moveStages: readonly MoveStage[] = ['none', 'queued', 'copying', 'switching'];

/** The states that each state may change to. Staying is no transition. */
const moves: Readonly<Record<PeerState, readonly PeerState[]>> = {
  UNKNOWN: ['JOINING', 'NORMAL', 'STANDBY', 'DOWN', 'LEAVING'],
  JOINING: ['NORMAL', 'STANDBY', 'DOWN', 'RESET', 'LEAVING'],
  NORMAL: ['STANDBY', 'DOWN', 'RESET', 'LEAVING'],
  STANDBY: ['JOINING', 'NORMAL', 'DOWN', 'RESET', 'LEAVING'],
  DOWN: ['JOINING', 'NORMAL', 'STANDBY', 'RESET', 'LEAVING'],
  RESET: ['JOINING', 'NORMAL', 'STANDBY', 'DOWN', 'LEAVING'],
  LEAVING: ['JOINING', 'NORMAL', 'DOWN', 'RESET'],
};

/** A member's declared state and the stage of its ring change. */
export interface RingChangeStep {
  readonly state: DeclaredState;
  readonly move: MoveStage;
}

/** The steps that a member may declare after each, as `STATE stage`. Keys change hands only from copying to switching. */
const stepsAfter: Readonly<Record<string, readonly string[]>> = {
  'JOINING none': ['JOINING queued', 'JOINING copying'],
  'JOINING queued': ['JOINING queued', 'JOINING copying'],
  // A member that starts again in the middle copies once more.
  'JOINING copying': ['JOINING queued', 'JOINING copying', 'NORMAL switching'],
  'NORMAL switching': ['NORMAL none'],
  'NORMAL none': ['STANDBY none', 'LEAVING queued'],
  'STANDBY none': ['NORMAL none', 'LEAVING queued'],
  // A member that may not leave any more stays.
  'LEAVING queued': ['LEAVING queued', 'LEAVING copying', 'NORMAL none'],
  'LEAVING copying': ['LEAVING queued', 'LEAVING copying', 'LEAVING switching'],
};

/** True if a member may declare the step `to` after `from`. */
export function isLegalStep(from: RingChangeStep, to: RingChangeStep): boolean {
  return stepsAfter[`${from.state} ${from.move}`]?.includes(`${to.state} ${to.move}`) === true;
}

/** The number that `peer_state_current` shows. */
export function stateCode(state: PeerState): number {
  return peerStates.indexOf(state);
}

/** True if a peer may change from one state to the other. */
export function isLegalMove(from: PeerState, to: PeerState): boolean {
  return moves[from].includes(to);
}

/** True if peers in this state take all new work; `svc_peer_state` shows them as up. */
export function isRoutableState(state: PeerState): boolean {
  return state === 'NORMAL' || state === 'JOINING';
}

/**
 * True if a peer in this state answers requests. A leaving peer does so until it has left. A peer in STANDBY takes every
 * write, and is read if too few other replicas are left.
 */
export function isServingState(state: PeerState): boolean {
  return isRoutableState(state) || state === 'LEAVING' || state === 'STANDBY';
}

/** The transitions as text, a line per state, for the golden test. */
export function describeMoves(): string {
  return peerStates
    .map((state) => {
      const routable = isRoutableState(state) ? ' (routable)' : '';
      return `${stateCode(state)} ${state}${routable} -> ${moves[state].join(', ')}`;
    })
    .join('\n');
}

/**
 * The log level of a peer's change of state. `warn` for a peer that goes DOWN without an announcement, and for its
 * return; `info` otherwise.
 */
export class PeerNews {
  readonly #missed = new Set<NodeId>();

  /** `away`: the peer has announced that it stops. */
  level(node: NodeId, from: PeerState, to: PeerState, away: boolean): LogLevel {
    if (to === 'DOWN' && !away) {
      this.#missed.add(node);
      return 'warn';
    }
    return from === 'DOWN' && this.#missed.delete(node) ? 'warn' : 'info';
  }
}
