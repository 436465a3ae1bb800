/** What the stats listener and those who look at it say to one another. */
import type { StatsListenerTruth } from '../check/reconcile/account.ts';
import { Guesses } from './guesses.ts';

/** Answers of the listener's own; others are the HTTP edge's. */
const counted: readonly string[] = ['200', '401', '403', '404', '405'];
const refused: readonly string[] = ['401', '403'];

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

  /** An answer is written whole, or head first. */
  wrote(id: number, bytes: Uint8Array): void {
    const head = Buffer.from(bytes.subarray(0, 12)).toString('latin1');
    if (!head.startsWith('HTTP/1.1 ')) return;
    this.#guesses.answered(id);
    if (counted.includes(head.slice(9))) this.#answers += 1;
    if (refused.includes(head.slice(9))) this.#turnedAway += 1;
  }

  /** What is asked shows in what is answered, but for guesses. */
  heard(id: number, bytes: Uint8Array): void {
    this.#guesses.heard(id, bytes);
  }

  toldEnd(): void {
    // Nobody counts how it ended.
  }

  left(): void {
    // Nor who ended it.
  }

  closed(id: number): void {
    this.#open.delete(id);
    this.#guesses.closed(id);
  }
}
