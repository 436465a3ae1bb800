/** A connection handler that records its calls and lets a law wait for a condition over them. */
import { Deferred } from '../base/deferred.ts';
import type { CloseReason, Connection, ConnectionHandler } from './network.ts';

/** The recorder. One per connection. */
export class ConnectionRecorder implements ConnectionHandler {
  /** The events in order; consecutive data events are one entry. */
  readonly story: ('data' | 'drain' | 'end' | CloseReason)[] = [];
  bytesReceived = 0;
  drains = 0;
  ended = false;
  closed: CloseReason | undefined;
  /** Called with each chunk, before a waiting law resumes. */
  onChunk: (chunk: Uint8Array) => void = () => undefined;
  readonly #chunks: Uint8Array[] = [];
  #keep = true;
  #waiter: Deferred<void> | undefined;

  /** Starts recording a connection. */
  static start(connection: Connection): ConnectionRecorder {
    const recorder = new ConnectionRecorder();
    connection.start(recorder);
    return recorder;
  }

  /** From now on counts bytes instead of keeping them. */
  forget(): void {
    this.#keep = false;
  }

  /** All bytes received so far. */
  received(): Buffer {
    return Buffer.concat(this.#chunks);
  }

  /** Waits until `holds` returns true; calls it again after every event. One waiter at a time. */
  async until(holds: () => boolean): Promise<void> {
    while (!holds()) {
      this.#waiter = new Deferred<void>();
      await this.#waiter.promise;
    }
  }

  onData(chunk: Uint8Array): void {
    this.bytesReceived += chunk.length;
    if (this.#keep) this.#chunks.push(chunk);
    if (this.story.at(-1) !== 'data') this.story.push('data');
    this.onChunk(chunk);
    this.#wake();
  }

  onDrain(): void {
    this.drains += 1;
    this.story.push('drain');
    this.#wake();
  }

  onEnd(): void {
    this.ended = true;
    this.story.push('end');
    this.#wake();
  }

  onClose(reason: CloseReason): void {
    this.closed = reason;
    this.story.push(reason);
    this.#wake();
  }

  #wake(): void {
    const waiter = this.#waiter;
    this.#waiter = undefined;
    waiter?.resolve();
  }
}

/** Byte `at` of the stream that laws send. Any loss, duplication or swap of bytes shows in it. */
export function streamByte(at: number): number {
  return (at ^ (at >>> 8) ^ (at >>> 16)) & 0xff;
}

/** Bytes `from`..`from + length - 1` of that stream. */
export function streamBytes(from: number, length: number): Buffer {
  const bytes = Buffer.allocUnsafe(length);
  for (let index = 0; index < length; index++) bytes[index] = streamByte(from + index);
  return bytes;
}

/** The first position at which `bytes`, which begin at `from`, differ from that stream; undefined if none does. */
export function streamMismatch(from: number, bytes: Uint8Array): number | undefined {
  for (let index = 0; index < bytes.length; index++) {
    if (bytes[index] !== streamByte(from + index)) return from + index;
  }
  return undefined;
}
