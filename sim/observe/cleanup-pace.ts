/**
 * Follows how fast nodes remove the copies that they own no more (`transfer-soundness`). A node sends each copy to all
 * owners first, and rests after its removal for as long as `transfer_bytes_per_second` allows for these bytes.
 */
import type { TransferRecords } from '../check/disks/transfers.ts';
import type { BadEvent } from '../check/report.ts';

/** Clocks may run fast by up to 500 ppm, and timers may fire early by up to 1 ms. */
const restShare = 0.99;
const slackUs = 2_000;

/** The removals of all nodes. */
export class CleanupPace {
  readonly #nowUs: () => number;
  readonly #bytesPerSecond: (host: string) => number;
  /** Until when each node's present incarnation must remove no further copy. */
  readonly #rests = new Map<string, number>();
  readonly #early: BadEvent[] = [];

  constructor(nowUs: () => number, bytesPerSecond: (host: string) => number) {
    this.#nowUs = nowUs;
    this.#bytesPerSecond = bytesPerSecond;
  }

  /** Only what came too early: the observer of the copies counts each removal as compared. */
  get records(): TransferRecords {
    return { compared: this.#early.length, skipped: 0, lost: this.#early };
  }

  /** An incarnation of the host begins. */
  started(host: string): void {
    this.#rests.delete(host);
  }

  /** The host has removed a copy after it had sent `bytes` bytes of it. */
  removed(host: string, bytes: number): void {
    const atUs = this.#nowUs();
    const untilUs = this.#rests.get(host) ?? 0;
    if (atUs < untilUs) {
      const text = `${host} removes a copy that it owns no more ${untilUs - atUs} us before its pace allows`;
      this.#early.push({ atUs, text });
    }
    this.#rests.set(host, atUs + restShare * ((bytes * 1_000_000) / this.#bytesPerSecond(host)) - slackUs);
  }
}
