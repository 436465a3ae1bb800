/** One connection of a contender, with one request at a time: bytes out, an answer of known length back. */
import { connect } from 'node:net';
import type { Socket } from 'node:net';

const noBytes: Buffer = Buffer.alloc(0);

/** A connection. */
export class Lane {
  readonly #socket: Socket;
  #received: Buffer = noBytes;
  #answer: (received: Buffer) => number = () => 0;
  #resolve: () => void = () => undefined;
  #reject: (error: unknown) => void = () => undefined;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.setNoDelay(true);
    socket.on('data', (chunk: Buffer) => this.#hear(chunk));
    socket.on('error', (error) => this.#reject(error));
    socket.on('close', () => this.#reject(new Error('the connection is closed')));
  }

  /** Opens a connection to a server of this machine. */
  static open(port: number): Promise<Lane> {
    return new Promise((resolve, reject) => {
      const socket = connect(port, '127.0.0.1');
      socket.once('connect', () => resolve(new Lane(socket)));
      socket.once('error', reject);
    });
  }

  /**
   * Sends a request. `answer`: the length in bytes of the whole answer at the front of what was received, 0 while it is
   * incomplete; it throws for an error. Resolves with the answer.
   */
  ask(request: Buffer, answer: (received: Buffer) => number): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#answer = answer;
      this.#resolve = resolve;
      this.#reject = reject;
      this.#socket.write(request);
    });
  }

  /** Ends the connection. */
  close(): void {
    this.#socket.destroy();
  }

  #hear(chunk: Buffer): void {
    this.#received = this.#received.length === 0 ? chunk : Buffer.concat([this.#received, chunk]);
    try {
      const length = this.#answer(this.#received);
      if (length === 0) return;
      this.#received = this.#received.subarray(length);
      this.#resolve();
    } catch (error) {
      this.#received = noBytes;
      this.#reject(error);
    }
  }
}

/** A command of the Redis protocol. */
export function respCommand(...words: readonly (string | Buffer)[]): Buffer {
  const parts = words.map((word) => {
    const bytes = Buffer.from(word);
    return Buffer.concat([Buffer.from(`$${bytes.length}\r\n`), bytes, Buffer.from('\r\n')]);
  });
  return Buffer.concat([Buffer.from(`*${words.length}\r\n`), ...parts]);
}

/** Length of the simple or bulk reply at the front, 0 while it is incomplete. Throws for an error or an absent value. */
export function respAnswer(received: Buffer): number {
  const end = received.indexOf('\r\n');
  if (end < 0) return 0;
  const line = received.toString('latin1', 0, end);
  if (line.startsWith('-')) throw new Error(line.slice(1));
  if (line.startsWith('+')) return end + 2;
  const length = Number(line.slice(1));
  if (!line.startsWith('$') || length < 0) throw new Error(`answered ${line}`);
  const whole = end + 2 + length + 2;
  return received.length < whole ? 0 : whole;
}
