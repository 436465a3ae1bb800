/** A simulated client's connection in the binary protocol. */
import type { ClientReply, ClientRequest } from '../../engine/api/pbc/client-codec.ts';
import { decodeReply, encodeRequest } from '../../engine/api/pbc/client-codec.ts';
import { FrameReader } from '../../engine/api/pbc/frames.ts';
import type { Io } from '../../engine/io/io.ts';
import type { Address, Connection } from '../../engine/io/network.ts';
import type { Exchange } from './asking-connection.ts';
import { AskingConnection } from './asking-connection.ts';

const frameBytesMax = 64 * 1024 * 1024;

/** Where a client connects, and its credentials. */
export interface ClientPort {
  readonly address: Address;
  readonly token?: string | undefined;
}

/** The node rejected the credentials, or did not answer to them. */
export class NotLetIn extends Error {
  override readonly name = 'NotLetIn';
}

/** How one request in the binary protocol ended. */
export type PbExchange = Exchange<ClientReply>;

/** One connection in the binary protocol. */
export class PbConnection {
  readonly #asking: AskingConnection<ClientReply>;
  readonly #reader = new FrameReader(frameBytesMax);
  #more: (reply: ClientReply) => boolean = () => false;

  constructor(io: Io, connection: Connection) {
    this.#asking = new AskingConnection(io, connection, (chunk) => this.#take(chunk));
  }

  /** Connects, and authenticates if there is a token. Rejects with `ConnectError`, or with `NotLetIn`. */
  static async open(io: Io, { address, token }: ClientPort, timeoutUs: number): Promise<PbConnection> {
    const connection = new PbConnection(io, await io.network.connect(address, timeoutUs));
    if (token === undefined) return connection;
    const message = { user: Buffer.alloc(0), password: Buffer.from(token) };
    const exchange = await connection.ask({ kind: 'auth', message }, timeoutUs);
    if (exchange.kind === 'answered' && exchange.answer.kind === 'authenticated') return connection;
    connection.close();
    throw new NotLetIn();
  }

  /** Whether it can take a request. */
  get open(): boolean {
    return this.#asking.open;
  }

  /**
   * Sends a request and waits for its answer, at most `timeoutUs`. If the answer has several frames, it is the first
   * for which `more` returns false.
   */
  ask(
    request: ClientRequest,
    timeoutUs: number,
    more: (reply: ClientReply) => boolean = () => false,
  ): Promise<PbExchange> {
    this.#more = more;
    return this.#asking.ask(encodeRequest(request), timeoutUs);
  }

  /** Closes the connection; an unanswered request is lost. */
  close(): void {
    this.#asking.close();
  }

  #take(chunk: Uint8Array): ClientReply | undefined {
    this.#reader.push(chunk);
    for (let frame = this.#reader.next(); frame !== undefined; frame = this.#reader.next()) {
      const reply = decodeReply(frame);
      if (!this.#more(reply)) return reply;
    }
    return undefined;
  }
}
