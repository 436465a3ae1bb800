/**
 * The clock port on a machine: Node's monotonic clock and timers.
 *
 * A timer of less than a millisecond is rounded up to one. A timer that is due now fires in the next turn of the event
 * loop, so nothing fires within `after`. Node fires timers of one duration in the order set, as the port promises.
 */
import type { Clock, Timer } from '../io/clock.ts';

/** Node fires longer timers at once (it keeps 32-bit milliseconds); they are set in steps of this length. */
const timerMsMax = 0x7fffffff;

/** The machine's clock. */
export const realClock: Clock = {
  nowUs: () => Math.floor(performance.now() * 1000),
  wallMs: () => Date.now(),
  after: (delayUs, fire) =>
    delayUs <= 0 ? fireNextTurn(fire) : new RealTimer(Math.ceil(delayUs / 1000), fire),
};

function fireNextTurn(fire: () => void): Timer {
  const immediate = setImmediate(fire);
  return { cancel: () => clearImmediate(immediate) };
}

class RealTimer implements Timer {
  readonly #fire: () => void;
  #timeout: NodeJS.Timeout;

  constructor(delayMs: number, fire: () => void) {
    this.#fire = fire;
    this.#timeout = this.#arm(delayMs);
  }

  cancel(): void {
    clearTimeout(this.#timeout);
  }

  #arm(delayMs: number): NodeJS.Timeout {
    if (delayMs <= timerMsMax) return setTimeout(this.#fire, delayMs);
    return setTimeout(() => (this.#timeout = this.#arm(delayMs - timerMsMax)), timerMsMax);
  }
}
