/**
 * Bounds the attempts of one command that competes with others: a deadline, a maximum number of attempts, and random
 * waits between them. The waits grow, and are long compared to an attempt, so that two commands that collide do not keep
 * colliding, on a slow network or a busy machine either.
 */
import type { Io } from '../../io/io.ts';
import { sleep } from '../../io/clock.ts';

const attemptsMax = 100;
const waitUsMin = 500;
/** The longest wait if attempts are short; otherwise, how many times an attempt's duration. */
const waitUsMax = 50_000;
const attemptTimesMax = 4;

/** The attempts of one command; `timeoutMs` bounds them all. */
export class Attempts {
  readonly #io: Pick<Io, 'clock' | 'random'>;
  readonly #endUs: number;
  #count = 0;
  #begunUs: number;

  constructor(io: Pick<Io, 'clock' | 'random'>, timeoutMs: number) {
    this.#io = io;
    this.#begunUs = io.clock.nowUs();
    this.#endUs = this.#begunUs + timeoutMs * 1000;
  }

  /** Milliseconds until the deadline, at least 1. */
  get leftMs(): number {
    return Math.max(1, Math.floor((this.#endUs - this.#io.clock.nowUs()) / 1000));
  }

  /** Waits before the next attempt; false if no attempt is left. */
  async again(): Promise<boolean> {
    this.#count += 1;
    const nowUs = this.#io.clock.nowUs();
    const tookUs = nowUs - this.#begunUs;
    const growth = 1 << Math.min(this.#count, 10);
    const byTheClock = Math.min(waitUsMax, waitUsMin * growth);
    const ceilingUs = Math.max(byTheClock, tookUs * Math.min(growth, attemptTimesMax));
    const waitUs = this.#io.random.below(ceilingUs) + 1;
    if (this.#count >= attemptsMax || nowUs + waitUs >= this.#endUs) return false;
    await sleep(this.#io.clock, waitUs);
    this.#begunUs = this.#io.clock.nowUs();
    return true;
  }
}
