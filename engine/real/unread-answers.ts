/**
 * What all clients together may leave unread: answers that the system does not take, since their clients do not. Each has
 * its own limits, and a time in which it must take some; without a common bound, many that wait for large answers are as
 * much memory as there are of them. Where there is too much, who holds most is cut off (as Redis does with its
 * `maxmemory-clients`): fewest are cut, and those who read are not touched.
 */
import type { Log } from '../io/log.ts';
import type { Address } from '../io/network.ts';

/** A connection to a client. */
export interface AnswerHolder {
  readonly remote: Address;
  /** Bytes that the system has not taken. */
  readonly unreadBytes: number;
  /** Ends the connection now. */
  cut(): void;
}

export class UnreadAnswers {
  readonly #bytesMax: number;
  readonly #log: Log;
  /** What each was last known to hold; those that have been drained may still be here. */
  readonly #held = new Map<AnswerHolder, number>();
  #bytes = 0;

  constructor(bytesMax: number, log: Log) {
    this.#bytesMax = bytesMax;
    this.#log = log;
  }

  /** Bytes that are held, or were when they were last counted. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Called after something was written. May cut connections, that one too. */
  written(holder: AnswerHolder): void {
    const { unreadBytes } = holder;
    if (unreadBytes === 0) return;
    this.#set(holder, unreadBytes);
    if (this.#bytes <= this.#bytesMax) return;
    for (const other of this.#held.keys()) this.#set(other, other.unreadBytes);
    // A single answer that is larger is sent all the same.
    while (this.#bytes > this.#bytesMax && this.#held.size > 1) this.#cutLargest();
  }

  /** It has taken everything, or is gone. */
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
