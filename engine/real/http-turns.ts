/**
 * Requests of one connection, one after another: the next one is handled once the answer before it has left (RFC 9112,
 * 9.3.2: what writes must have happened before what follows it). node:http hands out all that stand in one piece of what
 * it reads, and goes on reading while their answers are made. While one waits here nothing more is read, so that a
 * client that sends thousands of them holds up nobody but itself.
 */
import type { RequestListener } from 'node:http';
import type { Socket } from 'node:net';
import { present } from '../base/assert.ts';

export class HttpTurns {
  readonly #handler: RequestListener;
  /** How many requests wait, for connections on which one does. */
  readonly #waiting = new WeakMap<Socket, number>();

  /** `handler` is called for each request when its turn has come. */
  constructor(handler: RequestListener) {
    this.#handler = handler;
  }

  readonly take: RequestListener = (request, response) => {
    // A response has its connection's socket from when those before it are done.
    if (response.socket !== null) {
      this.#handler(request, response);
      return;
    }
    const { socket } = request;
    this.#enter(socket);
    response.once('socket', () => {
      this.#leave(socket);
      // node:http is still at it: an answer given on the spot would be finished twice.
      queueMicrotask(() => {
        if (!response.destroyed) this.#handler(request, response);
      });
    });
  };

  #enter(socket: Socket): void {
    const before = this.#waiting.get(socket) ?? 0;
    this.#waiting.set(socket, before + 1);
    if (before > 0) return;
    // Once is not enough: node:http reads on at the end of a request and after an answer.
    socket.on('resume', pauseAgain);
    socket.pause();
  }

  #leave(socket: Socket): void {
    const left = present(this.#waiting.get(socket), 'the count of requests that wait') - 1;
    this.#waiting.set(socket, left);
    if (left > 0) return;
    socket.off('resume', pauseAgain);
    socket.resume();
  }
}

function pauseAgain(this: Socket): void {
  this.pause();
}
