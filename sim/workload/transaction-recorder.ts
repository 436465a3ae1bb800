/** Writes the transactions' history down while it happens; what is never closed stays unknown. */
import type { TransactionHistory, TransactionRecord } from '../evidence/transactions.ts';

type Open = { -readonly [Field in keyof TransactionRecord]: TransactionRecord[Field] };

/** What is known at the invocation. */
export type Opening = Pick<TransactionRecord, 'planned' | 'client' | 'kind' | 'forced' | 'invokedUs'> &
  Partial<Pick<TransactionRecord, 'final'>>;

export class TransactionRecorder {
  readonly #records: Open[] = [];

  get history(): TransactionHistory {
    return this.#records;
  }

  /** Opens a record; more is written into it as it becomes known. */
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

export type OpenTransaction = Open;
