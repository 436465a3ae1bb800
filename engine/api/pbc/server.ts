/**
 * The binary protocol's listener: accepts connections up to a limit, gives each a session, and closes them in order.
 */
import { Deferred } from '../../base/deferred.ts';
import { LockstepError } from '../../base/errors.ts';
import type { Address, Connection, Listener } from '../../io/network.ts';
import { refusedAtOnceMax } from '../session/lingering-close.ts';
import type { PbcDependencies } from './object-calls.ts';
import type { SessionLimits } from './session.ts';
import { Session } from './session.ts';

/** Limits of the listener and of each session. */
export interface PbcLimits extends SessionLimits {
  /** The most open connections. Further ones are answered `Overloaded` and closed. */
  readonly connectionCountMax: number;
}

/** The listener of one node. */
export class PbcServer {
  readonly #parts: PbcDependencies;
  readonly #limits: PbcLimits;
  readonly #sessions = new Set<Session>();
  #listener: Listener | undefined;
  #stopping = false;
  /** Resolved when the last connection of a stopping server has closed. */
  readonly #emptied = new Deferred<void>();

  constructor(parts: PbcDependencies, limits: PbcLimits) {
    this.#parts = parts;
    this.#limits = limits;
  }

  /** Connections open now. */
  get connections(): number {
    return this.#sessions.size;
  }

  /** Listens. Resolves with the address (with the real port if port 0 was requested); rejects with `ListenError`. */
  async start(address: Address): Promise<Address> {
    this.#listener = await this.#parts.io.network.listen(address, (connection) => this.#accept(connection));
    return this.#listener.address;
  }

  /**
   * Accepts no more connections or requests. Requests under way are answered for at most `drainMs` milliseconds; then
   * every connection is closed. Resolves when all are closed.
   */
  async stop(drainMs: number): Promise<void> {
    this.#stopping = true;
    await this.#listener?.close();
    for (const session of this.#sessions) session.close();
    if (this.#sessions.size === 0) return;
    const timer = this.#parts.io.clock.after(drainMs * 1000, () => {
      for (const session of this.#sessions) session.destroy();
    });
    await this.#emptied.promise;
    timer.cancel();
  }

  #accept(connection: Connection): void {
    const session = new Session(this.#parts, this.#limits, connection, (over) => this.#forget(over));
    this.#sessions.add(session);
    session.start(this.#refusal());
    if (this.#sessions.size > this.#limits.connectionCountMax + refusedAtOnceMax) session.destroy();
  }

  #refusal(): LockstepError | undefined {
    if (this.#stopping) return new LockstepError('ShuttingDown');
    const { connectionCountMax } = this.#limits;
    if (this.#sessions.size <= connectionCountMax) return undefined;
    return new LockstepError(
      'Overloaded',
      `at most ${connectionCountMax} connections are served; try again later`,
    );
  }

  #forget(session: Session): void {
    this.#sessions.delete(session);
    if (this.#stopping && this.#sessions.size === 0) this.#emptied.resolve();
  }
}
