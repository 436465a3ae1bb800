/**
 * How fast anti-entropy may work: so many keys a second, read or sent, over one node. Work is paid for as it is done,
 * in stretches of a tenth of a second, so that clients' requests pass in between.
 */
import type { Clock } from '../io/clock.ts';
import { sleep } from '../io/clock.ts';

const stretchesPerSecond = 10;
const secondUs = 1_000_000;

export class Throttle {
  readonly #clock: Clock;
  readonly #keysPerSecond: number;
  /** Keys that may still be handled in this stretch, which ends at `#untilUs`. */
  #left = 0;
  #untilUs = 0;

  /** 0 keys a second: no limit. */
  constructor(clock: Clock, keysPerSecond: number) {
    this.#clock = clock;
    this.#keysPerSecond = keysPerSecond;
  }

  /** Resolves when so many keys may be handled. */
  async spend(keys: number): Promise<void> {
    if (this.#keysPerSecond === 0) return;
    this.#left -= keys;
    while (this.#left < 0) await this.#nextStretch();
  }

  async #nextStretch(): Promise<void> {
    const waitUs = this.#untilUs - this.#clock.nowUs();
    if (waitUs > 0) await sleep(this.#clock, waitUs);
    const nowUs = this.#clock.nowUs();
    // Another task may have begun the stretch while this one slept.
    if (nowUs < this.#untilUs) return;
    this.#untilUs = nowUs + secondUs / stretchesPerSecond;
    const grant = Math.max(1, Math.floor(this.#keysPerSecond / stretchesPerSecond));
    this.#left = Math.min(this.#left + grant, grant);
  }
}
