/**
 * Tracks the connections of one HTTP listener: admits them up to a limit, reports their opening and closing cause to
 * the service's observer, answers input that is not HTTP, and closes them when the listener stops.
 *
 * At the limit a new connection replaces the client that has kept the listener waiting longest. That is a client whose
 * handshake or request is incomplete, or that has sent nothing since its last answer. Failing these, it is one that has
 * left its answer unread for a while. Slow and silent clients thus do not exclude others (nginx reuses connections
 * likewise).
 */
import { STATUS_CODES } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { addressOf } from './address.ts';
import type { HttpTurns, Refuse } from './http-turns.ts';
import { responseOn } from './http-turns.ts';
import type { TlsIdentity } from './tls.ts';
import type { AnswerHolder, UnreadAnswers } from './unread-answers.ts';
import { Deferred } from '../base/deferred.ts';
import { pathOf } from '../io/http-head.ts';
import type { HttpBody, HttpResponse, HttpService } from '../io/http.ts';
import type { Address } from '../io/network.ts';

type Cause = 'eof' | 'error' | 'closedHere';

/** State of an open connection. */
interface OpenConnection {
  /** The cause that would be reported if it closed now. */
  cause: Cause;
  /** When its last answer was given, or when it opened: milliseconds on the monotonic clock. */
  sinceMs: number;
}

/** A connection whose TLS handshake is not complete. */
interface Handshake {
  readonly carrier: Socket;
  readonly sinceMs: number;
}

/** Milliseconds for which an answer must be unread before its connection may be replaced by a new one. */
export const unreadMsMin = 1000;

/** The connections of one listener. */
export class HttpConnections {
  readonly #service: HttpService;
  readonly #tls: TlsIdentity | undefined;
  /** Keyed by the client's address. */
  readonly #handshakes = new Map<Address, Handshake>();
  readonly #open = new Map<Socket, OpenConnection>();
  readonly #unread: UnreadAnswers | undefined;
  /** Counting records of connections that have ever left bytes unread. */
  readonly #holders = new WeakMap<Socket, Holder>();
  #stopping = false;
  readonly #empty = new Deferred<void>();

  constructor(service: HttpService, tls: TlsIdentity | undefined, unread: UnreadAnswers | undefined) {
    this.#unread = unread;
    this.#service = service;
    this.#tls = tls;
  }

  /** Whether the listener is stopping: further answers announce that the connection closes. */
  get stopping(): boolean {
    return this.#stopping;
  }

