/**
 * Follows the connections of the clients to processes, and counts what they asked and were answered: with the observers
 * that count for `metrics-reconcile` in the world, from the same bytes at the clients' end.
 */
import type { Address, CloseReason, Connection, Network } from '../../engine/io/network.ts';
import type { IncarnationAccount } from '../check/metrics/reconcile/account.ts';
import { ClientObserver } from '../observe/client-observer.ts';
import { ListenerObserver } from '../observe/listener-observer.ts';
import { RedisObserver } from '../observe/redis-observer.ts';
import type { ClusterPort } from '../world/cluster/node-config.ts';

/** Where a client connects to: a listener of a node's present process. */
export interface WireEnd {
  readonly node: string;
  readonly life: number;
  readonly port: ClusterPort;
}

/** What clients asked of one process, and what it answered. */
export interface ClientsTruth extends Pick<IncarnationAccount['truth'], 'clients' | 'redis' | 'listener'> {
  /** Connections that a client gave up while it made them: the process may have accepted them. */
  readonly failedConnects: number;
}

interface Observers {
  readonly clients: ClientObserver;
  readonly redis: RedisObserver;
  readonly listener: ListenerObserver;
  /** Connections that a client gave up while it made them. */
  failedConnects: number;
}

interface Told {
  heard(id: number, bytes: Uint8Array): void;
  wrote(id: number, bytes: Uint8Array): void;
  toldEnd(id: number): void;
  left(id: number): void;
  closed(id: number, reason: CloseReason): void;
}

/** A longest frame of no consequence: no client of a plan sends a longer one. */
const frameBytesMax = 64 * 1024 * 1024;

/** The connections of all clients of one run. */
export class ClientWire {
  readonly #endOf: (address: Address) => WireEnd | undefined;
  readonly #lives = new Map<string, Observers>();
  #count = 0;

  /** `endOf`: which listener an address is, now. */
  constructor(endOf: (address: Address) => WireEnd | undefined) {
    this.#endOf = endOf;
  }

  /** The network with its connections followed. */
  over(network: Network): Network {
    return {
      listen: (address, onConnection) => network.listen(address, onConnection),
      connect: async (address, timeoutUs) => {
        const end = this.#endOf(address);
        try {
          const connection = await network.connect(address, timeoutUs);
          return end === undefined ? connection : this.#followed(connection, end);
        } catch (error) {
          // A paused node may have accepted it all the same, and counts it as broken.
          if (end !== undefined) this.#observersOf(end).failedConnects += 1;
          throw error;
        }
      },
    };
  }

  /** What clients asked of a process of a node; undefined if none connected. */
  truthOf(node: string, life: number): ClientsTruth | undefined {
    const observers = this.#lives.get(`${node} ${life}`);
    if (observers === undefined) return undefined;
    const mortal = [...this.#lives.values()].some(({ redis }) => redis.mortal);
    const flushes = [...this.#lives.values()].some(({ redis }) => redis.flushes);
    return {
      clients: observers.clients.truth,
      redis: observers.redis.truth(mortal, flushes),
      listener: observers.listener.truth,
      failedConnects: observers.failedConnects,
    };
  }

  #followed(connection: Connection, end: WireEnd): Connection {
    const id = (this.#count += 1);
    const told = this.#opened(id, end);
    return {
      remote: connection.remote,
      get pendingBytes() {
        return connection.pendingBytes;
      },
      start: (handler) =>
        connection.start({
          onData: (chunk) => {
            told.wrote(id, Buffer.from(chunk));
            handler.onData(chunk);
          },
          onDrain: () => handler.onDrain(),
          onEnd: () => handler.onEnd(),
          onClose: (reason) => {
            // A client that leaves ends its side; the node sees the end of the stream.
            told.toldEnd(id);
            told.left(id);
            told.closed(id, reason);
            handler.onClose(reason);
          },
        }),
      write: (bytes, owner) => {
        told.heard(id, Buffer.from(bytes));
        return connection.write(bytes, owner);
      },
      setPatience: (us) => connection.setPatience(us),
      pause: () => connection.pause(),
      resume: () => connection.resume(),
      end: () => connection.end(),
      destroy: () => connection.destroy(),
    };
  }

  #observersOf({ node, life }: WireEnd): Observers {
    const name = `${node} ${life}`;
    const observers = this.#lives.get(name) ?? {
      clients: new ClientObserver(frameBytesMax),
      redis: new RedisObserver(),
      listener: new ListenerObserver(),
      failedConnects: 0,
    };
    this.#lives.set(name, observers);
    return observers;
  }

  #opened(id: number, end: WireEnd): Told {
    const { port } = end;
    const { clients, redis, listener } = this.#observersOf(end);
    if (port === 'redis') {
      redis.opened(id);
      return redis;
    }
    if (port === 'stats') {
      listener.opened(id);
      return listener;
    }
    clients.opened(id, port === 'http');
    return clients;
  }
}
