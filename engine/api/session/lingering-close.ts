/**
 * The end of a client's connection from our side: what is written goes out, and the client is waited for to close its
 * side, so that the last answer is not lost to a reset; but only while it goes on taking what is pending.
 */
import type { Clock, Timer } from '../../io/clock.ts';
import type { Connection } from '../../io/network.ts';

/** Microseconds between two looks whether a client has taken everything; it may close its side in between. */
const lingerUs = 1_000_000;

/** Connections of a listener beyond its maximum that are told so; further ones are closed without a word. */
export const refusedAtOnceMax = 16;

export class LingeringClose {
  readonly #clock: Clock;
  readonly #connection: Connection;
  #timer: Timer | undefined;

  constructor(clock: Clock, connection: Connection) {
    this.#clock = clock;
    this.#connection = connection;
  }

  get begun(): boolean {
    return this.#timer !== undefined;
  }

  /** `hurried`: nobody who takes nothing for a second is waited for any longer than that. */
  begin(hurried: boolean): void {
    this.#connection.end();
    if (hurried) this.#connection.setPatience(lingerUs);
    this.#linger();
  }

  /** The connection is over. */
  cancel(): void {
    this.#timer?.cancel();
  }

  /** Until a look finds nothing pending; who takes nothing is the door's to cut off. */
  #linger(): void {
    this.#timer = this.#clock.after(lingerUs, () => {
      if (this.#connection.pendingBytes > 0) this.#linger();
      else this.#connection.destroy();
    });
  }
}
