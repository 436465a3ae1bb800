/** The Redis protocol's listener, and what its sessions share. */
import { textOf } from '../../base/ids.ts';
import { ClientServer } from '../session/client-server.ts';
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
export class RedisServer extends ClientServer<Session> {
  /** The queue of each key's writes; the reaper uses it, too. */
  readonly turns: KeyQueue;

  constructor(parts: RedisDependencies, limits: RedisLimits, keyspace: Keyspace) {
    let nextId = 1;
    super(
      parts.io,
      limits.connectionCountMax,
      (connection, onOver) => new Session(dependencies, connection, nextId++, onOver),
    );
    this.turns = new KeyQueue(parts);
    const dependencies: SessionDependencies = {
      parts,
      limits,
      turns: this.turns,
      batches: new Batches(parts),
      keyspace,
      listener: listenerState(parts, this),
    };
  }
}

function listenerState(
  { io, serverInfo, bucket }: RedisDependencies,
  server: Pick<RedisServer, 'sessions'>,
): ListenerState {
  return {
    node: serverInfo.node,
    productVersion: serverInfo.version,
    bucket: textOf(bucket),
    startedUs: io.clock.nowUs(),
    nowUs: () => io.clock.nowUs(),
    *connections(): Generator<ConnectionState, void, undefined> {
      for (const session of server.sessions) yield session.state;
    },
  };
}
