/**
 * The network door on the machine: TCP through node:net, without Nagle's delay, half-open allowed, and probed by the
 * system when silent for a minute (so that connections to hosts that are gone do not stay for ever). With a certificate
 * the same over TLS: a connection is one when its handshake has succeeded, and nobody above hears of the others.
 */
import { connect, createServer } from 'node:net';
import type { Server, Socket } from 'node:net';
import { connect as secureConnect, createServer as createSecureServer } from 'node:tls';
import { Deferred } from '../base/deferred.ts';
import type { Address, ConnectFailure, Connection, Listener, Network } from '../io/network.ts';
import { ConnectError, ListenError } from '../io/network.ts';
import { addressOf, hostPortOf } from './address.ts';
import { RealConnection, TurnEnd } from './connection.ts';
import type { TlsIdentity } from './tls.ts';
import type { UnreadAnswers } from './unread-answers.ts';

const manners = { allowHalfOpen: true, noDelay: true, keepAlive: true, keepAliveInitialDelay: 60_000 };

export class RealNetwork implements Network {
  readonly #turnEnd = new TurnEnd();
  readonly #tls: TlsIdentity | undefined;

  readonly #unread: UnreadAnswers | undefined;

  constructor(tls?: TlsIdentity, unread?: UnreadAnswers) {
    this.#tls = tls;
    this.#unread = unread;
  }

  async listen(address: Address, onConnection: (connection: Connection) => void): Promise<Listener> {
    let closed = false;
    const accept = (socket: Socket): void => {
      // Its handshake was under way when the listener closed.
      if (closed) {
        socket.destroy();
        return;
      }
      const remote = addressOf(socket.remoteAddress, socket.remotePort);
      onConnection(new RealConnection(socket, remote, this.#turnEnd, this.#unread));
    };
    const server = this.#tls === undefined ? createServer(manners, accept) : secureServer(this.#tls, accept);
    const listening = await listenOn(server, address);
    return {
      address: listening,
      close: () => {
        closed = true;
        return closeListener(server);
      },
    };
  }

  async connect(address: Address, timeoutUs: number): Promise<Connection> {
    const target = { ...hostPortOf(address), ...manners };
    const tls = this.#tls;
    if (tls === undefined) {
      const socket = connect(target);
      await connected(socket, 'connect', address, timeoutUs);
      return new RealConnection(socket, address, this.#turnEnd);
    }
    const socket = secureConnect({ ...tls.clientOptions(), ...target });
    const story = { reached: false };
    socket.once('connect', () => (story.reached = true));
    try {
      await connected(socket, 'secureConnect', address, timeoutUs);
    } catch (error) {
      if (story.reached) tls.handshakeFailed();
      throw error;
    }
    return new RealConnection(socket, address, this.#turnEnd);
  }
}

function secureServer(tls: TlsIdentity, accept: (socket: Socket) => void): Server {
  const server = createSecureServer({ ...manners, ...tls.serverOptions() }, accept);
  const forget = tls.follow(server);
  server.once('close', forget);
  server.on('tlsClientError', (_error, socket) => {
    tls.handshakeFailed();
    socket.destroy();
  });
  return server;
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

async function connected(
  socket: Socket,
  event: 'connect' | 'secureConnect',
  address: Address,
  timeoutUs: number,
): Promise<void> {
  const outcome = new Deferred<void>();
  const fail = (failure: ConnectFailure): void => outcome.reject(new ConnectError(failure, address));
  const onError = (error: NodeJS.ErrnoException): void => fail(failureOf(error));
  const timer = setTimeout(() => fail('timedOut'), Math.ceil(timeoutUs / 1000));
  // Kept after a failure: a second error (another of the host's addresses) must find a listener.
  socket.on('error', onError);
  socket.on(event, () => outcome.resolve());
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
