/**
 * The leave drain: what a leaving node still has when it owns nothing any more. That is the outcomes of transactions
 * that it coordinates or takes part in, the hints that it keeps for other nodes, and bucket properties that were set on
 * it. The node stays until the transactions are settled, the hints are delivered or handed to another member, and
 * another member has the bucket properties, but no longer than `patienceUs`.
 *
 * A round that began while the node was an owner may still store a hint until its deadline. So the drain waits one more
 * deadline after the last transaction.
 */
import { sometimes } from '../../base/sometimes.ts';
import { sleep } from '../../io/clock.ts';
import type { Io } from '../../io/io.ts';

/** What the drain works with. */
export interface LeaveDrainDependencies {
  readonly io: Pick<Io, 'clock' | 'log'>;
  /** Makes the node refuse new transactions. */
  closeTransactions(): void;
  /** Makes the node refuse changes of bucket properties, which would go with its disk. */
  closeProperties(): void;
  /** Whether another member has all bucket properties that were set on this node. */
  propertiesHaveSpread(): boolean;
  /** How many transactions under way have a part on this node. */
  transactions(): number;
  /** Delivers the hints kept here, or hands them to another member. Resolves with how many are left. */
  handOnHints(): Promise<number>;
}

/** Times of the drain, in microseconds. */
export interface LeaveDrainOptions {
  /** How long this node stays at most. */
  readonly patienceUs: number;
  /** A request's deadline. */
  readonly roundUs: number;
}

/** What the node still waits for: counts. */
export interface LeaveDrainRest {
  readonly transactions: number;
  readonly hints: number;
}

const retryUs = 200_000;

/** Drains one leaving node. */
export class LeaveDrain {
  readonly #parts: LeaveDrainDependencies;
  readonly #options: LeaveDrainOptions;
  #left: LeaveDrainRest = { transactions: 0, hints: 0 };

  constructor(parts: LeaveDrainDependencies, options: LeaveDrainOptions) {
    this.#parts = parts;
    this.#options = options;
  }

  /** What is left by the last check. Zero before `settle`. */
  get left(): LeaveDrainRest {
    return this.#left;
  }

  /** Makes the node refuse new transactions and changes of bucket properties. */
  close(): void {
    this.#parts.closeTransactions();
    this.#parts.closeProperties();
  }

  /**
   * Resolves with true when nothing is left, or `patienceUs` has passed. Resolves with false as soon as `goOn` returns
   * false.
   */
  async settle(goOn: () => boolean): Promise<boolean> {
    const { io } = this.#parts;
    const sinceUs = io.clock.nowUs();
    let busyUs = sinceUs;
    this.close();
    for (;;) {
      const transactions = this.#parts.transactions();
      if (transactions > 0) busyUs = io.clock.nowUs();
      const hints = await this.#parts.handOnHints();
      this.#left = { transactions, hints };
      if (!goOn()) return false;
      const nowUs = io.clock.nowUs();
      const propertiesSpread = this.#parts.propertiesHaveSpread();
      if (hints === 0 && propertiesSpread && nowUs - busyUs >= this.#options.roundUs) return true;
      if (nowUs - sinceUs >= this.#options.patienceUs) {
        sometimes('ring-change.drain-abandoned');
        io.log.event('error', 'transfer.drain.abandoned', { ...this.#left, propertiesSpread });
        return true;
      }
      await sleep(io.clock, retryUs);
    }
  }
}
