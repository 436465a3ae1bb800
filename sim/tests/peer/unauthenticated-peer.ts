/** A scripted peer that sends arbitrary bytes to a peer plane: valid frames, invalid ones, or none. */
import { Deferred } from '../../../engine/base/deferred.ts';
import type { Io } from '../../../engine/io/io.ts';
import type { Address, CloseReason, Connection } from '../../../engine/io/network.ts';
import { FrameArena } from '../../../engine/peer/wire/frame-arena.ts';
import type { Frame } from '../../../engine/peer/wire/frames.ts';
import { FrameDecoder } from '../../../engine/peer/wire/frames.ts';

const limits = { frameBytesMax: 1 << 20, chunkBytes: 4096 };

/** One scripted connection, incoming or outgoing. */
export class UnauthenticatedPeer {
  readonly arena = new FrameArena(limits);
  /** Complete frames that arrived. */
  readonly frames: Frame[] = [];
  /** Why the connection ended; undefined while it is open. */
  closed: CloseReason | undefined;
  readonly #decoder = new FrameDecoder(limits);
  #connection: Connection | undefined;
  #heard = new Deferred<void>();

  /** Connects from a host of the world. */
  call(io: Io, address: Address): void {
    io.spawn('stranger', async () => this.take(await io.network.connect(address, 1_000_000)));
  }

  /** Listens on a host of the world and accepts every connection; calls `greet` for each. */
  listen(io: Io, address: Address, greet: () => void): void {
    io.spawn('stranger', async () => {
      await io.network.listen(address, (connection) => {
        this.take(connection);
        greet();
      });
    });
  }

  take(connection: Connection): void {
    this.#connection = connection;
    connection.start({
      onData: (chunk) => this.#receive(chunk),
      onDrain: () => undefined,
      onEnd: () => connection.end(),
      onClose: (reason) => (this.closed = reason),
    });
  }

  get connected(): boolean {
    return this.#connection !== undefined && this.closed === undefined;
  }

  send(bytes: Uint8Array): void {
    this.#connection?.write(bytes);
  }

  end(): void {
    this.#connection?.end();
  }

  #receive(chunk: Uint8Array): void {
    this.#decoder.push(chunk);
    for (let frame = this.#decoder.next(); frame !== undefined; frame = this.#decoder.next())
      this.frames.push(frame);
    this.#heard.resolve();
    this.#heard = new Deferred<void>();
  }
}
