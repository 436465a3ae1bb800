/**
 * Which peers have the same ring view as this node. Two nodes exchange data only while they agree. A request of a peer
 * with another ring view waits until one node has caught up with the other, which takes a round of gossip, or is
 * refused. So a node that missed a ring change is neither read nor written by the old ring.
 *
 * Each peer states its own ring view, in its greeting and in every gossip message.
 */
import { LockstepError } from '../../base/errors.ts';
import type { NodeId } from '../../base/ids.ts';
import { sometimes } from '../../base/sometimes.ts';
import type { Clock, Timer } from '../../io/clock.ts';

/** Called once: with undefined when the peer agrees, or with the error if it did not in time. */
export type AgreementListener = (error: LockstepError | undefined) => void;

interface Waiting {
  readonly listener: AgreementListener;
  readonly haste: boolean;
  readonly timer: Timer;
}

/** How long a request waits for the agreement. */
const patienceUs = 1_000_000;
/** How often, at most, gossip with a disagreeing peer is started. */
const askAgainUs = 50_000;
/** The most requests of one peer that wait. */
const waitingMax = 10_000;

/** The ring views of the peers, and the requests that wait for agreement. */
export class Agreement {
  readonly #clock: Clock;
  readonly #view: () => string;
  readonly #reconcile: (peer: NodeId) => void;
  readonly #views = new Map<NodeId, string>();
  readonly #waiting = new Map<NodeId, Set<Waiting>>();
  readonly #askedUs = new Map<NodeId, number>();
  #stopped = false;

  /** `view`: this node's own ring view. `reconcile`: starts a round of gossip with a peer. */
  constructor(clock: Clock, view: () => string, reconcile: (peer: NodeId) => void) {
    this.#clock = clock;
    this.#view = view;
    this.#reconcile = reconcile;
  }

  /** Records the peer's ring view, and runs what waited for it. */
  said(peer: NodeId, view: string): void {
    this.#views.set(peer, view);
    this.#settle(peer);
  }

  /** Runs what waited, after this node's ring view has changed. */
  changed(): void {
    for (const peer of [...this.#waiting.keys()]) this.#settle(peer);
  }

  /** True if the peer's last ring view equals this node's. */
  agrees(peer: NodeId): boolean {
    return this.#views.get(peer) === this.#view();
  }

  /**
   * Calls the listener as soon as the peer agrees, at once if it does now. Calls it with `Overloaded` after a second
   * without agreement, or if too many requests wait, and with `ShuttingDown` after `stop`. Listeners with `haste` are
   * called before the others.
   */
  await(peer: NodeId, haste: boolean, listener: AgreementListener): void {
    if (this.#stopped) {
      listener(new LockstepError('ShuttingDown'));
      return;
    }
    const waiting = this.#waiting.get(peer) ?? new Set<Waiting>();
    if (waiting.size >= waitingMax) {
      listener(disagreement(peer));
      return;
    }
    const timer = this.#clock.after(patienceUs, () => {
      sometimes('view.agreement-timed-out');
      waiting.delete(one);
      listener(disagreement(peer));
    });
    const one: Waiting = { listener, haste, timer };
    waiting.add(one);
    this.#waiting.set(peer, waiting);
    this.#ask(peer);
    this.#settle(peer);
  }

  /** Refuses every waiting request with `ShuttingDown`, and all that come after. */
  stop(): void {
    this.#stopped = true;
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
