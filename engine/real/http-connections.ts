/**
 * The connections of one HTTP listener: counted by the service's observer with the cause of their end, answered when
 * what they send is no HTTP, and closed when the listener stops.
 */
import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { TlsIdentity } from './tls.ts';
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
  #stopping = false;
  readonly #empty = new Deferred<void>();

  constructor(service: HttpService, tls: TlsIdentity | undefined) {
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
    socket.on('timeout', () => this.#blame(socket, 'closedHere'));
    socket.on('close', () => {
      const cause = this.#open.get(socket) ?? 'error';
      this.#open.delete(socket);
      this.#service.observer.closed(cause);
      this.#settleWhenEmpty();
    });
  }

  /** Answers what the HTTP parser or the request's time limit refused, and closes. */
  refuse(error: NodeJS.ErrnoException, socket: Socket): void {
    if (!this.#open.has(socket)) {
      // What was said is no TLS, or no certificate came that is accepted.
      this.#tls?.handshakeFailed();
      socket.destroy();
      return;
    }
    this.#blame(socket, 'error');
    // An answer that is under way belongs to the request before; a second one in the middle of it would garble it.
    const answering = '_httpMessage' in socket && socket._httpMessage !== null;
    if (!socket.writable || answering) {
      socket.destroy();
      return;
    }
    socket.write(rawAnswer(statusOf(error), this.#service.refused(statusOf(error), error.message)));
    socket.destroySoon();
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
