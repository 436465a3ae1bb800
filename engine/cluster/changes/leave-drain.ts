/**
 * What a leaving node alone has when it owns nothing any more: the outcomes of transactions that it coordinates or
 * takes part in, and the writes that it keeps for others. It stays until the former are known to all concerned and the
 * latter are where they belong, or kept by somebody else; but not for ever.
 *
 * Rounds that began while it was an owner may keep a hint until their deadline, so it waits for one more deadline after
 * the last transaction.
 */
import { sleep } from '../../io/clock.ts';
import type { Io } from '../../io/io.ts';

/** What the estate consists of. */
export interface LeaveDrainDependencies {
  readonly io: Pick<Io, 'clock' | 'log'>;
  /** Begins no transaction any more. */
  closeTransactions(): void;
  /** Transactions under way in which this node has a part. */
  transactions(): number;
  /** Delivers or hands on the hints kept here; how many are left. */
  handOnHints(): Promise<number>;
}

export interface LeaveDrainOptions {
  /** How long this node stays at most. */
  readonly patienceUs: number;
  /** A request's deadline. */
  readonly roundUs: number;
}

/** What the node still waits for. */
export interface LeaveDrainRest {
  readonly transactions: number;
  readonly hints: number;
}

const retryUs = 200_000;

export class LeaveDrain {
  readonly #parts: LeaveDrainDependencies;
  readonly #options: LeaveDrainOptions;
  #left: LeaveDrainRest = { transactions: 0, hints: 0 };

  constructor(parts: LeaveDrainDependencies, options: LeaveDrainOptions) {
    this.#parts = parts;
    this.#options = options;
  }

  /** Nothing until the node settles it. */
  get left(): LeaveDrainRest {
    return this.#left;
  }

  /** Begins no transaction any more. */
  close(): void {
    this.#parts.closeTransactions();
  }

  /** Resolves with true when nothing is left, or patience is; with false when `goOn` said no before. */
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
      if (hints === 0 && nowUs - busyUs >= this.#options.roundUs) return true;
      if (nowUs - sinceUs >= this.#options.patienceUs) {
        io.log.event('error', 'transfer.estate.abandoned', { ...this.#left });
        return true;
      }
      await sleep(io.clock, retryUs);
    }
  }
}
