/** The transactions of a plan, and the structures that they work on. */

/**
 * What a transaction does, and to which structures:
 *
 * - `transfer`: reads two accounts and moves an amount, on condition that neither has changed;
 * - `append`: reads some lists and appends its number to each, on condition that none has changed;
 * - `twin`: the same over both lists of a pair, which must always be equal;
 * - `stamp`, `erase`: writes one value to the three keys of a triple, or deletes them, unconditionally;
 * - `restamp`: reads the three keys of a triple and writes one value to them, on condition that none has changed;
 * - `put`: writes a value to one single key (each triple has one beside it) through its primary, unconditionally;
 * - `move`: deletes one single key and writes a value to another, unconditionally;
 * - `bunch`: writes one value to three keys with one primary (each triple has three beside it), unconditionally;
 * - `look`: reads the keys of some lists one after the other; not a transaction.
 */
export const transactionKinds = [
  'transfer',
  'append',
  'twin',
  'stamp',
  'erase',
  'restamp',
  'put',
  'move',
  'bunch',
  'look',
] as const;

/** One transaction of a client. */
export interface PlanTransaction {
  /** Keeps its value through shrinking: `t17`. */
  readonly id: string;
  /** The number of the transaction client (`x0`, `x1`, …). Each runs one transaction at a time, in the plan's order. */
  readonly client: number;
  readonly thinkUs: number;
  readonly kind: (typeof transactionKinds)[number];
  /** Numbers of accounts or lists (distinct), of two single keys, or of one pair or triple. */
  readonly places: readonly number[];
  /** The amount to transfer; for `append`, how many numbers to append (1 or 2). */
  readonly amount: number;
  /** The request carries `force_abort`. */
  readonly forced: boolean;
  /** The client gives it an idempotency key, and retries under that key while the outcome is unknown. */
  readonly named: boolean;
  readonly level: (typeof transactionLevels)[number];
}

/** The consistency levels that a transaction can ask for. */
export const transactionLevels = ['DC_ONE', 'DC_QUORUM', 'DC_EACH_SAFE_QUORUM'] as const;

/** How many there are of each structure that transactions work on. */
export interface PlanStructures {
  readonly accounts: number;
  readonly lists: number;
  readonly twins: number;
  readonly triples: number;
}

/** The structures of a plan without transactions. */
export const noStructures: PlanStructures = { accounts: 0, lists: 0, twins: 0, triples: 0 };
