/**
 * The listener of a byte-stream protocol: accepts connections up to a limit, gives each a session, and closes them in
 * order. The protocol provides its sessions.
 */
import { Deferred } from '../../base/deferred.ts';
import { LockstepError } from '../../base/errors.ts';
import type { Io } from '../../io/io.ts';
import type { Address, Connection, Listener } from '../../io/network.ts';
import { refusedAtOnceMax } from './lingering-close.ts';

/** A session as its listener uses it. */
export interface ServedSession {
  /** Starts serving; with a refusal, only answers it and closes. */
  start(refusal?: LockstepError): void;
  /** Takes no further request, and closes when those under way are answered. */
  close(): void;
  /** Closes at once. */
  destroy(): void;
}

/** Makes the session of a connection, which calls `onOver` once, when the connection has closed. */
export type OpenSession<S> = (connection: Connection, onOver: (session: S) => void) => S;

/** The listener of one protocol on one node. */
export class ClientServer<S extends ServedSession> {
  readonly #io: Pick<Io, 'clock' | 'network'>;
  readonly #connectionCountMax: number;
  readonly #open: OpenSession<S>;
  readonly #sessions = new Set<S>();
  #listener: Listener | undefined;
  #stopping = false;
  /** Resolved when the last connection of a stopping server has closed. */
  readonly #emptied = new Deferred<void>();

  /** `connectionCountMax`: the most open connections. Further ones are answered `Overloaded` and closed. */
  constructor(io: Pick<Io, 'clock' | 'network'>, connectionCountMax: number, open: OpenSession<S>) {
    this.#io = io;
    this.#connectionCountMax = connectionCountMax;
    this.#open = open;
  }

  /** Connections open now. */
  get connections(): number {
    return this.#sessions.size;
  }

  /** The sessions of the open connections, oldest first. */
  get sessions(): Iterable<S> {
    return this.#sessions;
  }

  /** Listens. Resolves with the address (with the real port if port 0 was requested); rejects with `ListenError`. */
  async start(address: Address): Promise<Address> {
    this.#listener = await this.#io.network.listen(address, (connection) => this.#accept(connection));
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
    const timer = this.#io.clock.after(drainMs * 1000, () => {
      for (const session of this.#sessions) session.destroy();
    });
    await this.#emptied.promise;
    timer.cancel();
  }

  #accept(connection: Connection): void {
    const session = this.#open(connection, (over) => this.#forget(over));
    this.#sessions.add(session);
    session.start(this.#refusal());
    if (this.#sessions.size > this.#connectionCountMax + refusedAtOnceMax) session.destroy();
  }

  #refusal(): LockstepError | undefined {
    if (this.#stopping) return new LockstepError('ShuttingDown');
    if (this.#sessions.size <= this.#connectionCountMax) return undefined;
    const detail = `at most ${this.#connectionCountMax} connections are served; try again later`;
    return new LockstepError('Overloaded', detail);
  }

  #forget(session: S): void {
    this.#sessions.delete(session);
    if (this.#stopping && this.#sessions.size === 0) this.#emptied.resolve();
  }
}
