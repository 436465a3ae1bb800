/** Sends a body while it is produced, as it is or in HTTP/1.1 chunks, on a simulated connection. */
import { Deferred } from '../../../engine/base/deferred.ts';
import { LockstepError } from '../../../engine/base/errors.ts';
import type { HttpStream } from '../../../engine/io/http.ts';
import type { Connection } from '../../../engine/io/network.ts';

const lastChunk = Buffer.from('0\r\n\r\n');

/** One body under way. The connection's handler calls `gone` and `drained`. */
export class StreamSending {
  readonly #connection: Connection;
  readonly #chunks: AsyncIterator<Uint8Array, unknown>;
  /** Without chunks, the head has stated the body's length. */
  readonly #inChunks: boolean;
  /** Called when sending waits for the client to read. */
  readonly #pending: () => void;
  #gone = false;
  #returned: Promise<unknown> | undefined;
  #room: Deferred<void> | undefined;

  constructor(connection: Connection, stream: HttpStream, inChunks: boolean, pending: () => void) {
    this.#connection = connection;
    this.#chunks = stream[Symbol.asyncIterator]();
    this.#inChunks = inChunks;
    this.#pending = pending;
  }

  /** Resolves after the last chunk was written; with false if the client has gone or the stream has failed. */
  async run(failed: (error: unknown) => void): Promise<boolean> {
    try {
      return await this.#pump();
    } catch (error) {
      if (!(error instanceof LockstepError)) failed(error);
      this.#connection.destroy();
      return false;
    }
  }

  /** The connection has closed: no more chunks are wanted. */
  gone(): void {
    this.#gone = true;
    this.#returned = this.#chunks.return?.();
    // `#pump` awaits this promise later; until then its rejection must not count as unhandled.
    this.#returned?.catch(() => undefined);
    this.drained();
  }

  drained(): void {
    this.#room?.resolve();
    this.#room = undefined;
  }

  async #pump(): Promise<boolean> {
    for (;;) {
      const step = await this.#chunks.next();
      if (this.#isGone()) break;
      if (step.done === true) {
        if (this.#inChunks) this.#connection.write(lastChunk);
        return true;
      }
      await this.#write(step.value);
      if (this.#isGone()) break;
    }
    await this.#returned;
    return false;
  }

  #isGone(): boolean {
    return this.#gone;
  }

  #write(chunk: Uint8Array): Promise<void> | undefined {
    if (this.#connection.write(this.#inChunks ? framed(chunk) : chunk)) return undefined;
    this.#pending();
    this.#room = new Deferred<void>();
    return this.#room.promise;
  }
}

function framed(chunk: Uint8Array): Buffer {
  const head = Buffer.from(`${chunk.length.toString(16)}\r\n`, 'latin1');
  return Buffer.concat([head, chunk, Buffer.from('\r\n')]);
}
