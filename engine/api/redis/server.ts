/** The Redis protocol's listener: accepts connections up to a limit, gives each a session, and closes them in order. */
import { Deferred } from '../../base/deferred.ts';
import { LockstepError } from '../../base/errors.ts';
import { textOf } from '../../base/ids.ts';
import type { Address, Connection, Listener } from '../../io/network.ts';
import { refusedAtOnceMax } from '../session/lingering-close.ts';
import { Batches } from './batches.ts';
import type { ConnectionState, ListenerState } from './connection-commands.ts';
import type { Keyspace } from './keyspace.ts';
import type { RedisDependencies } from './listener-dependencies.ts';
import type { SessionLimits, SessionDependencies } from './session-dependencies.ts';
import { Session } from './session.ts';
import { KeyQueue } from './key-queue.ts';

/** Limits of the listener and of each session. */
export interface RedisLimits extends SessionLimits {
  /** The most open connections. Further ones get an error and are closed. */
  readonly connectionCountMax: number;
}

/** The listener of one node. */
export class RedisServer {
  readonly #parts: RedisDependencies;
  readonly #limits: RedisLimits;
  readonly #dependencies: SessionDependencies;
  readonly #sessions = new Set<Session>();
  #listener: Listener | undefined;
  #nextId = 1;
  #stopping = false;
  /** Resolved when the last connection of a stopping server has closed. */
  readonly #emptied = new Deferred<void>();

  constructor(parts: RedisDependencies, limits: RedisLimits, keyspace: Keyspace) {
    this.#parts = parts;
    this.#limits = limits;
    this.#dependencies = {
      parts,
      limits,
      turns: new KeyQueue(parts),
      batches: new Batches(parts),
      keyspace,
      listener: this.#listenerState(),
    };
  }

  /** The queue of each key's writes; the reaper uses it, too. */
  get turns(): KeyQueue {
    return this.#dependencies.turns;
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
   * Accepts no more connections or commands. Commands under way are answered for at most `drainMs` milliseconds; then
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
    const session = new Session(this.#dependencies, connection, this.#nextId++, (over) => this.#forget(over));
    this.#sessions.add(session);
    session.start(this.#refusal());
    if (this.#sessions.size > this.#limits.connectionCountMax + refusedAtOnceMax) session.destroy();
  }

  #refusal(): LockstepError | undefined {
    if (this.#stopping) return new LockstepError('ShuttingDown');
    const { connectionCountMax } = this.#limits;
    if (this.#sessions.size <= connectionCountMax) return undefined;
    return new LockstepError('Overloaded', `at most ${connectionCountMax} connections are served`);
  }

  #forget(session: Session): void {
    this.#sessions.delete(session);
    if (this.#stopping && this.#sessions.size === 0) this.#emptied.resolve();
  }

  #listenerState(): ListenerState {
    const { io, serverInfo, bucket } = this.#parts;
    const sessions = this.#sessions;
    return {
      node: serverInfo.node,
      productVersion: serverInfo.version,
      bucket: textOf(bucket),
      startedUs: io.clock.nowUs(),
      nowUs: () => io.clock.nowUs(),
      *connections(): Generator<ConnectionState, void, undefined> {
        for (const session of sessions) yield session.state;
      },
    };
  }
}
