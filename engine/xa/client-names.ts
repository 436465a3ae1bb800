/**
 * The names that clients gave to transactions, and which transaction this node carried out under each: a repetition of
 * the same operations gets the first one's outcome, another use of the name is refused. Their records lie beside the
 * writes that they speak of (records.ts) and go when outcomes are forgotten.
 */
import type { Voted } from './orders.ts';
import { votedAbort } from './orders.ts';
import type { ClientRecord } from './records.ts';
import type { BranchOrder } from './words.ts';
import type { Xid } from './xid.ts';

/** A transaction with an order that is not carried out yet. */
interface Waiting {
  readonly xid: Xid;
  readonly order: BranchOrder;
}

export class ClientNames {
  readonly #records = new Map<string, ClientRecord>();
  readonly #countMax: number;

  /** With `countMax` names, new ones are refused until the oldest are forgotten: an early loss would carry out a retry. */
  constructor(countMax: number) {
    this.#countMax = countMax;
  }

  /** What stands against the order's name: it was carried out, or may yet be (one of `waiting`). */
  standsAgainst(
    { clientId, clientDigest }: BranchOrder,
    waiting: () => Iterable<Waiting>,
  ): Voted | undefined {
    if (clientId === '') return undefined;
    const done = this.#records.get(clientId);
    if (done !== undefined) return refusal(clientId, done.xid, 'committed', done.digest === clientDigest);
    for (const { xid, order } of waiting()) {
      if (order.clientId === clientId)
        return refusal(clientId, xid, 'undecided', order.clientDigest === clientDigest);
    }
    if (this.#records.size >= this.#countMax)
      return votedAbort(
        'prepare_failed',
        `${this.#countMax} ids of clients are remembered, as many as may be`,
      );
    return undefined;
  }

  /** The order was carried out; later than all that were entered before. */
  enter(clientId: string, record: ClientRecord): void {
    this.#records.set(clientId, record);
  }

  /** The oldest name is older than `untilMs`. */
  hasOlder(untilMs: number): boolean {
    for (const { sinceMs } of this.#records.values()) return sinceMs <= untilMs;
    return false;
  }

  /** Forgets names older than `untilMs`, oldest first and `countMax` at most; which they were. */
  forgetOlder(untilMs: number, countMax: number): readonly string[] {
    const old: string[] = [];
    for (const [clientId, { sinceMs }] of this.#records) {
      if (sinceMs > untilMs || old.length === countMax) break;
      old.push(clientId);
    }
    for (const clientId of old) this.#records.delete(clientId);
    return old;
  }
}

function refusal(clientId: string, xid: Xid, state: 'committed' | 'undecided', same: boolean): Voted {
  if (same) return { ...votedAbort('conflict', 'the id was used before'), earlier: { xid, state } };
  const name = JSON.stringify(clientId);
  return votedAbort(
    'conflict',
    `the id ${name} was used before, for other operations, by the transaction ${xid}`,
  );
}
