/**
 * Requests of one connection, one after another: the next one is handled once the answer before it has left (RFC 9112,
 * 9.3.2: what writes must have happened before what follows it). node:http hands out all that stand in one piece of what
 * it reads, and goes on reading while their answers are made. While one waits here nothing more is read, so that a
 * client that sends thousands of them holds up nobody but itself.
 *
 * Behind an answer that closes the connection nothing is read and no request is handed out. node:http itself would hand
 * out requests that it has read already, and give the first of them the turn of one that was queued before it; its own
 * assertion then ends the process.
 */
import { ServerResponse } from 'node:http';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';

/** How a request arrived: node:http tells requests with an `Expect` header apart. */
export type Arrival = 'plain' | 'expectsContinue' | 'expectsMore';

/** Handles a request whose turn has come. Does not throw. */
export type TurnHandler = (request: IncomingMessage, response: ServerResponse, arrival: Arrival) => void;

/**
 * Refuses what follows on a connection: as the answer to the request whose body it was, or with bytes of its own where
 * there is none. Does not throw.
 */
export type Refuse = (response: ServerResponse | undefined) => void;

/** The requests of one connection. */
interface Line {
  /** How many requests wait for the answers before them. */
  waiting: number;
  /** Nothing that is read from now on is handed out. */
  over: boolean;
  paused: boolean;
  /** Of the newest request; undefined once its request has been read and its answer given. */
  newest: ServerResponse | undefined;
  /** Takes the turn of the newest request, which was broken off while it waited. */
  refuse: Refuse | undefined;
}

export class HttpTurns {
  readonly #handler: TurnHandler;
  readonly #lines = new WeakMap<Socket, Line>();

  /** `handler` is called for each request when its turn has come. */
  constructor(handler: TurnHandler) {
    this.#handler = handler;
  }

  take(request: IncomingMessage, response: ServerResponse, arrival: Arrival): void {
    const { socket } = request;
    const line = this.#lineOf(socket);
    if (line.over) return;
    line.newest = response;
    // A response has its connection's socket from when those before it are done.
    if (response.socket !== null) {
      this.#handler(request, response, arrival);
      return;
    }
    line.waiting += 1;
    this.#pause(line, socket);
    response.once('socket', () => {
      line.waiting -= 1;
      if (line.waiting === 0 && !line.over) this.#resume(line, socket);
      // node:http is still at it: an answer given on the spot would be finished twice.
      queueMicrotask(() => this.#begin(line, request, response, arrival));
    });
  }

  /** The answer's head has been written; `last`: it closes the connection. */
  answered(response: ServerResponse, last: boolean): void {
    const { socket, complete } = response.req;
    const line = this.#lines.get(socket);
    if (line === undefined) return;
    if (last) this.#finish(line, socket);
    if (complete && line.newest === response) line.newest = undefined;
  }

  /**
   * What comes next on the connection cannot be read as HTTP. It is refused in its turn, behind the answers to the
   * requests before it, and the connection's last answer is that refusal; or one that was on its way and closes it.
   */
  breakOff(socket: Socket, refuse: Refuse): void {
    const line = this.#lineOf(socket);
    if (line.over) return;
    const { newest } = line;
    const front = responseOn(socket);
    if (newest !== undefined && !newest.req.complete) {
      // It was the newest request's own body.
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
    // Once is not enough: node:http reads on at the end of a request and after an answer.
    socket.on('resume', pauseAgain);
    socket.pause();
  }

  #resume(line: Line, socket: Socket): void {
    line.paused = false;
    socket.off('resume', pauseAgain);
    socket.resume();
  }
}

/** The answer that has its turn on the connection, begun or to come. */
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
