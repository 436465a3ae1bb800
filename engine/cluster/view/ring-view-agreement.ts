/**
 * Which peers see the ring as this node does. Two nodes give each other data only while they agree: a request of a peer
 * that sees it otherwise waits until one has caught up with the other, which a round of gossip does, or is refused. So
 * no node that slept through a change is read or written by the ring of the past.
 *
 * What a peer sees is heard from the peer itself, in its greeting and in every word of its gossip.
 */
import { LockstepError } from '../../base/errors.ts';
import type { NodeId } from '../../base/ids.ts';
import type { Clock, Timer } from '../../io/clock.ts';

/** Called once: at the agreement, or with the error when it did not come in time. */
export type AgreementListener = (error: LockstepError | undefined) => void;

interface Waiting {
  readonly listener: AgreementListener;
  readonly haste: boolean;
  readonly timer: Timer;
}

/** How long a request waits for the agreement. */
const patienceUs = 1_000_000;
/** How often a disagreeing peer is asked again at most. */
const askAgainUs = 50_000;
/** Requests of one peer that wait at most. */
const waitingMax = 10_000;

export class Agreement {
  readonly #clock: Clock;
  readonly #view: () => string;
  readonly #reconcile: (peer: NodeId) => void;
  readonly #views = new Map<NodeId, string>();
  readonly #waiting = new Map<NodeId, Set<Waiting>>();
  readonly #askedUs = new Map<NodeId, number>();

  /** `view` is this node's own; `reconcile` begins a round of gossip with a peer. */
  constructor(clock: Clock, view: () => string, reconcile: (peer: NodeId) => void) {
    this.#clock = clock;
    this.#view = view;
    this.#reconcile = reconcile;
  }

  /** The peer said how it sees the ring. */
  said(peer: NodeId, view: string): void {
    this.#views.set(peer, view);
    this.#settle(peer);
  }

  /** This node sees the ring otherwise than before. */
  changed(): void {
    for (const peer of [...this.#waiting.keys()]) this.#settle(peer);
  }

  agrees(peer: NodeId): boolean {
    return this.#views.get(peer) === this.#view();
  }

  /**
   * Calls the listener as soon as the peer agrees, at once if it does; with `Overloaded` when it does not in a second.
   * Those in a `haste` hear it first.
   */
  await(peer: NodeId, haste: boolean, listener: AgreementListener): void {
    const waiting = this.#waiting.get(peer) ?? new Set<Waiting>();
    if (waiting.size >= waitingMax) {
      listener(disagreement(peer));
      return;
    }
    const timer = this.#clock.after(patienceUs, () => {
      waiting.delete(one);
      listener(disagreement(peer));
    });
    const one: Waiting = { listener, haste, timer };
    waiting.add(one);
    this.#waiting.set(peer, waiting);
    this.#ask(peer);
    this.#settle(peer);
  }

  /** Refuses everything that waits. */
  stop(): void {
    for (const waiting of this.#waiting.values()) {
      for (const { listener, timer } of waiting) {
        timer.cancel();
        listener(new LockstepError('ShuttingDown'));
      }
    }
    this.#waiting.clear();
  }

  #ask(peer: NodeId): void {
    const nowUs = this.#clock.nowUs();
    const askedUs = this.#askedUs.get(peer);
    if (askedUs !== undefined && nowUs - askedUs < askAgainUs) return;
    this.#askedUs.set(peer, nowUs);
    this.#reconcile(peer);
  }

  #settle(peer: NodeId): void {
    const waiting = this.#waiting.get(peer);
    if (waiting === undefined || !this.agrees(peer)) return;
    this.#waiting.delete(peer);
    for (const inHaste of [true, false]) {
      for (const { listener, haste, timer } of waiting) {
        if (haste !== inHaste) continue;
        timer.cancel();
        listener(undefined);
      }
    }
  }
}

function disagreement(peer: NodeId): LockstepError {
  return new LockstepError('Overloaded', `${peer} and this node do not agree yet who owns which keys`);
}
