/** Observes the connections of the stats listener: answers written, and requests with unknown tokens. */
import type { StatsListenerTruth } from '../check/metrics/reconcile/account.ts';
import { Guesses } from './guesses.ts';

/** Statuses that the stats listener answers itself; the HTTP edge answers all others. */
const counted: readonly string[] = ['200', '401', '403', '404', '405', '429'];
const refused: readonly string[] = ['401', '403'];

/** Counts the answers of one incarnation's stats listener. */
export class ListenerObserver {
  readonly #open = new Set<number>();
  readonly #guesses = new Guesses();
  #answers = 0;
  #turnedAway = 0;

  get truth(): StatsListenerTruth {
    const { unanswered: guesses } = this.#guesses;
    return { open: this.#open.size, answers: this.#answers, turnedAway: this.#turnedAway, guesses };
  }

  opened(id: number): void {
    this.#open.add(id);
  }

  /** The process wrote bytes: an answer arrives whole, or its head first. */
  wrote(id: number, bytes: Uint8Array): void {
    const head = Buffer.from(bytes.subarray(0, 12)).toString('latin1');
    if (!head.startsWith('HTTP/1.1 ')) return;
    this.#guesses.answered(id);
    if (counted.includes(head.slice(9))) this.#answers += 1;
    if (refused.includes(head.slice(9))) this.#turnedAway += 1;
  }

  /** Requests show in their answers, except those with unknown tokens. */
  heard(id: number, bytes: Uint8Array): void {
    this.#guesses.heard(id, bytes);
  }

  toldEnd(): void {
    // No metric counts how a connection ended.
  }

  left(): void {
    // No metric counts which side ended it.
  }

  closed(id: number): void {
    this.#open.delete(id);
    this.#guesses.closed(id);
  }
}
