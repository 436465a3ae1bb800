/**
 * Closes a client's connection without losing the last answer to a reset. It sends what is written, then waits for the
 * client to close its side, as long as the client keeps taking pending bytes.
 */
import type { Clock, Timer } from '../../io/clock.ts';
import type { Connection } from '../../io/network.ts';

/**
 * Microseconds between two checks whether the client has taken everything. The client may close its side in between.
 */
const lingerUs = 1_000_000;

/** Connections of a listener beyond its maximum that get an error answer. Further ones are closed without an answer. */
export const refusedAtOnceMax = 16;

/** The close of one connection, begun by the session. */
export class LingeringClose {
  readonly #clock: Clock;
  readonly #connection: Connection;
  #timer: Timer | undefined;

  constructor(clock: Clock, connection: Connection) {
    this.#clock = clock;
    this.#connection = connection;
  }

  /** Whether `begin` was called. */
  get begun(): boolean {
    return this.#timer !== undefined;
  }

  /** Ends the server's side. With `hurried`, a client that takes no byte for a second is cut off. */
  begin(hurried: boolean): void {
    this.#connection.end();
    if (hurried) this.#connection.setPatience(lingerUs);
    this.#linger();
  }

  /** Stops waiting; the session calls it when the connection has closed. */
  cancel(): void {
    this.#timer?.cancel();
  }

  /** Closes at the first check that finds nothing pending. The network port cuts off a client that takes nothing. */
  #linger(): void {
    this.#timer = this.#clock.after(lingerUs, () => {
      if (this.#connection.pendingBytes > 0) this.#linger();
      else this.#connection.destroy();
    });
  }
}
