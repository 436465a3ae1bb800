/**
 * Whether the other side of a connection still lives, by counting the intervals in which nothing came. Intervals and
 * not elapsed time: a process that slept through its own deadline first looks at what has come meanwhile.
 */
import type { Clock, Timer } from '../io/clock.ts';

export interface PulseSettings {
  readonly intervalUs: number;
  /** Whole intervals without a sign after which the other side counts as dead. */
  readonly silentMax: number;
  /** A whole interval has passed without a sign. */
  onSilent(): void;
  onDead(): void;
}

export class Pulse {
  readonly #clock: Clock;
  readonly #settings: PulseSettings;
  #timer: Timer | undefined;
  /** Ticks since the last sign; the first one may follow it at once. */
  #ticks = 0;

  constructor(clock: Clock, settings: PulseSettings) {
    this.#clock = clock;
    this.#settings = settings;
  }

  start(): void {
    this.#timer = this.#clock.after(this.#settings.intervalUs, () => this.#tick());
  }

  /** The other side has given a sign. */
  heard(): void {
    this.#ticks = 0;
  }

  stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #tick(): void {
    this.#ticks += 1;
    if (this.#ticks > this.#settings.silentMax) {
      this.#timer = undefined;
      this.#settings.onDead();
      return;
    }
    this.start();
    if (this.#ticks > 1) this.#settings.onSilent();
  }
}
