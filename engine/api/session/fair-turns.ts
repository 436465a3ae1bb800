/**
 * Limits how many requests a connection begins in one turn of the event loop, so that connections share it fairly. A
 * client that sends faster than the node answers would otherwise fill a whole turn, while the clients of all other
 * connections wait. After `requestsPerTurn` requests a connection begins its next one in a later turn.
 *
 * Requests are counted from one pause to the next, not per turn. A client that sends a request now and then pauses once
 * in `requestsPerTurn` requests, for no noticeable time.
 */
import type { Clock, Timer } from '../../io/clock.ts';

/** Requests. One or two milliseconds of gets of small values. */
export const requestsPerTurn = 64;

/** The turns of one connection. The session calls `begun` per request and begins none while `hasRoom` is false. */
export class FairTurns {
  readonly #clock: Clock;
  readonly #onTurn: () => void;
  #begun = 0;
  #pause: Timer | undefined;

  /** `onTurn` is called when the next turn has come and the connection may begin requests again. */
  constructor(clock: Clock, onTurn: () => void) {
    this.#clock = clock;
    this.#onTurn = onTurn;
  }

  /** Whether the connection may begin another request in this turn. */
  get hasRoom(): boolean {
    return this.#pause === undefined;
  }

  /** Counts a request that the session began or refused. */
  begun(): void {
    this.#begun += 1;
    if (this.#begun < requestsPerTurn) return;
    this.#begun = 0;
    this.#pause ??= this.#clock.after(0, () => {
      this.#pause = undefined;
      this.#onTurn();
    });
  }

  /** Ends the pause without a call of `onTurn`; the session calls it when the connection has closed. */
  close(): void {
    this.#pause?.cancel();
    this.#pause = undefined;
  }
}
