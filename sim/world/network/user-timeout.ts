/**
 * Limits how long a process's bytes may wait in its kernel while none leaves, as TCP_USER_TIMEOUT does (RFC 5482). It
 * is checked once per such period, so a stall may last up to twice as long.
 */
import type { Timeline } from '../core/timeline.ts';

/** What a connection was given to send. */
export interface Sending {
  /** Bytes that have not left yet. */
  readonly pendingBytes: number;
  readonly leftBytes: number;
}

/** The timeout of one connection's side. */
export class Patience {
  readonly #timeline: Timeline;
  readonly #sending: Sending;
  readonly #lost: () => void;
  #us = Infinity;
  #looking = false;

  /** `lost` is called once bytes were pending and none left for as long as `set` says. */
  constructor(timeline: Timeline, sending: Sending, lost: () => void) {
    this.#timeline = timeline;
    this.#sending = sending;
    this.#lost = lost;
  }

  set(us: number): void {
    this.#us = us;
    this.wrote();
  }

  /** Call after a write: bytes may be pending now. */
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
