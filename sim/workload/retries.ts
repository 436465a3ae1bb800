/**
 * `late-retry`: a client retries past transactions under their idempotency keys, long after it learned of their commit
 * or was told that they aborted. It uses separate connections, beside its other work. The answers go into the records
 * of the transactions.
 */
import type { LockTransactionReq } from '../../engine/api/pbc/transaction-messages.ts';
import { bufferOf } from '../../engine/base/ids.ts';
import type { Io } from '../../engine/io/io.ts';
import { pick } from '../../engine/io/random.ts';
import type { ClientTarget } from './client.ts';
import { PbConnection } from './pb-connection.ts';
import type { OpenTransaction } from './transaction-recorder.ts';

/** What the retries of a client need. */
export interface RetrySetup {
  readonly io: Io;
  readonly targets: readonly ClientTarget[];
  readonly connectTimeoutUs: number;
  readonly answerTimeoutUs: number;
  readonly nowUs: () => number;
}

interface Past {
  readonly record: OpenTransaction;
  readonly message: LockTransactionReq;
}

/** The past transactions of one client, and their retries. */
export class Retries {
  readonly #setup: RetrySetup;
  readonly #past: Past[] = [];

  constructor(setup: RetrySetup) {
    this.#setup = setup;
  }

  /** Keeps a transaction with an idempotency key that is about to be sent. */
  keep(record: OpenTransaction, message: LockTransactionReq): void {
    this.#past.push({ record, message });
  }

  /** Retries `count` times a transaction that may have been carried out, or that a node reported as aborted. */
  repeat(count: number): void {
    const over = this.#past.filter(({ record }) => record.completedUs !== undefined);
    const done = over.filter(
      ({ record }) => (record.outcome !== 'fail' || wasAborted(record)) && !record.forced,
    );
    const { io } = this.#setup;
    io.spawn('load.repeat', async () => {
      for (let left = done.length === 0 ? 0 : count; left > 0; left--) await this.#ask(pick(io.random, done));
    });
  }

  async #ask({ record, message }: Past): Promise<void> {
    const { io, targets, connectTimeoutUs, answerTimeoutUs, nowUs } = this.#setup;
    let connection: PbConnection;
    try {
      connection = await PbConnection.open(io, pick(io.random, targets), connectTimeoutUs);
    } catch {
      // The node refuses or is silent: nothing was sent.
      return;
    }
    const exchange = await connection.ask({ kind: 'transaction', message }, answerTimeoutUs);
    connection.close();
    // If the transaction was open until now, the record's completion is that of the last answer, which came before this
    // one.
    if (exchange.kind === 'lost' || exchange.answer.kind !== 'transacted') return;
    const { outcome, transaction_id: xid, reason, detail } = exchange.answer.message;
    if (record.outcome === 'unknown' && textOf(outcome) !== 'aborted') return;
    record.xids = [...record.xids, `${textOf(xid)} ${textOf(outcome)}`];
    if (textOf(outcome) === 'aborted')
      record.denials = [
        ...record.denials,
        { atUs: nowUs(), xid: textOf(xid), reason: `${textOf(reason)}: ${textOf(detail)}` },
      ];
  }
}

function wasAborted({ xids }: OpenTransaction): boolean {
  return xids.some((answer) => answer.endsWith(' aborted'));
}

function textOf(bytes: Uint8Array | undefined): string {
  return bytes === undefined ? '' : bufferOf(bytes).toString('utf8');
}
