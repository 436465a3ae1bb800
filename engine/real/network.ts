/**
 * The network door on the machine: TCP through node:net, without Nagle's delay, half-open allowed, and probed by the
 * system when silent for a minute (so that connections to hosts that are gone do not stay for ever).
 */
import { connect, createServer } from 'node:net';
import type { Server, Socket } from 'node:net';
import { Deferred } from '../base/deferred.ts';
import type { Address, ConnectFailure, Connection, Listener, Network } from '../io/network.ts';
import { ConnectError, ListenError } from '../io/network.ts';
import { addressOf, hostPortOf } from './address.ts';
import { RealConnection, TurnEnd } from './connection.ts';

const manners = { allowHalfOpen: true, noDelay: true, keepAlive: true, keepAliveInitialDelay: 60_000 };

export class RealNetwork implements Network {
  readonly #turnEnd = new TurnEnd();

  async listen(address: Address, onConnection: (connection: Connection) => void): Promise<Listener> {
    const server = createServer(manners, (socket) => {
      const remote = addressOf(socket.remoteAddress, socket.remotePort);
      onConnection(new RealConnection(socket, remote, this.#turnEnd));
    });
    const listening = await listenOn(server, address);
    return { address: listening, close: () => closeListener(server) };
  }

  async connect(address: Address, timeoutUs: number): Promise<Connection> {
    const socket = connect({ ...hostPortOf(address), ...manners });
    await connected(socket, address, timeoutUs);
    return new RealConnection(socket, address, this.#turnEnd);
  }
}

/** Listens with any of node's servers; resolves with the real address. Rejects with `ListenError`. */
export async function listenOn(server: Server, address: Address): Promise<Address> {
  const { host, port } = hostPortOf(address);
  const listening = new Deferred<void>();
  // Once it listens, an error is a failure to accept one connection: that client sees it, nobody else need.
  server.on('error', (error) => {
    listening.reject(new ListenError(`listening on ${address}: ${error.message}`, { cause: error }));
  });
  server.listen({ host, port }, () => listening.resolve());
  await listening.promise;
  const bound = server.address();
  return bound === null || typeof bound === 'string' ? address : addressOf(host, bound.port);
}

/** The address is free as soon as node has closed the descriptor; its callback would wait for all connections. */
async function closeListener(server: Server): Promise<void> {
  server.close();
  const freed = new Deferred<void>();
  setImmediate(() => freed.resolve());
  await freed.promise;
}

async function connected(socket: Socket, address: Address, timeoutUs: number): Promise<void> {
  const outcome = new Deferred<void>();
  const fail = (failure: ConnectFailure): void => outcome.reject(new ConnectError(failure, address));
  const onError = (error: NodeJS.ErrnoException): void => fail(failureOf(error));
  const timer = setTimeout(() => fail('timedOut'), Math.ceil(timeoutUs / 1000));
  // Kept after a failure: a second error (another of the host's addresses) must find a listener.
  socket.on('error', onError);
  socket.on('connect', () => outcome.resolve());
  try {
    await outcome.promise;
  } catch (error) {
    socket.destroy();
    throw error;
  } finally {
    clearTimeout(timer);
  }
  socket.removeListener('error', onError);
}

function failureOf(error: NodeJS.ErrnoException): ConnectFailure {
  if (error.code === 'ECONNREFUSED' || error.code === 'ECONNRESET') return 'refused';
  return error.code === 'ETIMEDOUT' ? 'timedOut' : 'unreachable';
}
