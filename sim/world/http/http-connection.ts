/**
 * One client's connection to a simulated HTTP listener. It parses a request, passes it to the service, sends the answer,
 * and takes the next request after that. A connection over the listener's limit is closed at once.
 */
import type { Clock, Timer } from '../../../engine/io/clock.ts';
import type { HttpResponse, HttpService, HttpStream } from '../../../engine/io/http.ts';
import { authorityOf, originOf, pathOf, refusalOfHead } from '../../../engine/io/http-head.ts';
import type { CloseReason, Connection, ConnectionHandler } from '../../../engine/io/network.ts';
import type { HttpRouter } from './http-router.ts';
import type { HttpMessage, MessageHead } from './http-text.ts';
import { StreamSending } from './http-stream.ts';
import { HttpRefusal } from './http-refusal.ts';
import { HttpReader, formatMessage } from './http-text.ts';

/** What connections of one listener share. */
export interface HttpEdge {
  readonly service: HttpService;
  readonly router: HttpRouter;
  readonly clock: Clock;
  /** The listener is stopping: every answer is its connection's last. */
  readonly stopping: boolean;
  /** A handler threw. */
  handlerFailed(error: unknown): void;
  closed(connection: HttpConnection): void;
}

/** How long a connection may idle between two requests, as on the machine. */
const keepAliveUs = 72_000_000;
const requestLine = /^([A-Z]+) (\S+) HTTP\/(1\.[01])$/;

/** One connection of one client. */
export class HttpConnection implements ConnectionHandler {
  readonly #edge: HttpEdge;
  readonly #connection: Connection;
  readonly #reader: HttpReader;
  readonly #overLimit: boolean;
  /** When its last answer was given, or when it opened. */
  #sinceUs: number;
  #timer: Timer | undefined;
  /** Runs while more of an answer is pending than the connection sends at once. */
  #takingTimer: Timer | undefined;
  #answering = false;
  /** The answer's body, while it is produced and sent. */
  #stream: StreamSending | undefined;
  /** Called when the client of the request under way has gone. */
  readonly #goneListeners: (() => void)[] = [];
  #last = false;
  #gone = false;
  #blame: 'eof' | 'error' | 'closedHere' = 'eof';
  /** Bytes counted against the budget of all bodies. */
  #heldBytes = 0;

  /** `overLimit`: one connection too many, closed at once and not counted. */
  constructor(edge: HttpEdge, connection: Connection, overLimit: boolean) {
    this.#edge = edge;
    this.#connection = connection;
    this.#overLimit = overLimit;
    this.#sinceUs = edge.clock.nowUs();
    const { bodyBytesMax, bodyBudget, headerLinesMax } = edge.service;
    this.#reader = new HttpReader(bodyBytesMax, bodyBudget, (head) => checkHead(head, headerLinesMax));
    if (overLimit) {
      connection.destroy();
      return;
    }
    edge.service.observer.opened();
    this.#waitFor(edge.service.requestTimeoutMs * 1000);
  }

  onData(chunk: Uint8Array): void {
    this.#reader.push(chunk);
    this.#serveNext();
  }

  onDrain(): void {
    this.#takingTimer?.cancel();
    this.#stream?.drained();
  }

  onEnd(): void {
    // As on the machine: a client that sends no more counts as gone, whether it waits for an answer or not.
    this.#last = true;
    this.#leave();
    this.#connection.end();
  }

