/** Pauses between attempts, which end at once when their owner stops: no timer outlives it. */
import type { Clock, Timer } from './clock.ts';

/** The pauses of one service. */
export class Pauses {
  readonly #clock: Pick<Clock, 'after'>;
  readonly #open = new Map<Timer, (stopped: boolean) => void>();
  #stopped = false;

  constructor(clock: Pick<Clock, 'after'>) {
    this.#clock = clock;
  }

  get stopped(): boolean {
    return this.#stopped;
  }

  /** Calls `then` after `us` microseconds with false, or with true once the owner stops: at once, if it has. */
  take(us: number, then: (stopped: boolean) => void): Timer {
    if (this.#stopped) {
      then(true);
      return { cancel: () => undefined };
    }
    const timer = this.#clock.after(us, () => {
      this.#open.delete(timer);
      then(false);
    });
    this.#open.set(timer, then);
    return {
      cancel: () => {
        this.#open.delete(timer);
        timer.cancel();
      },
    };
  }

  /** Ends all pauses, and every later one. */
  stop(): void {
    this.#stopped = true;
    const open = [...this.#open];
    this.#open.clear();
    for (const [timer, then] of open) {
      timer.cancel();
      then(true);
    }
  }
}
