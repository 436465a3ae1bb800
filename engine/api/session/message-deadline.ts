/**
 * How long a client may take to send a message that it has begun, however its bytes trickle. Silence between messages
 * does not count, nor does time in which the session does not read.
 *
 * One timer serves many messages: when it is over, it looks how old the present one is.
 */
import type { Clock, Timer } from '../../io/clock.ts';

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

  /** A message has begun, unless one is under way already. */
  begin(): void {
    this.#begunUs ??= this.#clock.nowUs();
    this.#timer ??= this.#lookAfter(this.#usMax);
  }

  /** The message under way is whole, or nobody waits for it now. */
  end(): void {
    this.#begunUs = undefined;
  }

  /** Nothing is timed any more. */
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
