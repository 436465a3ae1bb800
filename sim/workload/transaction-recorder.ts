/** Records the history of transactions while it happens; a record that is never closed stays unknown. */
import type { TransactionHistory, TransactionRecord } from '../evidence/transactions.ts';

type Open = { -readonly [Field in keyof TransactionRecord]: TransactionRecord[Field] };

/** What is known at the invocation. */
export type Opening = Pick<TransactionRecord, 'planned' | 'client' | 'kind' | 'forced' | 'invokedUs'> &
  Partial<Pick<TransactionRecord, 'final'>>;

/** The transactions of one run. */
export class TransactionRecorder {
  readonly #records: Open[] = [];

  get history(): TransactionHistory {
    return this.#records;
  }

  /** Opens a record; the client completes it as it learns more. */
  open(opening: Opening): Open {
    const record: Open = {
      id: this.#records.length,
      validated: false,
      reads: [],
      writes: [],
      need: 1,
      completedUs: undefined,
      outcome: 'unknown',
      reason: 'no answer was heard',
      node: '',
      xids: [],
      clientId: '',
      denials: [],
      final: false,
      ...opening,
    };
    this.#records.push(record);
    return record;
  }
}

/** A record that its client still writes to. */
export type OpenTransaction = Open;
