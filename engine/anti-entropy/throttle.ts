/**
 * Limits how fast anti-entropy works: keys read or sent per second, over the whole node. The budget is granted in
 * intervals of a tenth of a second, so that client requests run in between.
 */
import { assert } from '../base/assert.ts';
import type { Clock } from '../io/clock.ts';
import { sleep } from '../io/clock.ts';

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

  /** `keysPerSecond` 0: no limit. */
  constructor(clock: Clock, keysPerSecond: number) {
    this.#clock = clock;
    this.#keysPerSecond = keysPerSecond;
  }

  /** Resolves when this many keys may be handled. */
  async spend(keys: number): Promise<void> {
    if (this.#keysPerSecond === 0) return;
    this.#left -= keys;
    while (this.#left < 0) await this.#nextStretch();
  }

  async #nextStretch(): Promise<void> {
    const waitUs = this.#untilUs - this.#clock.nowUs();
    if (waitUs > 0) await sleep(this.#clock, waitUs);
    const nowUs = this.#clock.nowUs();
    // Another task may have begun the interval while this one slept.
    if (nowUs < this.#untilUs) return;
    assert(nowUs - this.#grantedUs >= secondUs / stretchesPerSecond, 'an interval is granted once');
    this.#grantedUs = nowUs;
    this.#untilUs = nowUs + secondUs / stretchesPerSecond;
    const grant = Math.max(1, Math.floor(this.#keysPerSecond / stretchesPerSecond));
    this.#left = Math.min(this.#left + grant, grant);
  }
}