  onClose(reason: CloseReason): void {
    this.#timer?.cancel();
    this.#takingTimer?.cancel();
    this.#leave();
    this.#hold(0);
    const inOrder = reason === 'ended' || reason === 'closedHere';
    if (!this.#overLimit) this.#edge.service.observer.closed(inOrder ? this.#blame : 'error');
    this.#edge.closed(this);
  }

  /** The client is gone: tells the handler that works for it. */
  #leave(): void {
    this.#gone = true;
    this.#stream?.gone();
    for (const listener of this.#goneListeners.splice(0)) listener();
  }

  /** The listener stops: closes the connection now, or after the answer under way. */
  stop(): void {
    if (this.#blame === 'eof') this.#blame = 'closedHere';
    if (this.#answering) this.#last = true;
    else this.#connection.destroy();
  }

  destroy(): void {
    this.#connection.destroy();
  }

  /** Since when the next request has not begun, or is not whole; undefined while the node answers one. */
  get waitedForSinceUs(): number | undefined {
    return this.#answering || this.#connection.pendingBytes > 0 ? undefined : this.#sinceUs;
  }

  /** Since when the client has not read what is pending of its answers; undefined if nothing is. */
  get unreadSinceUs(): number | undefined {
    return this.#connection.pendingBytes > 0 ? this.#sinceUs : undefined;
  }

  /** Closes the connection to make place for another client. */
  cut(): void {
    this.#closeSilent();
  }

  #serveNext(): void {
    if (this.#answering || this.#last) return;
    try {
      const message = this.#reader.next();
      this.#countBody();
      if (message === undefined) return;
      this.#timer?.cancel();
      this.#serve(message);
    } catch (error) {
      if (!(error instanceof HttpRefusal)) throw error;
      // A body that is too long, or finds no space, is read and dropped, so that the client, still sending, sees the
      // answer.
      if (error.status !== 413 && error.status !== 417 && error.status !== 503)
        this.#refuseAndEnd(error.status, error.message);
      else this.#refuse(error.status, error.message);
    }
  }

  /** A body that is not whole counts against the budget of all clients; a whole one no longer does. */
  #countBody(): void {
    if (this.#hold(this.#reader.bodyBytesHeld)) return;
    const refusal = this.#edge.service.bodyBudget?.refuse();
    if (refusal !== undefined) this.#refuseAndEnd(refusal.status, refusal.message);
  }

  #hold(bytes: number): boolean {
    if (this.#edge.service.bodyBudget?.resize(this.#heldBytes, bytes) === false) return false;
    this.#heldBytes = bytes;
    return true;
  }

  #serve(message: HttpMessage): void {
    const [, method = '', target = ''] = requestLine.exec(message.start) ?? [];
    const { expect, connection } = message.headers;
    if (connection?.toLowerCase() === 'close') this.#last = true;
    if (expect !== undefined && !/(^|\W)100-continue($|\W)/i.test(expect)) {
      throw new HttpRefusal(417, 'no expectation but 100-continue is known');
    }
    this.#answering = true;
    this.#answer(method, target, message);
  }

  #answer(method: string, asked: string, { headers: given, body }: HttpMessage): void {
    const target = originOf(asked);
    const path = pathOf(target);
    const query = new URLSearchParams(target.slice(path.length));
    const host = authorityOf(asked);
    const headers = host === undefined ? given : { ...given, host };
    const { remote } = this.#connection;
    const { answer, params } = this.#edge.router.find(method, path);
    const headOnly = method === 'HEAD';
    const onGone = (listener: () => void): void => {
      if (this.#gone) listener();
      else this.#goneListeners.push(listener);
    };
    try {
      const answered = answer({ method, params, path, query, headers, body, remote, onGone });
      if (!(answered instanceof Promise)) this.#send(answered, headOnly);
      else this.#sendLater(answered, headOnly);
    } catch (error) {
      this.#fail(error);
    }
  }

  #sendLater(answer: Promise<HttpResponse>, headOnly: boolean): void {
    answer.then((late) => this.#send(late, headOnly)).catch((error: unknown) => this.#fail(error));
  }

  #fail(error: unknown): void {
    this.#edge.handlerFailed(error);
    this.#refuse(500, 'the request failed');
  }

  #send(answer: HttpResponse, headOnly: boolean): void {
    if (this.#gone) return;
    const body = typeof answer.body === 'string' ? Buffer.from(answer.body) : answer.body;
    if (!(body instanceof Uint8Array)) {
      this.#sendStream(answer, body, headOnly);
      return;
    }
    const bodiless = answer.status === 204 || answer.status === 304;
    const last = this.#last || this.#edge.stopping;
    const headers = this.#headersOf(answer);
    if (last) headers.push(['Connection', 'close']);
    const sent = bodiless || headOnly ? Buffer.alloc(0) : body;
    const bytes = formatMessage(`HTTP/1.1 ${answer.status}`, headers, sent, bodiless ? undefined : body);
    if (!this.#connection.write(bytes)) this.#expectReading();
    answer.taken?.();
    this.#answered(last);
  }

  #headersOf({ headers }: HttpResponse): [string, string][] {
    return [['Server', this.#edge.service.serverName], ...Object.entries(headers)];
  }

  #sendStream(answer: HttpResponse, stream: HttpStream, headOnly: boolean): void {
    const { status } = answer;
    const last = this.#last || this.#edge.stopping;
    const inChunks = answer.headers['Content-Length'] === undefined;
    const lines = this.#headersOf(answer);
    if (inChunks) lines.push(['Transfer-Encoding', 'chunked']);
    if (last) lines.push(['Connection', 'close']);
    this.#connection.write(formatMessage(`HTTP/1.1 ${status}`, lines, Buffer.alloc(0), undefined));
    if (headOnly) {
      this.#answered(last);
      return;
    }
    const sending = new StreamSending(this.#connection, stream, inChunks, () => this.#expectReading());
    this.#stream = sending;
    const done = sending.run((error) => this.#edge.handlerFailed(error));
    done
      .then((whole) => {
        this.#stream = undefined;
        if (whole) this.#answered(last);
      })
      .catch((error: unknown) => this.#edge.handlerFailed(error));
  }

  /** The answer has been handed to the connection. */
  #answered(last: boolean): void {
    this.#answering = false;
    this.#sinceUs = this.#edge.clock.nowUs();
    this.#goneListeners.length = 0;
    if (last) {
      this.#last = true;
      this.#connection.end();
      return;
    }
    this.#waitFor(keepAliveUs);
    this.#serveNext();
  }

  #refuseAndEnd(status: number, reason: string): void {
    this.#blame = 'error';
    this.#last = true;
    this.#refuse(status, reason);
  }

  /** Answers with the service's text for a request that the listener itself refuses. */
  #refuse(status: number, reason: string): void {
    const [, , target] = requestLine.exec(this.#reader.start) ?? [];
    const path = target === undefined ? undefined : pathOf(target);
    this.#send(this.#edge.service.refused(status, reason, path), false);
  }

  /** Closes the connection of a client that reads nothing of what is pending for `answerTimeoutMs`. */
  #expectReading(): void {
    this.#takingTimer?.cancel();
    const { pendingBytes } = this.#connection;
    this.#takingTimer = this.#edge.clock.after(this.#edge.service.answerTimeoutMs * 1000, () => {
      if (this.#connection.pendingBytes < pendingBytes) this.#expectReading();
      else this.#closeSilent();
    });
  }

  #waitFor(us: number): void {
    this.#timer?.cancel();
    this.#timer = this.#edge.clock.after(us, () => this.#timeOut());
  }

  #timeOut(): void {
    if (this.#answering) return;
    if (this.#reader.begun) this.#refuseAndEnd(408, 'the request took too long');
    else this.#closeSilent();
  }

  #closeSilent(): void {
    if (this.#blame === 'eof') this.#blame = 'closedHere';
    this.#connection.destroy();
  }
}

/** Throws `HttpRefusal` for a head that is refused whatever its body is. */
function checkHead({ start, lines, headers }: MessageHead, linesMax: number): void {
  const [, method, target = '', httpVersion = ''] = requestLine.exec(start) ?? [];
  if (method === undefined) throw new HttpRefusal(400, 'the request line is malformed');
  if (method === 'CONNECT') throw new HttpRefusal(501, 'no tunnels are opened here');
  const refusal = refusalOfHead({ httpVersion, target, lines, headers }, linesMax);
  if (refusal !== undefined) throw new HttpRefusal(refusal.status, refusal.reason);
}
