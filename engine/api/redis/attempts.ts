/**
 * Bounds the attempts of one command that competes with others: a deadline, a maximum number of attempts, and random
 * waits between them. The waits grow, so that two commands that collide do not keep colliding.
 */
import type { Io } from '../../io/io.ts';
import { sleep } from '../../io/clock.ts';

const attemptsMax = 100;
const waitUsMin = 500;
const waitUsMax = 50_000;

/** The attempts of one command; `timeoutMs` bounds them all. */
export class Attempts {
  readonly #io: Pick<Io, 'clock' | 'random'>;
  readonly #endUs: number;
  #count = 0;

  constructor(io: Pick<Io, 'clock' | 'random'>, timeoutMs: number) {
    this.#io = io;
    this.#endUs = io.clock.nowUs() + timeoutMs * 1000;
  }

  /** Milliseconds until the deadline, at least 1. */
  get leftMs(): number {
    return Math.max(1, Math.floor((this.#endUs - this.#io.clock.nowUs()) / 1000));
  }

  /** Waits before the next attempt; false if no attempt is left. */
  async again(): Promise<boolean> {
    this.#count += 1;
    const ceilingUs = Math.min(waitUsMax, waitUsMin << Math.min(this.#count, 10));
    const waitUs = this.#io.random.below(ceilingUs) + 1;
    if (this.#count >= attemptsMax || this.#io.clock.nowUs() + waitUs >= this.#endUs) return false;
    await sleep(this.#io.clock, waitUs);
    return true;
  }
}
