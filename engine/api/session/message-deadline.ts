/**
 * Bounds the time that a client may take to send one message, however slowly its bytes arrive. Silence between messages
 * does not count, nor does time in which the session does not read.
 *
 * One timer serves many messages. When it fires, it compares the age of the current message with the limit.
 */
import type { Clock, Timer } from '../../io/clock.ts';

/** The deadline of one connection's incoming messages. */
export class MessageDeadline {
  readonly #clock: Clock;
  readonly #usMax: number;
  readonly #onLate: () => void;
  #begunUs: number | undefined;
  #timer: Timer | undefined;

  /** `onLate` is called once a message is older than `usMax` microseconds. */
  constructor(clock: Clock, usMax: number, onLate: () => void) {
    this.#clock = clock;
    this.#usMax = usMax;
    this.#onLate = onLate;
  }

  /** Starts the time of a message, unless one is already under way. */
  begin(): void {
    this.#begunUs ??= this.#clock.nowUs();
    this.#timer ??= this.#lookAfter(this.#usMax);
  }

  /** Ends the time: the message is complete, or the session has stopped reading. */
  end(): void {
    this.#begunUs = undefined;
  }

  /** Ends all timing; the session calls it when the connection has closed. */
  close(): void {
    this.end();
    this.#timer?.cancel();
  }

  #lookAfter(us: number): Timer {
    return this.#clock.after(us, () => {
      this.#timer = undefined;
      if (this.#begunUs === undefined) return;
      const leftUs = this.#begunUs + this.#usMax - this.#clock.nowUs();
      if (leftUs > 0) this.#timer = this.#lookAfter(leftUs);
      else this.#onLate();
    });
  }
}
