/**
 * A simulated client's connection in whatever protocol: bytes over the network door, one request at a time, each with
 * a deadline. Whatever ends it early (a reset, the node's end, bytes that are no answer, the deadline) ends it for good.
 */
import { Deferred } from '../../engine/base/deferred.ts';
import type { Timer } from '../../engine/io/clock.ts';
import type { Io } from '../../engine/io/io.ts';
import type { Connection } from '../../engine/io/network.ts';

/** `lost`: the request may or may not have been carried out. */
export type Exchange<Answer> =
  { readonly kind: 'answered'; readonly answer: Answer } | { readonly kind: 'lost'; readonly reason: string };

export class AskingConnection<Answer> {
  readonly #io: Io;
  readonly #connection: Connection;
  readonly #take: (chunk: Uint8Array) => Answer | undefined;
  #waiting: Deferred<Exchange<Answer>> | undefined;
  #deadline: Timer | undefined;
  #over: string | undefined;

  /** `take` hears the bytes that come and gives the answer once it is whole; what it throws calls them malformed. */
  constructor(io: Io, connection: Connection, take: (chunk: Uint8Array) => Answer | undefined) {
    this.#io = io;
    this.#connection = connection;
    this.#take = take;
    connection.start({
      onData: (chunk) => this.#receive(chunk),
      onDrain: () => {
        // One small request is under way at most; nothing waits for room.
      },
      onEnd: () => this.#fail('the node ended the connection'),
      onClose: (reason) => this.#fail(`the connection is over: ${reason}`),
    });
  }

  /** It can take a request. */
  get open(): boolean {
    return this.#over === undefined;
  }

  /** Sends a request and waits for its answer, `timeoutUs` at most. */
  ask(request: Buffer, timeoutUs: number): Promise<Exchange<Answer>> {
    if (this.#over !== undefined) return Promise.resolve({ kind: 'lost', reason: this.#over });
    const waiting = new Deferred<Exchange<Answer>>();
    this.#waiting = waiting;
    this.#deadline = this.#io.clock.after(timeoutUs, () => this.#fail('no answer within the deadline'));
    this.#connection.write(request);
    return waiting.promise;
  }

  /** Closes it; an unanswered request is lost. */
  close(): void {
    this.#fail('closed here');
  }

  #receive(chunk: Uint8Array): void {
    try {
      const answer = this.#take(chunk);
      if (answer !== undefined) this.#settle({ kind: 'answered', answer });
    } catch (error) {
      this.#fail(`the answer is malformed: ${error instanceof Error ? error.message : String(error)}`);
    }
  }

  #fail(reason: string): void {
    if (this.#over !== undefined) return;
    this.#over = reason;
    this.#connection.destroy();
    this.#settle({ kind: 'lost', reason });
  }

  #settle(exchange: Exchange<Answer>): void {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    this.#deadline?.cancel();
    waiting?.resolve(exchange);
  }
}
