/**
 * A network of one listener under a test's control. The test connects, writes bytes in any pieces, decides when the
 * client reads, and sees what the server does to the connection.
 */
import { Deferred } from '../../base/deferred.ts';
import type { CloseReason, Connection, ConnectionHandler, Listener, Network } from '../../io/network.ts';
import { ConnectError } from '../../io/network.ts';
import { settle } from './test-io.fixture.ts';

/**
 * Both ends of one connection: the server's end, and a client. `Heard` is what the client makes of the bytes it reads.
 */
export abstract class TestingPeer<Heard> implements Connection {
  readonly remote = 'client:1';
  /** Bytes that the client has read and not yet passed to `heard`. */
  readonly #received: Buffer[] = [];
  readonly #unread: Buffer[] = [];
  readonly #undelivered: Buffer[] = [];
  readonly #highWaterBytes: number;
  #handler: ConnectionHandler | undefined;
  #clientReads = true;
  #clientEnded = false;
  #endTold = false;
  #mustDrain = false;
  paused = false;
  /** Microseconds that the server tolerates a client that takes nothing. */
  patienceUs = Infinity;
  /** The server has ended its side. */
  serverEnded = false;
  closed: CloseReason | undefined;

  constructor(highWaterBytes: number) {
    this.#highWaterBytes = highWaterBytes;
  }

  /** Called after everything that could move did, with the bytes that have arrived since the last call. */
  protected abstract heard(bytes: Buffer): Heard;

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

  setPatience(us: number): void {
    this.patienceUs = us;
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

  /** Sends bytes from the client in these pieces. */
  send(...pieces: readonly (string | Uint8Array)[]): Promise<Heard> {
    this.#undelivered.push(...pieces.map((piece) => Buffer.from(piece)));
    return this.turn();
  }

  /** Makes the client stop or resume reading. */
  reads(does: boolean): Promise<Heard> {
    this.#clientReads = does;
    return this.turn();
  }

  /** Ends the client's side. */
  endClient(): Promise<Heard> {
    this.#clientEnded = true;
    return this.turn();
  }

  /** Resets the connection from the client's side. */
  async reset(): Promise<void> {
    this.closed = 'reset';
    this.#handler?.onClose('reset');
    this.#handler = undefined;
    await settle();
  }

  /** Moves bytes and events until nothing can move. */
  async turn(): Promise<Heard> {
    for (let moved = true; moved;) {
      await settle();
      moved = this.#deliver() || this.#drain() || this.#finish();
    }
    return this.heard(Buffer.concat(this.#received.splice(0)));
  }

  /** Pieces that the server has not taken yet. */
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

/** A network with one listener; `join` connects a client to it, and `connect` is always refused. */
export class TestingNetwork<Peer extends Connection> implements Network {
  readonly #makePeer: (highWaterBytes: number) => Peer;
  #onConnection: ((connection: Connection) => void) | undefined;
  highWaterBytes = 16 * 1024;

  constructor(makePeer: (highWaterBytes: number) => Peer) {
    this.#makePeer = makePeer;
  }

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

  /** Connects a new client. */
  join(): Peer {
    const peer = this.#makePeer(this.highWaterBytes);
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
