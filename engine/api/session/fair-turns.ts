/**
 * Fair turns among connections. A client that sends requests faster than they are answered fills the node's whole turn of
 * the event loop with them, and the clients of all other connections wait meanwhile. So a connection that has begun
 * `requestsPerTurn` requests begins the next one in a later turn: the node does what others wait for in between.
 *
 * Requests are counted from one pause to the next, not by the turn: a client that asks once in a while pauses once in so
 * many requests, for no time at all.
 */
import type { Clock, Timer } from '../../io/clock.ts';

/** One or two milliseconds of gets of small values. */
export const requestsPerTurn = 64;

export class FairTurns {
  readonly #clock: Clock;
  readonly #onTurn: () => void;
  #begun = 0;
  #pause: Timer | undefined;

  /** `onTurn`: the next turn has come; the connection may go on. */
  constructor(clock: Clock, onTurn: () => void) {
    this.#clock = clock;
    this.#onTurn = onTurn;
  }

  /** One more request may begin in this turn. */
  get hasRoom(): boolean {
    return this.#pause === undefined;
  }

  /** A request has begun, or was refused. */
  begun(): void {
    this.#begun += 1;
    if (this.#begun < requestsPerTurn) return;
    this.#begun = 0;
    this.#pause ??= this.#clock.after(0, () => {
      this.#pause = undefined;
      this.#onTurn();
    });
  }

  /** The connection is over. */
  close(): void {
    this.#pause?.cancel();
    this.#pause = undefined;
  }
}
