/**
 * Bounds the answers that all clients together leave unread: bytes that the system does not take because the clients do
 * not read. Each connection has its own limit and a time in which it must take some bytes. Without a common bound,
 * however, many clients that wait for large answers use memory without limit. Above the bound the client that holds
 * most is disconnected (as Redis does with `maxmemory-clients`): this cuts the fewest clients and spares those that
 * read.
 */
import type { Log } from '../io/log.ts';
import type { Address } from '../io/network.ts';

/** A connection to a client, by the bytes it leaves unread. */
export interface AnswerHolder {
  readonly remote: Address;
  /** Bytes that the system has not taken. */
  readonly unreadBytes: number;
  /** Closes the connection now. */
  cut(): void;
}

/** The unread answers of all listeners that share the bound. */
export class UnreadAnswers {
  readonly #bytesMax: number;
  readonly #log: Log;
  /** Last known unread bytes of each connection; drained connections may still be listed. */
  readonly #held = new Map<AnswerHolder, number>();
  #bytes = 0;

  /** `bytesMax`: the common bound in bytes. Every disconnection is logged as `client.answers.cut`. */
  constructor(bytesMax: number, log: Log) {
    this.#bytesMax = bytesMax;
    this.#log = log;
  }

  /** Unread bytes, as last counted. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Must be called after a write. May close connections, including this one. */
  written(holder: AnswerHolder): void {
    const { unreadBytes } = holder;
    if (unreadBytes === 0) return;
    this.#set(holder, unreadBytes);
    if (this.#bytes <= this.#bytesMax) return;
    for (const other of this.#held.keys()) this.#set(other, other.unreadBytes);
    // A single answer above the bound is sent all the same.
    while (this.#bytes > this.#bytesMax && this.#held.size > 1) this.#cutLargest();
  }

  /** The connection has taken everything or is closed. */
  forget(holder: AnswerHolder): void {
    this.#set(holder, 0);
  }

  #set(holder: AnswerHolder, bytes: number): void {
    this.#bytes += bytes - (this.#held.get(holder) ?? 0);
    if (bytes === 0) this.#held.delete(holder);
    else this.#held.set(holder, bytes);
  }

  #cutLargest(): void {
    let largest: AnswerHolder | undefined;
    let most = 0;
    for (const [holder, bytes] of this.#held) {
      if (bytes <= most) continue;
      largest = holder;
      most = bytes;
    }
    if (largest === undefined) return;
    const detail = `clients leave ${this.#bytes} bytes of answers unread (allowed: ${this.#bytesMax}, client_answer_bytes_max), and this one most of them`;
    this.#log.event('warn', 'client.answers.cut', { remote: largest.remote, bytes: most, detail });
    this.#set(largest, 0);
    largest.cut();
  }
}