  /** Admits a connection whose handshake is to come; it counts as open once the handshake has succeeded. */
  greet(carrier: Socket): void {
    if (!this.#makeRoom()) {
      carrier.destroy();
      return;
    }
    const address = addressOf(carrier.remoteAddress, carrier.remotePort);
    const handshake = { carrier, sinceMs: performance.now() };
    this.#handshakes.set(address, handshake);
    carrier.once('close', () => {
      if (this.#handshakes.get(address) === handshake) this.#handshakes.delete(address);
    });
  }

  /** Adds a connection whose TLS handshake has succeeded. */
  addSecure(socket: Socket): void {
    this.#handshakes.delete(addressOf(socket.remoteAddress, socket.remotePort));
    this.#add(socket);
  }

  /** Adds a connection without TLS. */
  addPlain(socket: Socket): void {
    if (this.#makeRoom()) this.#add(socket);
    else socket.destroy();
  }

  #add(socket: Socket): void {
    this.#open.set(socket, { cause: 'eof', sinceMs: performance.now() });
    this.#service.observer.opened();
    socket.on('error', () => this.#blame(socket, 'error'));
    socket.on('close', () => this.#closed(socket));
  }

  #closed(socket: Socket): void {
    const connection = this.#open.get(socket);
    if (connection === undefined) return;
    this.#open.delete(socket);
    this.#service.observer.closed(connection.cause);
    this.#settleWhenEmpty();
  }

  /** Whether one more connection may open. Closes another one for it if necessary. */
  #makeRoom(): boolean {
    if (this.#open.size + this.#handshakes.size < this.#service.connectionCountMax) return true;
    const nowMs = performance.now();
    let waitedFor: Socket | undefined;
    let unread: Socket | undefined;
    let waitedSinceMs = nowMs;
    let unreadSinceMs = nowMs - unreadMsMin;
    for (const { carrier, sinceMs } of this.#handshakes.values()) {
      if (sinceMs > waitedSinceMs) continue;
      waitedFor = carrier;
      waitedSinceMs = sinceMs;
    }
    for (const [socket, { sinceMs }] of this.#open) {
      if (isWaitedFor(socket)) {
        if (sinceMs > waitedSinceMs) continue;
        waitedFor = socket;
        waitedSinceMs = sinceMs;
      } else if (socket.writableLength > 0 && sinceMs <= unreadSinceMs) {
        unread = socket;
        unreadSinceMs = sinceMs;
      }
    }
    const least = waitedFor ?? unread;
    if (least === undefined) return false;
    this.#cut(least);
    return true;
  }

  /** Closes a connection and frees its place at once. */
  #cut(socket: Socket): void {
    const address = addressOf(socket.remoteAddress, socket.remotePort);
    this.#blame(socket, 'closedHere');
    socket.destroy();
    this.#closed(socket);
    if (this.#handshakes.get(address)?.carrier === socket) this.#handshakes.delete(address);
  }

  /** Marks a connection that will be closed because of what the client sent. */
  condemn(socket: Socket): void {
    this.#blame(socket, 'error');
  }

  /**
   * An answer has been handed over. If some of it did not leave at once, a client that takes nothing more for
   * `answerTimeoutMs` is disconnected (`silent`). Node restarts that time whenever the system takes bytes, and sets its
   * own timeout once all answers have left.
   */
  answered(socket: Socket): void {
    const connection = this.#open.get(socket);
    if (connection !== undefined) connection.sinceMs = performance.now();
    this.expectReading(socket);
  }

  /** Starts the answer timeout if bytes are pending on the socket. `restBytes`: those of a whole body that follow. */
  expectReading(socket: Socket, restBytes?: number): void {
    const known = this.#holders.get(socket);
    // Even if all bytes have left: the rest has shrunk, and the connection's next answer must not count it again.
    if (known !== undefined && restBytes !== undefined) known.restBytes = restBytes;
    if (socket.writableLength === 0) return;
    socket.setTimeout(this.#service.answerTimeoutMs);
    if (this.#unread === undefined) return;
    const holder = known ?? this.#holderOf(socket, this.#unread);
    holder.restBytes = restBytes ?? holder.restBytes;
    this.#unread.written(holder);
  }

  #holderOf(socket: Socket, unread: UnreadAnswers): Holder {
    const holder: Holder = {
      remote: addressOf(socket.remoteAddress, socket.remotePort),
      restBytes: 0,
      get unreadBytes() {
        return socket.writableLength + this.restBytes;
      },
      cut: () => {
        this.#blame(socket, 'closedHere');
        socket.destroy();
      },
    };
    this.#holders.set(socket, holder);
    socket.on('drain', () => unread.forget(holder)).on('close', () => unread.forget(holder));
    return holder;
  }

  /** The socket's timeout has passed: the client reads nothing or sends nothing. */
  silent(socket: Socket): void {
    const answering = responseOn(socket) !== undefined;
    // Everything produced so far has left; the rest of the answer is still being made.
    if (answering && socket.writableLength === 0) return;
    this.#blame(socket, 'closedHere');
    socket.destroy();
  }

  /**
   * Answers input that the HTTP parser or the request's time limit refused, after the preceding answers, and closes.
   */
  refuse(error: NodeJS.ErrnoException, socket: Socket, turns: HttpTurns): void {
    if (!this.#open.has(socket)) {
      // The input is not TLS, or the client showed no acceptable certificate.
      this.#tls?.handshakeFailed();
      socket.destroy();
      return;
    }
    this.#blame(socket, 'error');
    if (socket.writable) turns.breakOff(socket, this.#refusing(socket, statusOf(error), error.message));
    else socket.destroy();
  }

  /** Refuses a request for a tunnel (CONNECT), whose connection node:http hands out and reads no further. */
  refuseTunnel({ socket, url }: IncomingMessage, turns: HttpTurns): void {
    this.#blame(socket, 'error');
    turns.breakOff(socket, this.#refusing(socket, 501, 'no tunnels are opened here', url));
  }

  #refusing(socket: Socket, status: number, reason: string, url?: string): Refuse {
    return (response) => {
      const target = response?.req.url ?? url;
      const path = target === undefined ? undefined : pathOf(target);
      if (response?.headersSent === true) {
        // The answer was begun before the whole body arrived: nothing can follow it.
        if (response.writableFinished) socket.destroySoon();
        else response.once('finish', () => socket.destroySoon());
        return;
      }
      if (!socket.writable) {
        socket.destroy();
        return;
      }
      const answer = this.#service.refused(status, reason, path);
      if (response !== undefined) answerLast(response, answer);
      else {
        socket.write(rawAnswer(status, answer));
        socket.destroySoon();
      }
    };
  }

  /**
   * Stops the listener: closes connections without a request now, the others after their answer. Resolves when all are
   * closed and reported.
   */
  stop(): Promise<void> {
    this.#stopping = true;
    for (const socket of this.#open.keys()) {
      this.#blame(socket, 'closedHere');
      if (socket.bytesRead === 0) socket.destroy();
    }
    // A client that has not completed its handshake has no request.
    for (const { carrier } of this.#handshakes.values()) carrier.destroy();
    this.#settleWhenEmpty();
    return this.#empty.promise;
  }

  /** Closes every connection now; called when the drain time is over. */
  destroyAll(): void {
    for (const socket of this.#open.keys()) socket.destroy();
  }

  #settleWhenEmpty(): void {
    if (this.#stopping && this.#open.size === 0) this.#empty.resolve();
  }

  #blame(socket: Socket, cause: Cause): void {
    const connection = this.#open.get(socket);
    if (connection?.cause === 'eof') connection.cause = cause;
  }
}

/** A connection whose client has bytes to take. */
interface Holder extends AnswerHolder {
  /** Those of a body that is handed over in parts and are not handed over yet. */
  restBytes: number;
}

/** Whether the listener waits for the client: no answer is due, and the next request is absent or incomplete. */
function isWaitedFor(socket: Socket): boolean {
  const response = responseOn(socket);
  if (response === undefined) return socket.writableLength === 0;
  return !response.headersSent && !response.req.complete;
}

function statusOf({ code }: NodeJS.ErrnoException): number {
  switch (code) {
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return 408;
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return 413;
    case 'HPE_HEADER_OVERFLOW':
      return 431;
    // The last coding is not `chunked`, so the end of the body is unknown; only `chunked` is supported.
    case 'HPE_INVALID_TRANSFER_ENCODING':
      return 501;
    default:
      return 400;
  }
}

/** The bytes of a refusal's body, which is never a stream. */
function wholeBody(body: HttpBody): Uint8Array {
  if (typeof body === 'string') return Buffer.from(body);
  return body instanceof Uint8Array ? body : Buffer.alloc(0);
}

/** Answers a request whose body turned out to be malformed. Node closes the connection afterwards. */
function answerLast(response: ServerResponse, answer: HttpResponse): void {
  const body = wholeBody(answer.body);
  const headers = { ...answer.headers, 'Content-Length': body.length, Connection: 'close' };
  response.writeHead(answer.status, headers);
  response.end(body);
}

function rawAnswer(status: number, answer: HttpResponse): Buffer {
  const body = wholeBody(answer.body);
  const headers = Object.entries(answer.headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n`,
    ...headers,
    `Content-Length: ${body.length}\r\nConnection: close\r\n\r\n`,
  ];
  return Buffer.concat([Buffer.from(head.join(''), 'latin1'), body]);
}
