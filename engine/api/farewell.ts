/**
 * The end of a client's connection from our side: what is written goes out, and the client is waited for to close its
 * side, so that the last answer is not lost to a reset; but only while it goes on taking what is pending.
 */
import type { Clock, Timer } from '../io/clock.ts';
import type { Connection } from '../io/network.ts';

/** Microseconds in which the client takes some of the last bytes, or closes its side. */
const lingerUs = 1_000_000;

export class Farewell {
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

  begin(): void {
    this.#connection.end();
    this.#lingerWhile(this.#connection.pendingBytes);
  }

  /** The connection is over. */
  cancel(): void {
    this.#timer?.cancel();
  }

  #lingerWhile(pendingBytes: number): void {
    this.#timer = this.#clock.after(lingerUs, () => {
      const left = this.#connection.pendingBytes;
      if (left > 0 && left < pendingBytes) this.#lingerWhile(left);
      else this.#connection.destroy();
    });
  }
}
