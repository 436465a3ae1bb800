/**
 * The connections of one HTTP listener: counted by the service's observer with the cause of their end, answered when
 * what they send is no HTTP, and closed when the listener stops.
 */
import { ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { addressOf } from './address.ts';
import { pathOf } from './http-request.ts';
import type { TlsIdentity } from './tls.ts';
import type { AnswerHolder, UnreadAnswers } from './unread-answers.ts';
import { Deferred } from '../base/deferred.ts';
import type { HttpBody, HttpResponse, HttpService } from '../io/http.ts';

type Cause = 'eof' | 'error' | 'closedHere';

export class HttpConnections {
  readonly #service: HttpService;
  readonly #tls: TlsIdentity | undefined;
  /** Connections that TLS has not been agreed on, or that carry one on which it has. */
  readonly #carriers = new Set<Socket>();
  /** Open connections, and why each would be said to close if it did now. */
  readonly #open = new Map<Socket, Cause>();
  /** Those whose last answer is a refusal: what else comes of them is not looked at. */
  readonly #refused = new WeakSet<Socket>();
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
    this.#carriers.add(carrier);
    carrier.once('close', () => this.#carriers.delete(carrier));
  }

  add(socket: Socket): void {
    this.#open.set(socket, 'eof');
    this.#service.observer.opened();
    socket.on('error', () => this.#blame(socket, 'error'));
    socket.on('close', () => {
      const cause = this.#open.get(socket) ?? 'error';
      this.#open.delete(socket);
      this.#service.observer.closed(cause);
      this.#settleWhenEmpty();
    });
  }

  /** It is going to be closed for what came of it. */
  condemn(socket: Socket): void {
    this.#blame(socket, 'error');
  }

  /**
   * Some of an answer did not leave at once: who takes nothing more for `answerTimeoutMs` is cut off (`silent`). Node
   * starts the time again with whatever the system takes, and sets its own once all answers have left.
   */
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

  /** Answers what the HTTP parser or the request's time limit refused, and closes. */
  refuse(error: NodeJS.ErrnoException, socket: Socket): void {
    if (!this.#open.has(socket)) {
      // What was said is no TLS, or no certificate came that is accepted.
      this.#tls?.handshakeFailed();
      socket.destroy();
      return;
    }
    if (this.#refused.has(socket)) return;
    this.#blame(socket, 'error');
    const response = responseOn(socket);
    // An answer to a request before, or one that has begun: a second one in the middle of it would garble it.
    const answering = response !== undefined && (response.headersSent || response.req.complete);
    if (!socket.writable || answering) {
      socket.destroy();
      return;
    }
    this.#refused.add(socket);
    const status = statusOf(error);
    const target = response?.req.url;
    const path = target === undefined ? undefined : pathOf(target);
    const answer = this.#service.refused(status, error.message, path);
    if (response !== undefined) answerLast(response, answer);
    else {
      socket.write(rawAnswer(status, answer));
      socket.destroySoon();
    }
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
    this.#dropHandshakes();
    this.#settleWhenEmpty();
    return this.#empty.promise;
  }

  destroyAll(): void {
    for (const socket of this.#open.keys()) socket.destroy();
  }

  /** Who has not agreed on TLS yet has asked nothing. */
  #dropHandshakes(): void {
    const ports = new Set([...this.#open.keys()].map((socket) => socket.remotePort));
    for (const carrier of this.#carriers) if (!ports.has(carrier.remotePort)) carrier.destroy();
  }

  #settleWhenEmpty(): void {
    if (this.#stopping && this.#open.size === 0) this.#empty.resolve();
  }

  #blame(socket: Socket, cause: Cause): void {
    if (this.#open.get(socket) === 'eof') this.#open.set(socket, cause);
  }
}

function statusOf(error: NodeJS.ErrnoException): number {
  if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') return 408;
  return error.code === 'HPE_HEADER_OVERFLOW' ? 431 : 400;
}

/** The bytes of a refusal, which is never made while it is sent. */
function wholeBody(body: HttpBody): Uint8Array {
  if (typeof body === 'string') return Buffer.from(body);
  return body instanceof Uint8Array ? body : Buffer.alloc(0);
}

/** The answer that has its turn on the connection, begun or to come. */
function responseOn(socket: Socket): ServerResponse | undefined {
  const holder: unknown = '_httpMessage' in socket ? socket._httpMessage : undefined;
  return isResponse(holder) ? holder : undefined;
}

function isResponse(holder: unknown): holder is ServerResponse {
  return holder instanceof ServerResponse;
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
