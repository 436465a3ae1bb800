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
 * - `bunch`: writes one value to two or all of three keys with one primary (each triple has three beside it),
 *   unconditionally; `bunchParts` says to which, so that two of them overlap in part;
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

/** Which of its three keys a `bunch` writes, by half of its amount: 1 and 2 stand for the first of these. */
export const bunchParts = [
  [0, 1, 2],
  [0, 1],
  [1, 2],
  [0, 2],
] as const;

/** The places of the keys that a `bunch` of that amount writes. Every amount names some. */
export function bunchPartOf(amount: number): readonly number[] {
  return bunchParts[(Math.ceil(amount / 2) - 1) % bunchParts.length] ?? bunchParts[0];
}

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
  /**
   * The amount to transfer; for `append`, how many numbers to append (1 or 2). For `put` and `bunch`, an odd number goes
   * to the primary; half of the number of a `bunch`, rounded up, says which of `bunchParts` it writes.
   */
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
