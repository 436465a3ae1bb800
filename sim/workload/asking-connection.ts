/**
 * A simulated client's connection, independent of the protocol: one request at a time over the network port, each with
 * a deadline. A reset, the node's end of the stream, a malformed answer or the deadline ends the connection for good.
 */
import { Deferred } from '../../engine/base/deferred.ts';
import type { Timer } from '../../engine/io/clock.ts';
import type { Io } from '../../engine/io/io.ts';
import type { Connection } from '../../engine/io/network.ts';

/** How one request ended. `lost`: it may or may not have been carried out. */
export type Exchange<Answer> =
  { readonly kind: 'answered'; readonly answer: Answer } | { readonly kind: 'lost'; readonly reason: string };

/** One connection of a client; `Answer` is the protocol's decoded answer. */
export class AskingConnection<Answer> {
  readonly #io: Io;
  readonly #connection: Connection;
  readonly #take: (chunk: Uint8Array) => Answer | undefined;
  #waiting: Deferred<Exchange<Answer>> | undefined;
  #deadline: Timer | undefined;
  #over: string | undefined;

  /** `take` gets the received bytes and returns the answer once it is whole; it throws on malformed bytes. */
  constructor(io: Io, connection: Connection, take: (chunk: Uint8Array) => Answer | undefined) {
    this.#io = io;
    this.#connection = connection;
    this.#take = take;
    connection.start({
      onData: (chunk) => this.#receive(chunk),
      onDrain: () => {
        // At most one small request is under way; the client waits for no write buffer space.
      },
      onEnd: () => this.#fail('the node ended the connection'),
      onClose: (reason) => this.#fail(`the connection is over: ${reason}`),
    });
  }

  /** Whether it can take a request. */
  get open(): boolean {
    return this.#over === undefined;
  }

  /** Sends a request and waits for its answer, at most `timeoutUs`. */
  ask(request: Buffer, timeoutUs: number): Promise<Exchange<Answer>> {
    if (this.#over !== undefined) return Promise.resolve({ kind: 'lost', reason: this.#over });
    const waiting = new Deferred<Exchange<Answer>>();
    this.#waiting = waiting;
    this.#deadline = this.#io.clock.after(timeoutUs, () => this.#fail('no answer within the deadline'));
    this.#connection.write(request);
    return waiting.promise;
  }

  /** Closes the connection; an unanswered request is lost. */
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
