/**
 * How long what a process has written may stand in its kernel while nothing of it leaves, as with TCP_USER_TIMEOUT
 * (RFC 5482). It is looked at once per such time, so who stops in between has up to twice of it.
 */
import type { Timeline } from '../core/timeline.ts';

/** What a connection was given to send. */
export interface Sending {
  /** Not yet left. */
  readonly pendingBytes: number;
  readonly leftBytes: number;
}

export class Patience {
  readonly #timeline: Timeline;
  readonly #sending: Sending;
  readonly #lost: () => void;
  #us = Infinity;
  #looking = false;

  /** `lost` is called once something was pending and nothing left for as long as `set` says. */
  constructor(timeline: Timeline, sending: Sending, lost: () => void) {
    this.#timeline = timeline;
    this.#sending = sending;
    this.#lost = lost;
  }

  set(us: number): void {
    this.#us = us;
    this.wrote();
  }

  /** Something may be pending now. */
  wrote(): void {
    if (this.#looking || this.#us === Infinity || this.#sending.pendingBytes === 0) return;
    this.#looking = true;
    const { leftBytes } = this.#sending;
    this.#timeline.after(this.#us, () => {
      this.#looking = false;
      if (this.#sending.pendingBytes > 0 && this.#sending.leftBytes === leftBytes) this.#lost();
      else this.wrote();
    });
  }
}
