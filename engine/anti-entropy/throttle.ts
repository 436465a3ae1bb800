/**
 * Limits how fast anti-entropy works: keys read or sent per second, over the whole node. The budget is granted in
 * intervals of a tenth of a second, so that client requests run in between.
 */
import { assert } from '../base/assert.ts';
import { Deferred } from '../base/deferred.ts';
import { LockstepError } from '../base/errors.ts';
import type { Clock, Timer } from '../io/clock.ts';

const stretchesPerSecond = 10;
const secondUs = 1_000_000;

/** The throttle of one node. */
export class Throttle {
  readonly #clock: Clock;
  readonly #keysPerSecond: number;
  /** Keys that may still be handled in this interval, which ends at `#untilUs`. Negative: keys owed. */
  #left = 0;
  #untilUs = 0;
  /** When this interval was granted. */
  #grantedUs = -Infinity;
  #isStopped = false;
  /** Those that wait, each with its timer. */
  readonly #waiting = new Map<Deferred<void>, Timer>();

  /** `keysPerSecond` 0: no limit. */
  constructor(clock: Clock, keysPerSecond: number) {
    this.#clock = clock;
    this.#keysPerSecond = keysPerSecond;
  }

  /** Resolves when this many keys may be handled. Rejects with `ShuttingDown` once stopped. */
  async spend(keys: number): Promise<void> {
    this.#mustGoOn();
    if (this.#keysPerSecond === 0) return;
    this.#left -= keys;
    while (this.#left < 0) {
      await this.#nextStretch();
      this.#mustGoOn();
    }
  }

  /** Resolves in a later turn of the event loop. Rejects with `ShuttingDown` once stopped. */
  async pause(): Promise<void> {
    await this.#sleep(0);
    this.#mustGoOn();
  }

  /** Makes every waiting and every later call reject: a pass over all keys may last much longer than a stop. */
  stop(): void {
    this.#isStopped = true;
    for (const [over, timer] of this.#waiting) {
      timer.cancel();
      over.resolve();
    }
    this.#waiting.clear();
  }

  #mustGoOn(): void {
    if (this.#isStopped) throw new LockstepError('ShuttingDown', 'anti-entropy of this node has stopped');
  }

  async #nextStretch(): Promise<void> {
    const waitUs = this.#untilUs - this.#clock.nowUs();
    if (waitUs > 0) await this.#sleep(waitUs);
    const nowUs = this.#clock.nowUs();
    // Another task may have begun the interval while this one slept.
    if (nowUs < this.#untilUs) return;
    assert(nowUs - this.#grantedUs >= secondUs / stretchesPerSecond, 'an interval is granted once');
    this.#grantedUs = nowUs;
    this.#untilUs = nowUs + secondUs / stretchesPerSecond;
    // Less than ten keys a second are granted in parts of a key.
    const grant = this.#keysPerSecond / stretchesPerSecond;
    this.#left = Math.min(this.#left + grant, grant);
  }

  #sleep(delayUs: number): Promise<void> {
    const over = new Deferred<void>();
    const timer = this.#clock.after(delayUs, () => {
      this.#waiting.delete(over);
      over.resolve();
    });
    this.#waiting.set(over, timer);
    return over.promise;
  }
}
