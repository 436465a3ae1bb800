/**
 * The outcome of a transaction that this node carries out itself, within the client's time. If the time ends while other
 * replicas are still to answer, the transaction is committed and its branch pending. If it ends before the write is
 * durable here, the client hears in doubt; a question finds the outcome once the transaction has ended.
 */
import { Deferred } from '../../base/deferred.ts';
import { sometimes } from '../../base/sometimes.ts';
import type { Clock, Timer } from '../../io/clock.ts';
import type { CompletedTransactions } from '../coordinator/completed-transactions.ts';
import type { TransactionOutcome } from '../formats/outcomes.ts';
import type { Xid } from '../formats/xid.ts';

type Remembered = Pick<CompletedTransactions, 'keepAs' | 'keepUnknown'>;

/** Waits for one outcome, and no longer than the client does. */
export class TimelyOutcome {
  readonly #told = new Deferred<TransactionOutcome>();
  readonly #remembered: Remembered;
  readonly #timer: Timer;
  #isLate = false;

  /**
   * `timeoutUs` in microseconds. `answerNow` makes a write that is durable here conclude without the replicas that have
   * not answered; it returns false if the write is not durable yet.
   */
  constructor(clock: Clock, xid: Xid, timeoutUs: number, remembered: Remembered, answerNow: () => boolean) {
    this.#remembered = remembered;
    this.#timer = clock.after(timeoutUs, () => {
      if (answerNow()) {
        sometimes('transaction.answered-before-its-level');
        return;
      }
      sometimes('transaction.answered-before-its-write');
      this.#isLate = true;
      remembered.keepUnknown(xid);
      this.#told.resolve({ kind: 'inDoubt', xid });
    });
  }

  /** What the client hears. */
  get told(): Promise<TransactionOutcome> {
    return this.#told.promise;
  }

  /** The client has heard in doubt. */
  get isLate(): boolean {
    return this.#isLate;
  }

  /** The transaction of this id has ended. */
  end(xid: Xid, outcome: TransactionOutcome): void {
    this.#timer.cancel();
    if (this.#isLate) this.#remembered.keepAs(xid, outcome);
    else this.#told.resolve(outcome);
  }
}
