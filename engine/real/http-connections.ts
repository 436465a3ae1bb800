/**
 * The connections of one HTTP listener: counted by the service's observer with the cause of their end, let in as long as
 * there is room, answered when what they send is no HTTP, and closed when the listener stops.
 *
 * Where all places are taken, a new connection gets that of the client that is waited for longest: one whose handshake
 * or request is not whole, or that has asked nothing since its last answer; failing these, one that has left its answer
 * unread for a while. So clients that send slowly, or nothing, keep nobody out (nginx, too, reuses such connections).
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

/** An open connection. */
interface OpenConnection {
  /** Why it would be said to close if it did now. */
  cause: Cause;
  /** When its last answer was given, or when it opened: milliseconds on the monotonic clock. */
  sinceMs: number;
}

/** A connection on which TLS has not been agreed yet. */
interface Handshake {
  readonly carrier: Socket;
  readonly sinceMs: number;
}

/** Milliseconds after which an answer that is not taken makes room for another client, where room is needed. */
export const unreadMsMin = 1000;

export class HttpConnections {
  readonly #service: HttpService;
  readonly #tls: TlsIdentity | undefined;
  /** By the client's address. */
  readonly #handshakes = new Map<Address, Handshake>();
  readonly #open = new Map<Socket, OpenConnection>();
  readonly #unread: UnreadAnswers | undefined;
  /** Those that have ever left something unread. */
  readonly #holders = new WeakMap<Socket, AnswerHolder>();
  #stopping = false;
  readonly #empty = new Deferred<void>();

  constructor(service: HttpService, tls: TlsIdentity | undefined, unread: UnreadAnswers | undefined) {
    this.#unread = unread;
    this.#service = service;
    this.#tls = tls;
  }

  /** No more requests are wanted: answers say that the connection closes. */
  get stopping(): boolean {
    return this.#stopping;
  }

  /** A connection whose handshake is to come; it counts as one once that has succeeded. */
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

  /** A connection that TLS has been agreed on. */
  addSecure(socket: Socket): void {
    this.#handshakes.delete(addressOf(socket.remoteAddress, socket.remotePort));
    this.#add(socket);
  }

  /** A connection without TLS. */
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

  /** Whether one more connection may open; another one may have been closed for it. */
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

  /** Its place is free at once. */
  #cut(socket: Socket): void {
    const address = addressOf(socket.remoteAddress, socket.remotePort);
    this.#blame(socket, 'closedHere');
    socket.destroy();
    this.#closed(socket);
    if (this.#handshakes.get(address)?.carrier === socket) this.#handshakes.delete(address);
  }

  /** It is going to be closed for what came of it. */
  condemn(socket: Socket): void {
    this.#blame(socket, 'error');
  }

  /**
   * An answer has been handed over. Where some of it did not leave at once: who takes nothing more for
   * `answerTimeoutMs` is cut off (`silent`). Node starts the time again with whatever the system takes, and sets its own
   * once all answers have left.
   */
  answered(socket: Socket): void {
    const connection = this.#open.get(socket);
    if (connection !== undefined) connection.sinceMs = performance.now();
    this.expectReading(socket);
  }

  expectReading(socket: Socket): void {
    if (socket.writableLength === 0) return;
    socket.setTimeout(this.#service.answerTimeoutMs);
    this.#unread?.written(this.#holders.get(socket) ?? this.#holderOf(socket, this.#unread));
  }

  #holderOf(socket: Socket, unread: UnreadAnswers): AnswerHolder {
    const holder: AnswerHolder = {
      remote: addressOf(socket.remoteAddress, socket.remotePort),
      get unreadBytes() {
        return socket.writableLength;
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

  /** A socket's time is over: of a client that reads nothing, or that asks nothing. */
  silent(socket: Socket): void {
    const answering = responseOn(socket) !== undefined;
    // All that there is of the answer has left, and the rest is still being made.
    if (answering && socket.writableLength === 0) return;
    this.#blame(socket, 'closedHere');
    socket.destroy();
  }

  /** Answers what the HTTP parser or the request's time limit refused, in its turn, and closes. */
  refuse(error: NodeJS.ErrnoException, socket: Socket, turns: HttpTurns): void {
    if (!this.#open.has(socket)) {
      // What was said is no TLS, or no certificate came that is accepted.
      this.#tls?.handshakeFailed();
      socket.destroy();
      return;
    }
    this.#blame(socket, 'error');
    if (socket.writable) turns.breakOff(socket, this.#refusing(socket, statusOf(error), error.message));
    else socket.destroy();
  }

  /** A client asks for a tunnel (CONNECT); node:http hands out its connection and reads it no further. */
  refuseTunnel({ socket, url }: IncomingMessage, turns: HttpTurns): void {
    this.#blame(socket, 'error');
    turns.breakOff(socket, this.#refusing(socket, 501, 'no tunnels are opened here', url));
  }

  #refusing(socket: Socket, status: number, reason: string, url?: string): Refuse {
    return (response) => {
      const target = response?.req.url ?? url;
      const path = target === undefined ? undefined : pathOf(target);
      if (response?.headersSent === true) {
        // Its answer was begun before its body was whole: nothing can be said behind it.
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
   * The listener stops: connections that have not asked anything yet go now, the others after their answer. Resolves
   * when all are closed and counted.
   */
  stop(): Promise<void> {
    this.#stopping = true;
    for (const socket of this.#open.keys()) {
      this.#blame(socket, 'closedHere');
      if (socket.bytesRead === 0) socket.destroy();
    }
    // Who has not agreed on TLS yet has asked nothing.
    for (const { carrier } of this.#handshakes.values()) carrier.destroy();
    this.#settleWhenEmpty();
    return this.#empty.promise;
  }

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

/** Nothing is being answered on it: its next request has not begun, or is not whole. */
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
    // Chunked is not the last coding, so the body's end is not known; no coding but chunked is understood.
    case 'HPE_INVALID_TRANSFER_ENCODING':
      return 501;
    default:
      return 400;
  }
}

/** The bytes of a refusal, which is never made while it is sent. */
function wholeBody(body: HttpBody): Uint8Array {
  if (typeof body === 'string') return Buffer.from(body);
  return body instanceof Uint8Array ? body : Buffer.alloc(0);
}

/** The answer to a request whose body turns out to be none. Node closes the connection behind it. */
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
