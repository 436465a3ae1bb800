/** The Redis protocol's listener, and what its sessions share. */
import type { ByteString } from '../../base/ids.ts';
import { textOf } from '../../base/ids.ts';
import { ClientServer } from '../session/client-server.ts';
import { Batches } from './batches.ts';
import type { ConnectionState, ListenerState } from './connection-commands.ts';
import { bucketOfDatabase, databaseCount } from './databases.ts';
import type { ListKeys } from './keyspace.ts';
import { Keyspace } from './keyspace.ts';
import type { RedisDependencies } from './listener-dependencies.ts';
import type { Publications } from './messages/publications.ts';
import type { Database, SessionLimits, SessionDependencies } from './session-dependencies.ts';
import { Session } from './session.ts';
import { KeyQueue } from './key-queue.ts';
import { KeyReads } from './key-reads.ts';
import { Settlement } from './settlement.ts';

/** Limits of the listener and of each session. */
export interface RedisLimits extends SessionLimits {
  /** The most open connections. Further ones get an error and are closed. */
  readonly connectionCountMax: number;
}

/** The listener of one node. */
export class RedisServer extends ClientServer<Session> {
  /** The queue of each key's writes; the reaper uses it, too. */
  readonly turns: KeyQueue;

  /**
   * `parts` have the bucket of database 0; `listOf` lists the keys of a bucket. `admit` throws a definite error while
   * this node takes no messages and subscriptions of clients.
   */
  constructor(
    parts: RedisDependencies,
    limits: RedisLimits,
    listOf: (bucket: ByteString) => ListKeys,
    publications: Publications,
    admit: () => void,
  ) {
    let nextId = 1;
    super(
      parts.io,
      limits.connectionCountMax,
      (connection, onOver) => new Session(dependencies, connection, nextId++, onOver),
    );
    const settlement = new Settlement(parts.io);
    this.turns = new KeyQueue(parts, settlement);
    const dependencies: SessionDependencies = {
      parts,
      limits,
      turns: this.turns,
      reads: new KeyReads(parts, settlement),
      settlement,
      databases: Array.from({ length: databaseCount }, (_, index): Database => {
        const bucket = bucketOfDatabase(parts.bucket, index);
        const own = { ...parts, bucket };
        return { parts: own, batches: new Batches(own), keyspace: new Keyspace(own, listOf(bucket)) };
      }),
      listener: listenerState(parts, limits, this),
      ...{ publications, admit },
    };
  }
}

function listenerState(
  { io, serverInfo, bucket, scripts, terms, limits: { valueBytesMax } }: RedisDependencies,
  { connectionCountMax, subscriberBytesMax }: RedisLimits,
  server: Pick<RedisServer, 'sessions'>,
): ListenerState {
  return {
    databaseCount,
    scripts,
    settings: new Map([
      ['appendfsync', 'always'],
      ['appendonly', 'yes'],
      ['client-output-buffer-limit', `pubsub ${subscriberBytesMax} ${Math.floor(subscriberBytesMax / 4)} 60`],
      ['databases', String(databaseCount)],
      ['maxclients', String(connectionCountMax)],
      ['maxmemory', '0'],
      ['maxmemory-policy', 'noeviction'],
      ['proto-max-bulk-len', String(valueBytesMax)],
      ['save', ''],
      ['timeout', '0'],
    ]),
    acknowledgingReplicas: () =>
      terms.writeLevel === 'DC_ONE' ? 0 : Math.floor(Math.max(1, terms.replicaCount()) / 2),
    wallMs: () => io.clock.wallMs(),
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
