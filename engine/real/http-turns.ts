/**
 * Serializes the requests of a connection: a request is handled once the preceding answer has left. (RFC 9112, 9.3.2:
 * an unsafe request must take effect before the requests behind it.) node:http hands out every request in one read and
 * goes on reading while answers are made. This class pauses reading while a request waits, so a client that pipelines
 * thousands of requests delays only itself.
 *
 * After an answer that closes the connection, nothing is read and no request is handled. node:http itself would hand
 * out requests that it has already read and give the first of them the place of one queued before it; an assertion of
 * node:http would then end the process.
 */
import { ServerResponse } from 'node:http';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';

/** How a request arrived: node:http reports requests with an `Expect` header separately. */
export type Arrival = 'plain' | 'expectsContinue' | 'expectsMore';

/** Handles a request whose turn has come. Must not throw. */
export type TurnHandler = (request: IncomingMessage, response: ServerResponse, arrival: Arrival) => void;

/**
 * Refuses the rest of a connection: as the answer to `response`'s request if the bad input was its body, otherwise as
 * bytes of its own. Must not throw.
 */
export type Refuse = (response: ServerResponse | undefined) => void;

/** State of the requests of one connection. */
interface Line {
  /** Requests that wait for the answers before them. */
  waiting: number;
  /** Set when no further request is handed out. */
  over: boolean;
  paused: boolean;
  /** Response of the newest request; undefined once the request has been read and answered. */
  newest: ServerResponse | undefined;
  /** Refusal that takes the turn of the newest request, whose body broke off while it waited. */
  refuse: Refuse | undefined;
}

/** The requests of all connections of one listener. */
export class HttpTurns {
  readonly #handler: TurnHandler;
  readonly #lines = new WeakMap<Socket, Line>();

  /** Calls `handler` for each request when its turn has come. */
  constructor(handler: TurnHandler) {
    this.#handler = handler;
  }

  /** Takes a request from node:http: handles it now, or after the preceding answers. */
  take(request: IncomingMessage, response: ServerResponse, arrival: Arrival): void {
    const { socket } = request;
    const line = this.#lineOf(socket);
    if (line.over) return;
    line.newest = response;
    // node:http assigns the socket to a response once the responses before it are done.
    if (response.socket !== null) {
      this.#handler(request, response, arrival);
      return;
    }
    line.waiting += 1;
    this.#pause(line, socket);
    response.once('socket', () => {
      line.waiting -= 1;
      if (line.waiting === 0 && !line.over) this.#resume(line, socket);
      // node:http is still finishing the preceding response: a synchronous answer would be finished twice.
      queueMicrotask(() => this.#begin(line, request, response, arrival));
    });
  }

  /** The answer's head has been written. `last`: the answer closes the connection. */
  answered(response: ServerResponse, last: boolean): void {
    const { socket, complete } = response.req;
    const line = this.#lines.get(socket);
    if (line === undefined) return;
    if (last) this.#finish(line, socket);
    if (complete && line.newest === response) line.newest = undefined;
  }

  /**
   * The connection's next input cannot be parsed as HTTP. It is refused after the answers to the preceding requests.
   * That refusal is the connection's last answer, unless an answer already under way closes it.
   */
  breakOff(socket: Socket, refuse: Refuse): void {
    const line = this.#lineOf(socket);
    if (line.over) return;
    const { newest } = line;
    const front = responseOn(socket);
    if (newest !== undefined && !newest.req.complete) {
      // The bad input was the newest request's own body.
      if (newest === front || newest.writableFinished) refuse(newest);
      else line.refuse = refuse;
    } else {
      const before = newest ?? front;
      if (before === undefined || before.writableFinished) refuse(undefined);
      else before.once('finish', () => refuse(undefined));
    }
    this.#finish(line, socket);
  }

  #begin(line: Line, request: IncomingMessage, response: ServerResponse, arrival: Arrival): void {
    if (response.destroyed) return;
    if (line.refuse !== undefined && line.newest === response) line.refuse(response);
    else this.#handler(request, response, arrival);
  }

  #lineOf(socket: Socket): Line {
    const known = this.#lines.get(socket);
    if (known !== undefined) return known;
    const line = { waiting: 0, over: false, paused: false, newest: undefined, refuse: undefined };
    this.#lines.set(socket, line);
    return line;
  }

  #finish(line: Line, socket: Socket): void {
    line.over = true;
    this.#pause(line, socket);
  }

  #pause(line: Line, socket: Socket): void {
    if (line.paused) return;
    line.paused = true;
    // Pausing once is not enough: node:http resumes at the end of a request and after an answer.
    socket.on('resume', pauseAgain);
    socket.pause();
  }

  #resume(line: Line, socket: Socket): void {
    line.paused = false;
    socket.off('resume', pauseAgain);
    socket.resume();
  }
}

/** The response whose turn it is on the connection, begun or not. */
export function responseOn(socket: Socket): ServerResponse | undefined {
  const holder: unknown = '_httpMessage' in socket ? socket._httpMessage : undefined;
  return isResponse(holder) ? holder : undefined;
}

function isResponse(holder: unknown): holder is ServerResponse {
  return holder instanceof ServerResponse;
}

function pauseAgain(this: Socket): void {
  this.pause();
}
