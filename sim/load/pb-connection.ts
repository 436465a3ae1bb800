/**
 * A simulated client's connection: the binary protocol over the network door, one request at a time, each with a
 * deadline. Whatever ends it early (a reset, the node's end, bytes that are no frame, the deadline) ends it for good.
 */
import { Deferred } from '../../engine/base/deferred.ts';
import type { ClientReply, ClientRequest } from '../../engine/api/pbc/client-codec.ts';
import { decodeReply, encodeRequest } from '../../engine/api/pbc/client-codec.ts';
import { FrameReader } from '../../engine/api/pbc/frames.ts';
import type { Io } from '../../engine/io/io.ts';
import type { Address, Connection } from '../../engine/io/network.ts';

const frameBytesMax = 64 * 1024 * 1024;

/** `lost`: the request may or may not have been carried out. */
export type Exchange =
  | { readonly kind: 'answered'; readonly reply: ClientReply }
  | { readonly kind: 'lost'; readonly reason: string };

export class PbConnection {
  readonly #io: Io;
  readonly #connection: Connection;
  readonly #reader = new FrameReader(frameBytesMax);
  #waiting: Deferred<Exchange> | undefined;
  #more: (reply: ClientReply) => boolean = () => false;
  #over: string | undefined;

  constructor(io: Io, connection: Connection) {
    this.#io = io;
    this.#connection = connection;
    connection.start({
      onData: (chunk) => this.#receive(chunk),
      onDrain: () => {
        // One small request is under way at most; nothing waits for room.
      },
      onEnd: () => this.#fail('the node ended the connection'),
      onClose: (reason) => this.#fail(`the connection is over: ${reason}`),
    });
  }

  /** Connects. Rejects with `ConnectError`. */
  static async open(io: Io, address: Address, timeoutUs: number): Promise<PbConnection> {
    return new PbConnection(io, await io.network.connect(address, timeoutUs));
  }

  /** It can take a request. */
  get open(): boolean {
    return this.#over === undefined;
  }

  /**
   * Sends a request and waits for its answer, `timeoutUs` at most; of an answer in several frames for the first that
   * `more` says no to.
   */
  async ask(
    request: ClientRequest,
    timeoutUs: number,
    more: (reply: ClientReply) => boolean = () => false,
  ): Promise<Exchange> {
    if (this.#over !== undefined) return { kind: 'lost', reason: this.#over };
    const waiting = new Deferred<Exchange>();
    this.#waiting = waiting;
    this.#more = more;
    const deadline = this.#io.clock.after(timeoutUs, () => this.#fail('no answer within the deadline'));
    this.#connection.write(encodeRequest(request));
    const exchange = await waiting.promise;
    deadline.cancel();
    return exchange;
  }

  /** Closes it; an unanswered request is lost. */
  close(): void {
    this.#fail('closed here');
  }

  #receive(chunk: Uint8Array): void {
    this.#reader.push(chunk);
    try {
      for (let frame = this.#reader.next(); frame !== undefined; frame = this.#reader.next()) {
        const reply = decodeReply(frame);
        if (!this.#more(reply)) this.#settle({ kind: 'answered', reply });
      }
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

  #settle(exchange: Exchange): void {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    waiting?.resolve(exchange);
  }
}
