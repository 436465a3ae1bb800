/**
 * A network of one listener, by hand: a test connects, writes bytes in any pieces, decides when the client reads, and
 * sees what the server does to the connection.
 */
import { Deferred } from '../../base/deferred.ts';
import type { CloseReason, Connection, ConnectionHandler, Listener, Network } from '../../io/network.ts';
import { ConnectError } from '../../io/network.ts';
import { settle } from '../testing/test-io.contract.ts';
import type { ClientReply, ClientRequest } from './client-codec.ts';
import { decodeReply, encodeRequest } from './client-codec.ts';
import { FrameReader } from './frames.ts';

/** The server's end, and the client that holds the other one. */
export class TestingPeer implements Connection {
  readonly remote = 'client:1';
  /** Bytes that the client has read. */
  readonly #received: Buffer[] = [];
  readonly #unread: Buffer[] = [];
  readonly #undelivered: Buffer[] = [];
  readonly #highWaterBytes: number;
  readonly #reader = new FrameReader(1 << 26);
  readonly #replies: ClientReply[] = [];
  #handler: ConnectionHandler | undefined;
  #clientReads = true;
  #clientEnded = false;
  #endTold = false;
  #mustDrain = false;
  paused = false;
  /** The server said that it writes no more. */
  serverEnded = false;
  closed: CloseReason | undefined;

  constructor(highWaterBytes: number) {
    this.#highWaterBytes = highWaterBytes;
  }

  get pendingBytes(): number {
    return this.#unread.reduce((sum, bytes) => sum + bytes.length, 0);
  }

  start(handler: ConnectionHandler): void {
    this.#handler = handler;
  }

  write(bytes: Uint8Array): boolean {
    if (this.closed !== undefined) return true;
    this.#unread.push(Buffer.from(bytes));
    const accepted = this.pendingBytes <= this.#highWaterBytes;
    if (!accepted) this.#mustDrain = true;
    return accepted;
  }

  pause(): void {
    this.paused = true;
  }

  resume(): void {
    this.paused = false;
  }

  end(): void {
    this.serverEnded = true;
  }

  destroy(): void {
    this.closed ??= 'closedHere';
  }

  /** The client's side: bytes in these pieces. */
  async send(...pieces: readonly Uint8Array[]): Promise<void> {
    this.#undelivered.push(...pieces.map((piece) => Buffer.from(piece)));
    await this.turn();
  }

  async request(...requests: readonly ClientRequest[]): Promise<void> {
    await this.send(Buffer.concat(requests.map(encodeRequest)));
  }

  /** The client stops or goes on reading. */
  async reads(does: boolean): Promise<void> {
    this.#clientReads = does;
    await this.turn();
  }

  async endClient(): Promise<void> {
    this.#clientEnded = true;
    await this.turn();
  }

  async reset(): Promise<void> {
    this.closed = 'reset';
    this.#handler?.onClose('reset');
    this.#handler = undefined;
    await settle();
  }

  /** Answers read since the last call. */
  replies(): ClientReply[] {
    return this.#replies.splice(0);
  }

  /** Everything that can move does. */
  async turn(): Promise<void> {
    for (let moved = true; moved;) {
      await settle();
      moved = this.#deliver() || this.#drain() || this.#finish();
    }
  }

  /** Pieces that the server would not take. */
  get undelivered(): number {
    return this.#undelivered.length;
  }

  #deliver(): boolean {
    if (this.paused || this.closed !== undefined || this.#handler === undefined) return false;
    const piece = this.#undelivered.shift();
    if (piece !== undefined) {
      this.#handler.onData(piece);
      return true;
    }
    if (!this.#clientEnded || this.#endTold) return false;
    this.#endTold = true;
    this.#handler.onEnd();
    return true;
  }

  #drain(): boolean {
    const bytes = this.#clientReads ? this.#unread.shift() : undefined;
    if (bytes === undefined) return false;
    this.#received.push(bytes);
    this.#reader.push(bytes);
    for (let frame = this.#reader.next(); frame !== undefined; frame = this.#reader.next()) {
      this.#replies.push(decodeReply(frame));
    }
    if (this.#mustDrain && this.#unread.length === 0 && this.closed === undefined) {
      this.#mustDrain = false;
      this.#handler?.onDrain();
    }
    return true;
  }

  #finish(): boolean {
    if (this.#handler === undefined) return false;
    const inOrder = this.serverEnded && this.#clientEnded && this.#endTold && this.#unread.length === 0;
    if (this.closed === undefined && !inOrder) return false;
    this.closed ??= 'ended';
    const handler = this.#handler;
    this.#handler = undefined;
    handler.onClose(this.closed);
    return true;
  }
}

export class TestingNetwork implements Network {
  #onConnection: ((connection: Connection) => void) | undefined;
  highWaterBytes = 16 * 1024;

  listen(address: string, onConnection: (connection: Connection) => void): Promise<Listener> {
    this.#onConnection = onConnection;
    const close = (): Promise<void> => {
      this.#onConnection = undefined;
      return done();
    };
    return resolved({ address, close });
  }

  connect(address: string): Promise<Connection> {
    const refused = new Deferred<Connection>();
    refused.reject(new ConnectError('refused', address));
    return refused.promise;
  }

  /** A client comes. */
  join(): TestingPeer {
    const peer = new TestingPeer(this.highWaterBytes);
    this.#onConnection?.(peer);
    return peer;
  }
}

function done(): Promise<void> {
  return resolved(undefined);
}

function resolved<T>(value: T): Promise<T> {
  const deferred = new Deferred<T>();
  deferred.resolve(value);
  return deferred.promise;
}
