/**
 * The network port on a machine: TCP through node:net, without Nagle's delay, half-open allowed, and probed by the
 * system after a minute of silence, so that connections to dead hosts end.
 *
 * With a certificate the connections use TLS. A connection is reported once its handshake has succeeded; failed
 * handshakes are only counted (`TlsIdentity.failedHandshakes`).
 */
import { connect, createServer } from 'node:net';
import type { Server, Socket } from 'node:net';
import { connect as secureConnect, createServer as createSecureServer } from 'node:tls';
import { Deferred } from '../base/deferred.ts';
import { LockstepError } from '../base/errors.ts';
import type { Address, ConnectFailure, Connection, Listener, Network } from '../io/network.ts';
import { ConnectError, ListenError } from '../io/network.ts';
import type { HostPort } from './address.ts';
import { addressOf, hostPortOf } from './address.ts';
import { RealConnection, TurnEnd } from './connection.ts';
import type { TlsIdentity } from './tls.ts';
import type { UnreadAnswers } from './unread-answers.ts';

const socketOptions = { allowHalfOpen: true, noDelay: true, keepAlive: true, keepAliveInitialDelay: 60_000 };

/** The machine's network, for clients or for peers. */
export class RealNetwork implements Network {
  readonly #turnEnd = new TurnEnd();
  readonly #tls: TlsIdentity | undefined;

  readonly #unread: UnreadAnswers | undefined;

  /** `tls`: encrypts all connections. `unread`: counts pending bytes of accepted connections that have patience. */
  constructor(tls?: TlsIdentity, unread?: UnreadAnswers) {
    this.#tls = tls;
    this.#unread = unread;
  }

  async listen(address: Address, onConnection: (connection: Connection) => void): Promise<Listener> {
    let closed = false;
    const accept = (socket: Socket): void => {
      // The listener was closed during this connection's handshake.
      if (closed) {
        socket.destroy();
        return;
      }
      const remote = addressOf(socket.remoteAddress, socket.remotePort);
      onConnection(new RealConnection(socket, remote, this.#turnEnd, this.#unread));
    };
    const server =
      this.#tls === undefined ? createServer(socketOptions, accept) : secureServer(this.#tls, accept);
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
    const target = { ...targetOf(address), ...socketOptions };
    const tls = this.#tls;
    if (tls === undefined) {
      const socket = connect(target);
      await connected(socket, 'connect', address, timeoutUs);
      return new RealConnection(socket, address, this.#turnEnd);
    }
    const socket = secureConnect({ ...tls.clientOptions(), ...target });
    const progress = { reached: false };
    socket.once('connect', () => (progress.reached = true));
    try {
      await connected(socket, 'secureConnect', address, timeoutUs);
    } catch (error) {
      if (!progress.reached || !(error instanceof ConnectError)) throw error;
      tls.handshakeFailed();
      const { failure, cause } = error;
      throw new ConnectError(failure, address, cause instanceof Error ? cause.message : 'no answer in time');
    }
    return new RealConnection(socket, address, this.#turnEnd);
  }
}

/** Where to connect to. Throws `ConnectError` for text that is not an address. */
function targetOf(address: Address): HostPort {
  try {
    return hostPortOf(address);
  } catch (error) {
    if (error instanceof LockstepError) throw new ConnectError('unreachable', address);
    throw error;
  }
}

function secureServer(tls: TlsIdentity, accept: (socket: Socket) => void): Server {
  const server = createSecureServer({ ...socketOptions, ...tls.serverOptions() }, accept);
  const forget = tls.follow(server);
  server.once('close', forget);
  server.on('tlsClientError', (_error, socket) => {
    tls.handshakeFailed();
    socket.destroy();
  });
  return server;
}

/** Listens with any of Node's servers. Resolves with the actual address; rejects with `ListenError`. */
export async function listenOn(server: Server, address: Address): Promise<Address> {
  const { host, port } = hostPortOf(address);
  const listening = new Deferred<void>();
  // Once the server listens, an error concerns a single connection that could not be accepted; its client sees it.
  server.on('error', (error) => {
    listening.reject(new ListenError(`listening on ${address}: ${error.message}`, { cause: error }));
  });
  server.listen({ host, port }, () => listening.resolve());
  await listening.promise;
  const bound = server.address();
  return bound === null || typeof bound === 'string' ? address : addressOf(host, bound.port);
}

/** Frees the address: Node closes the descriptor at once, but calls back only when all connections are closed. */
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
  const fail = (failure: ConnectFailure, cause?: Error): void =>
    outcome.reject(Object.assign(new ConnectError(failure, address), { cause }));
  const onError = (error: NodeJS.ErrnoException): void => fail(failureOf(error), error);
  const timer = setTimeout(() => fail('timedOut'), Math.ceil(timeoutUs / 1000));
  // Stays attached after a failure: a second error (from another of the host's addresses) needs a listener.
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
